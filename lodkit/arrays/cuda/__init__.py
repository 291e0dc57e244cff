"""CUDA runtime: launch, memory, libraries, vectors. Knows no operator."""

import numba  # noqa: F401 - all of it, before threads import parts concurrently
