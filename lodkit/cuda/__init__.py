"""CUDA kernels of the operators in lodkit/ops, a module a family."""

import numba  # noqa: F401  # whole, before threads import parts of it: half a module would stay for good
