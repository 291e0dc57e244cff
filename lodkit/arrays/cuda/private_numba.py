"""The installed Numba CUDA package, and all that lodkit uses of its internals: nothing else touches them.

A release that changes anything here fails tests/test_private_numba_cuda.py, which names the features at stake.
"""

from __future__ import annotations

import contextlib
import types as python_types
import warnings
from typing import Any, cast

import numpy as np

from ...base.errors import DeviceError

INSTALL = 'CUDA kernels need numba-cuda and cuda-core: pip install "lodkit[cuda]"'
with warnings.catch_warnings():
    # Numba's own CUDA target, used without numba-cuda, warns of its deprecation.
    warnings.simplefilter("ignore")
    try:
        from numba import cuda
    except ImportError as error:
        raise DeviceError(INSTALL) from error

if getattr(cuda, "implementation", "") == "NVIDIA":
    from numba.cuda import descriptor, dispatcher, extending, types
else:
    # Numba's own target has none of them.
    descriptor = dispatcher = extending = types = cast(Any, None)

__all__ = ["INSTALL", "compiling_for", "cuda", "device_of_array", "extending", "is_missing_library", "types", "version"]


def version():
    """Version of numba-cuda; empty without it."""
    try:
        import numba_cuda
    except ImportError:
        return ""
    return numba_cuda.__version__


@contextlib.contextmanager
def compiling_for(capability):
    """Context in which kernels compile for a compute capability: without a driver, and with NumPy 2.5."""
    if extending is None:
        raise DeviceError(INSTALL)
    _load_with_row_stack()
    # Device functions ask the current device for its capability, though the kernel's is given.
    real = dispatcher.get_current_device
    dispatcher.get_current_device = lambda: python_types.SimpleNamespace(compute_capability=capability)
    try:
        yield
    finally:
        dispatcher.get_current_device = real


def _load_with_row_stack():
    """Load numba-cuda's typing: release 0.30 needs ``np.row_stack``, which NumPy 2.5 removed."""
    if hasattr(np, "row_stack"):
        return
    np.row_stack = np.vstack  # type: ignore[attr-defined]  # noqa: NPY201
    try:
        descriptor.cuda_target.typing_context.refresh()
        descriptor.cuda_target.target_context.refresh()
    finally:
        del np.row_stack  # type: ignore[attr-defined]  # noqa: NPY201


def is_missing_library(error):
    """True if an error of the compiler means that NVVM is not installed."""
    return type(error).__name__ in ("DynamicLibNotFoundError", "NvvmSupportError")


def device_of_array(x):
    """Number of the device of one of Numba's arrays; None for other arrays."""
    context = getattr(getattr(x, "gpu_data", None), "context", None)
    return None if context is None else context.device.id
