"""The CUDA runtime: launch, memory, libraries, vectors. It knows no operator."""

import numba  # noqa: F401 - whole, before threads import parts of it: half a module would stay for good
