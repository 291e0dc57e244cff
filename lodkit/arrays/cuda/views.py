"""What a kernel needs to know of an array on a GPU, of whichever library it is."""

from __future__ import annotations

import collections
import math

import numpy as np

from ...errors import DTypeError, OutputError
from ...jit.llvm.intrinsics import WIDE

_POINTERS = {
    np.dtype(name): ("uint16" if name == "float16" else name) + "*"
    for name in ("float16", "float32", "float64", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
}
_POINTERS[np.dtype(bool)] = "uint8*"  # masks: results only, operators take no values of this type


class View:
    """What a kernel needs to know of an array: its memory, shape and type. It keeps the array alive.

    ``type_name`` is the type of a pointer to its elements, as ``launch`` names it; float16 is passed as its bits.
    """

    __slots__ = ("array", "device", "dtype", "is_copy", "library", "pointer", "shape", "type_name")

    def __init__(self, array, pointer, shape, dtype, library, device, is_copy=False):
        self.array, self.pointer, self.library, self.device = array, pointer, library, device
        self.shape, self.dtype, self.is_copy = tuple(shape), dtype, is_copy
        self.type_name = _POINTERS[dtype]

    def __len__(self):
        return self.shape[0]

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        return math.prod(self.shape)

    @property
    def compute_dtype(self):
        """The type that its values compute in."""
        name = self.type_name[:-1]
        return np.dtype(WIDE.get(name, name))

    @property
    def end(self):
        """Where its memory ends."""
        return self.pointer + self.size * self.dtype.itemsize

    @property
    def columns(self):
        """Elements of a row."""
        return math.prod(self.shape[1:])

    def writable(self, name):
        """Itself, or an error where a kernel would write into a copy."""
        if self.is_copy:
            raise OutputError(f"{name} is not a C-contiguous array; pass a contiguous one")
        return self

    def like(self, shape, dtype=None):
        """A new array on the same device, of the same library."""
        return self.library.empty(shape, self.dtype if dtype is None else np.dtype(dtype), self.device)

    @property
    def __cuda_array_interface__(self):
        return self.array.__cuda_array_interface__

    def reshape(self, *shape):
        """The same memory in another shape, given as in NumPy; one number may be -1."""
        if len(shape) == 1 and type(shape[0]) is tuple:
            shape = shape[0]
        if -1 in shape:
            known = -math.prod(shape)
            shape = tuple(self.size // max(known, 1) if n == -1 else n for n in shape)
        return View(self.array.reshape(shape), self.pointer, shape, self.dtype, self.library, self.device)

    def as_integers(self):
        """The bits of float32 or float64, in place, as integers of that size."""
        dtype = np.dtype(f"int{8 * self.dtype.itemsize}")
        return View(self.array, self.pointer, self.shape, dtype, self.library, self.device)

    def part(self, start, stop):
        """The rows from ``start`` to ``stop``, in place."""
        shape = (stop - start, *self.shape[1:])
        pointer = self.pointer + start * self.columns * self.dtype.itemsize
        return View(self.array[start:stop], pointer, shape, self.dtype, self.library, self.device)

    def send(self, array):
        """A NumPy array, brought to the same device."""
        return self.library.send(np.asarray(array, order="C"), self.device)

    def read(self):
        """The values, as a NumPy array. Waits for the device, and raises what was deferred until somebody waits."""
        values = self.library.read(self.array)
        raise_pending()
        return values


def checked(dtype):
    """``dtype``, or an error where kernels cannot address it."""
    if dtype not in _POINTERS:
        raise DTypeError(f"a CUDA array of {dtype} is no type of lodkit; convert with .astype(...)")
    return dtype


#: Deferred checks of ids: where the first bad position comes, -1 for none; and what makes the error of a position.
pending: collections.deque[tuple] = collections.deque()


def raise_pending():
    """Raise the error of the first deferred check that found something. Waits for the device if there is one."""
    found = None
    while True:
        try:
            first, error = pending.popleft()
        except IndexError:  # none is left; another thread may have taken the last
            break
        at = int(first.library.read(first.array)[0])
        if at >= 0 and found is None:
            found = error(at)
    if found is not None:
        raise found
