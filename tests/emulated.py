"""An emulated GPU: an array library backed by NumPy, and a launcher that runs kernels in the emulator.

Its arrays have no arithmetic, so that operators cannot use NumPy by mistake.
"""

from __future__ import annotations

import contextlib

import array_api_compat.numpy
import numpy as np
import simt

import lodkit
from lodkit.arrays.cuda import launcher, libraries
from lodkit.arrays.cuda.memory import check_dtype, library_of
from lodkit.arrays.cuda.views import View
from lodkit.arrays.generic import device_of, is_array


class Array:
    """An array of the emulated library."""

    def __init__(self, numpy, device=0):
        self.numpy, self.gpu = numpy, device

    @property
    def __cuda_array_interface__(self):
        return self.numpy.__array_interface__

    @property
    def shape(self):
        return self.numpy.shape

    @property
    def ndim(self):
        return self.numpy.ndim

    @property
    def dtype(self):
        return self.numpy.dtype

    def __len__(self):
        return len(self.numpy)

    def __getitem__(self, rows):
        return Array(self.numpy[rows], self.gpu)

    def reshape(self, *shape):
        return Array(self.numpy.reshape(*shape), self.gpu)

    def get(self):
        return self.numpy.copy()

    def values(self):
        raise AssertionError("PyTorch tensors have a method of this name")


class Computed(Array):
    """An array made by the namespace, with arithmetic."""

    device = "cuda"


def _operator(name):
    method = getattr(np.ndarray, name)

    def call(self, *others):
        with np.errstate(all="ignore"):
            return _wrapped(method(self.numpy, *map(_bare, others)))

    return call


_OPERATORS = ["add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "pow", "rpow", "neg", "getitem"]
for _name in [*_OPERATORS, "lt", "le", "gt", "ge", "eq", "ne", "or", "invert"]:
    setattr(Computed, f"__{_name}__", _operator(f"__{_name}__"))


def _bare(x):
    if isinstance(x, list):
        return [_bare(part) for part in x]
    if isinstance(x, Array):
        return x.numpy
    on_gpu = is_array(x) and device_of(x) == "cuda"
    return library_of(x).read(x) if on_gpu else x  # which leaves deferred errors for later


def _wrapped(x):
    return Computed(np.asarray(x)) if isinstance(x, np.ndarray | np.generic) else x


class Namespace:
    """The array API for emulated arrays."""

    def __getattr__(self, name):
        found = getattr(array_api_compat.numpy, name)
        if isinstance(found, type) or not callable(found):
            return found

        def call(*args, device=None, **keywords):
            with np.errstate(all="ignore"):
                return _wrapped(found(*map(_bare, args), **keywords))

        return call


class Library(libraries.Library):
    """The array library interface that lodkit uses."""

    def view(self, x):
        is_copy = not x.numpy.flags.c_contiguous
        if is_copy:
            x = Array(np.ascontiguousarray(x.numpy), x.gpu)
        return View(x, x.numpy.ctypes.data, x.shape, check_dtype(x.dtype), self, x.gpu, is_copy)

    def on(self, device):
        return contextlib.nullcontext()

    def empty(self, shape, dtype, device):
        fresh = lodkit.empty(shape, dtype)
        fresh.fill(np.nan if fresh.dtype.kind == "f" else 177 if fresh.dtype.kind == "u" else -77)
        return self.view(Array(fresh, device))

    def send(self, array, device):
        return self.view(to_gpu(array, device))

    def read(self, x):
        return x.numpy.copy()

    def host_numbers(self, count, device):
        memory = self.view(Array(np.full(count, -1, np.int64), device))
        return memory, memory.array.numpy

    def wait(self, device):
        pass

    def namespace(self):
        return Namespace()

    def stream(self, device):
        return 0


class Launcher:
    """Run launches in the emulator, each with its own order."""

    def __init__(self, seed):
        self.seed, self.launches = seed, 0

    def __call__(self, kernel, blocks, block, args, exact):
        self.launches += 1
        launcher.pass_arguments(args)
        pointers = [simt.Pointer(elements(a)) if type(a) is View else a for a in args]
        if not exact:
            blocks = min(blocks, 3)
        simt.run(kernel, blocks, block, pointers, seed=None if self.seed is None else self.seed + self.launches)


def elements(view):
    """Return all elements of a View as kernels see them, float16 as bits."""
    return view.array.numpy.reshape(-1).view(np.uint16 if view.dtype == np.float16 else view.dtype)


def to_gpu(x, device=0):
    """Move a value to the emulated GPU."""
    if isinstance(x, lodkit.LoDTensor):
        return x.with_values(to_gpu(x.values, device))
    if isinstance(x, lodkit.SelectedRows):
        return lodkit.SelectedRows._wrap(to_gpu(x.rows, device), to_gpu(x.value, device), x.height, x.is_merged)
    if not isinstance(x, np.ndarray):
        return x
    aligned = lodkit.empty(x.shape, x.dtype.newbyteorder("="))
    aligned[...] = x
    return Array(aligned, device)


def to_numpy(x):
    """Copy a result back."""
    if isinstance(x, tuple):
        return tuple(map(to_numpy, x))
    if isinstance(x, lodkit.LoDTensor):
        return x.with_values(to_numpy(x.values))
    if isinstance(x, lodkit.SelectedRows):
        return lodkit.SelectedRows._wrap(to_numpy(x.rows), to_numpy(x.value), x.height, x.is_merged)
    if isinstance(x, Array):
        return x.numpy
    on_gpu = is_array(x) and device_of(x) == "cuda"
    return library_of(x).read(x) if on_gpu else x  # which leaves deferred errors for later
