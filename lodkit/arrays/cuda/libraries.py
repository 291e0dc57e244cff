"""Array libraries with GPU support, CuPy, PyTorch and Numba, behind one interface.

``view`` describes an array, ``empty``, ``send`` and ``read`` make and move arrays, ``stream`` is the current stream,
``queue`` what tells it from others, ``namespace`` has functions under the names of the array API.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import itertools
import threading

import numpy as np

from ...base.bfloat16 import BFLOAT16
from ...base.errors import DeviceError, DTypeError
from ..tensors import address_of, check_storage, numbers_of
from .launcher import cuda, current, wait
from .private_numba import device_of_array
from .views import View, check_dtype

_AS_IT_IS = contextlib.nullcontext()
# CUDA's name of the default stream that each thread has of its own.
PER_THREAD = 2


def library_of(x):
    """Library of a CUDA array, by the module of its type or of a base."""
    return _library(type(x))  # type: ignore[arg-type]


@functools.cache
def _library(kind):
    roots = [base.__module__.partition(".")[0] for base in kind.__mro__]
    return _make_library(next((root for root in roots if root in LIBRARIES), "numba"))


@functools.cache
def _make_library(root):
    return LIBRARIES[root]()


_thread, _threads = threading.local(), itertools.count()


def _number_of_thread():
    """A number of the current thread that no other ever has, as its ident may."""
    if not hasattr(_thread, "number"):
        _thread.number = next(_threads)
    return _thread.number


class Library:
    """What libraries share, but for what they do better."""

    def stream(self, device):
        """The number of the stream that is current on a device."""
        raise NotImplementedError

    def queue(self, device):
        """What orders this thread's work: its stream, and the thread itself where each has one of that number."""
        number = self.stream(device)
        return number if number != PER_THREAD else (number, _number_of_thread())

    def captures(self):
        """True while the current stream's work is captured in a graph, if that is known."""
        return False

    def version(self, x):
        """How often an array was written in place, if the library counts that; else 0."""
        return 0

    def wait(self, device):
        """Wait for the current stream of a device."""
        wait(self, device)

    def host_numbers(self, count, device):
        """A View of int64 in the host's memory, for kernels, and NumPy's array of it; all are -1."""
        return host_numbers(self, count, device)


class Cupy(Library):
    """CuPy."""

    def __init__(self):
        import cupy

        self.cupy = cupy

    def view(self, x):
        is_copy = not x.flags.c_contiguous
        if is_copy:
            with self.on(x.device.id):
                x = self.cupy.ascontiguousarray(x)
        return View(x, x.data.ptr, x.shape, check_dtype(x.dtype), self, x.device.id, is_copy)

    def on(self, device):
        """Context in which a device is current."""
        return _AS_IT_IS if self.cupy.cuda.runtime.getDevice() == device else self.cupy.cuda.Device(device)

    def empty(self, shape, dtype, device):
        with self.on(device):
            x = self.cupy.empty(shape, dtype)
        return View(x, x.data.ptr, shape, dtype, self, device)

    def send(self, array, device):
        with self.on(device):
            return self.view(self.cupy.asarray(array))

    def read(self, x):
        return x.get()

    def namespace(self):
        import array_api_compat.cupy as xp

        return xp

    def stream(self, device):
        return self.cupy.cuda.get_current_stream(device).ptr

    def captures(self):
        from cuda.bindings import driver

        _, status = driver.cuStreamIsCapturing(self.cupy.cuda.get_current_stream().ptr)
        return status == driver.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_ACTIVE

    def synchronize(self, device):
        self.cupy.cuda.Device(device).synchronize()


class Torch(Library):
    """PyTorch."""

    def __init__(self):
        import torch

        self.torch = torch
        names = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool")
        # Of PyTorch since 2.3.
        names += tuple(name for name in ("uint16", "uint32", "uint64") if hasattr(torch, name))
        self.to_torch = {np.dtype(name): getattr(torch, name) for name in names} | {BFLOAT16: torch.bfloat16}
        self.to_numpy = {kind: dtype for dtype, kind in self.to_torch.items()}
        self.places = [torch.device("cuda", device) for device in range(torch.cuda.device_count())]
        # The number of a stream alone, as torch.compile asks for it: 0.1 us, 1.8 with an object around it.
        self.number_of_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)

    def view(self, x):
        is_copy = not x.is_contiguous()
        if is_copy:
            check_storage(x, "a tensor")
            x = x.contiguous()
        elif x.is_neg():
            # The memory of ``y.conj().imag`` holds numbers whose signs are still to be changed.
            x, is_copy = x.resolve_neg(), True
        dtype = self.to_numpy.get(x.dtype)
        if dtype is None:
            raise DTypeError(f"a tensor of {x.dtype} is no type of lodkit; convert with .to(torch.float32)")
        return View(x, address_of(x), x.shape, dtype, self, x.get_device(), is_copy)

    def on(self, device):
        return self.torch.cuda.device(device)

    def empty(self, shape, dtype, device):
        # Sizes one by one: 1.1 us; in a tuple 1.65.
        x = self.torch.empty(*(shape or ((),)), dtype=self.to_torch[dtype], device=self.places[device])
        return View(x, x.data_ptr(), shape, dtype, self, device)

    def send(self, array, device):
        # PyTorch warns about read-only arrays.
        array = array if array.flags.writeable else array.copy()
        return self.view(self.torch.from_numpy(array).to(f"cuda:{device}"))

    def read(self, x):
        return numbers_of(x)

    def namespace(self):
        import array_api_compat.torch as xp

        return xp

    def stream(self, device):
        number = self.number_of_stream
        return number(device) if number else self.torch.cuda.current_stream(device).cuda_stream

    def captures(self):
        return self.torch.cuda.is_current_stream_capturing()

    def version(self, x):
        return 0 if x.is_inference() else x._version

    def synchronize(self, device):
        self.torch.cuda.synchronize(device)


class Numba(Library):
    """Numba's device arrays, and any others that export ``__cuda_array_interface__``."""

    def __init__(self):
        self.cuda = cuda

    def view(self, x):
        interface = x.__cuda_array_interface__
        dtype, strides = np.dtype(interface["typestr"]), interface.get("strides")
        if strides is not None and strides != _strides(interface["shape"], dtype.itemsize):
            raise DeviceError(
                f"a strided CUDA array of shape {interface['shape']} cannot be read; pass a C-contiguous one"
            )
        pointer, device = interface["data"][0] or 0, device_of_array(x)
        if device is None:
            device = self._device(pointer)
        return View(x, pointer, interface["shape"], check_dtype(dtype), self, device)

    def _device(self, pointer):
        try:
            current = self.cuda.get_current_device().id
            return current if not pointer else device_of_pointer(pointer, current)
        except Exception as error:
            # Without a driver, each layer raises its own kind.
            reason = " ".join(str(error).replace(":", "").split()) or type(error).__name__
            raise DeviceError(
                f'an array says that it is on a GPU, but none can be reached ({reason}); it needs "lodkit[cuda]"'
            ) from error

    def on(self, device):
        return self.cuda.gpus[device]

    def empty(self, shape, dtype, device):
        with self.on(device):
            return self.view(self.cuda.device_array(shape, dtype))

    def send(self, array, device):
        with self.on(device):
            return self.view(self.cuda.to_device(array))

    def read(self, x):
        return self.cuda.as_cuda_array(x).copy_to_host()

    def namespace(self):
        raise DeviceError("Numba's device arrays have no arithmetic; make them arrays of CuPy or PyTorch")

    def stream(self, device):
        return 0


def device_of_pointer(pointer, otherwise):
    """Number of the device of a pointer, by the driver."""
    try:
        from cuda.bindings import driver
    except ImportError:
        return otherwise
    error, device = driver.cuPointerGetAttribute(
        driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer
    )
    return int(device) if error == driver.CUresult.CUDA_SUCCESS else otherwise


#: Module of an array's type -> library. Tests add an emulated one.
LIBRARIES = {"cupy": Cupy, "torch": Torch, "numba": Numba}


def _strides(shape, itemsize):
    strides = []
    for size in reversed(shape):
        strides.append(itemsize)
        itemsize *= size
    return tuple(reversed(strides))


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
