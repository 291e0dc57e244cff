"""Internals of numba-cuda still behave as lodkit uses them; a failure says what depends on it."""

from __future__ import annotations

import os
import subprocess
import sys
import types

import numpy as np
import pytest
from test_private_numba import needed_for, needs_cuda

COMPILE = """
import numpy as np
{before}
from numba import cuda
from lodkit.arrays.cuda import private_numba as private

@cuda.jit(device=True, forceinline=True)
def twice(x):
    return x + x

@cuda.jit
def kernel(x):
    x[0] = twice(x[0])

with private.compiling_for((8, 0)):
    kinds = (private.types.CPointer(private.types.float32),)
    ptx, _ = cuda.compile_ptx(kernel.py_func, kinds, cc=(8, 0), launch_bounds=256)
assert ".target sm_80" in ptx and ".entry" in ptx
"""


@pytest.mark.jit
@needs_cuda
@pytest.mark.parametrize("before", ["", "if hasattr(np, 'row_stack'): del np.row_stack"], ids=["", "without row_stack"])
@needed_for("compiling CUDA kernels without a driver", "arrays/cuda/launcher.py")
def test_cuda_kernels_compile_without_a_driver_and_with_any_numpy(before):
    pytest.importorskip("nvidia")
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-W", "error", "-c", COMPILE.format(before=before)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr


@needs_cuda
@needed_for("compiling CUDA kernels, and naming the extra that is missing", "arrays/cuda/launcher.py")
def test_numba_cuda_is_known_with_its_errors_and_version():
    from lodkit.arrays.cuda import private_numba as cuda

    assert cuda.extending is not None, "numba.cuda no longer says that it is NVIDIA's"
    assert cuda.version()[0].isdigit()
    from cuda.pathfinder import DynamicLibNotFoundError
    from numba.cuda.cudadrv.error import NvvmSupportError

    assert all(map(cuda.is_missing_library, (NvvmSupportError("x"), DynamicLibNotFoundError("x"))))
    assert not cuda.is_missing_library(ImportError("x"))


@needs_cuda
@needed_for("telling the device of Numba's arrays", "arrays/cuda/libraries.py")
def test_memory_on_a_gpu_knows_its_device():
    from numba.cuda.cudadrv.driver import MemoryPointer

    from lodkit.arrays.cuda.private_numba import device_of_array

    context = types.SimpleNamespace(device=types.SimpleNamespace(id=3))
    array = types.SimpleNamespace(gpu_data=MemoryPointer(context, 4096, 8))
    assert device_of_array(array) == 3
    assert device_of_array(np.ones(2)) is None
