"""Memory of the host that kernels write to."""

from __future__ import annotations

import ctypes

import numpy as np

from ...base.errors import DeviceError
from .launcher import current
from .views import View


def host_numbers(library, count, device):
    """A View of int64 in the host's memory, for kernels on a device, and NumPy's array of it; all are -1."""
    from cuda.bindings import driver

    flags = driver.CU_MEMHOSTALLOC_PORTABLE | driver.CU_MEMHOSTALLOC_DEVICEMAP
    with current(device):
        error, here = driver.cuMemHostAlloc(8 * count, flags)
        if error == driver.CUresult.CUDA_SUCCESS:
            error, there = driver.cuMemHostGetDevicePointer(here, 0)
    if error != driver.CUresult.CUDA_SUCCESS:
        raise DeviceError(f"the host has no memory for a GPU to write to ({error.name})")
    numbers = np.frombuffer((ctypes.c_int64 * count).from_address(int(here)), np.int64)
    numbers.fill(-1)
    return View(numbers, int(there), (count,), numbers.dtype, library, device), numbers
