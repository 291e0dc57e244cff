"""View: memory, shape and dtype of an array on a GPU, of any library."""

from __future__ import annotations

import collections
import contextlib
import math

import numpy as np

from ...base.bfloat16 import BFLOAT16, is_bfloat16
from ...base.errors import DTypeError, OutputError
from ...jit.llvm.vectors import COMPUTE_DTYPE
from ..number_types import VALUE_TYPES

_POINTERS = {
    np.dtype(name): ("uint16" if name == "float16" else name) + "*"
    for name in "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
}
_POINTERS[np.dtype(bool)] = "uint8*"  # masks, as results only
_POINTERS[BFLOAT16] = "int16*"
#: What kernels move in place of numbers that they do not compute in, by the bytes of one.
_WORDS = {1: np.dtype(np.uint8), 2: np.dtype(np.uint8), 4: np.dtype(np.int32), 8: np.dtype(np.int64)}
_COMPUTE = {dtype: np.dtype(COMPUTE_DTYPE.get(name[:-1], name[:-1])) for dtype, name in _POINTERS.items()}
# Of numbers of this type kernels compute nothing: int16 is what they are given of bfloat16.
_COMPUTE[np.dtype(np.int16)] = np.dtype(np.int16)


class View:
    """Memory, shape and dtype of an array, which it keeps alive.

    ``type_name`` is the type of a pointer to its elements, as ``launch`` names it; float16 is passed as uint16 bits,
    bfloat16, whose type is ``BFLOAT16`` here, as int16 bits.
    """

    __slots__ = ("_array", "_make", "device", "dtype", "is_copy", "library", "pointer", "shape", "type_name")

    def __init__(self, array, pointer, shape, dtype, library, device, is_copy=False, make=None):
        self._array, self.pointer, self.library, self.device = array, pointer, library, device
        self.shape, self.dtype, self.is_copy, self._make = tuple(shape), dtype, is_copy, make
        self.type_name = _POINTERS[dtype]

    @property
    def array(self):
        """The array; that of a part is made when it is asked for, which takes longer than a View."""
        make = self._make
        # Threads that come at once make an array each.
        if make is not None:
            self._array = make()
            self._make = None
        return self._array

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
        """Type in which its values are computed."""
        return _COMPUTE[self.dtype]

    @property
    def end(self):
        """Address of the end of its memory."""
        return self.pointer + self.size * self.dtype.itemsize

    @property
    def columns(self):
        """Number of elements per row."""
        return math.prod(self.shape[1:])

    def writable(self, name):
        """Return itself; OutputError if kernels would write into a copy."""
        if self.is_copy:
            raise OutputError(f"{name} is not a C-contiguous array, or a negated view; pass a contiguous copy")
        return self

    def like(self, shape, dtype=None):
        """New array on the same device, of the same library."""
        dtype = self.dtype if dtype is None else np.dtype(dtype)
        return self.library.empty(shape, BFLOAT16 if is_bfloat16(dtype) else dtype, self.device)

    def buffers(self, count, n, dtype):
        """``count`` new vectors of ``n`` elements in one piece of memory, each on a multiple of 16 bytes."""
        step = -(-n // 16) * 16
        whole = self.like((count, step), dtype)
        start, step = whole.pointer, step * whole.dtype.itemsize
        return [whole._view_part(start + k * step, (n,), lambda k=k: whole.array[k, :n]) for k in range(count)]

    @property
    def __cuda_array_interface__(self):
        return self.array.__cuda_array_interface__

    def reshape(self, *shape):
        """Same memory in another shape, numbers or a tuple; one may be -1, as in NumPy."""
        shape = shape[0] if len(shape) == 1 and type(shape[0]) is tuple else shape
        if -1 in shape:
            known = -math.prod(shape)
            shape = tuple(self.size // max(known, 1) if n == -1 else n for n in shape)
        return self._view_part(self.pointer, shape, lambda: self.array.reshape(shape))

    def as_integers(self):
        """Same memory of float32 or float64 as integers of that size."""
        dtype = np.dtype(f"int{8 * self.dtype.itemsize}")
        return View(self.array, self.pointer, self.shape, dtype, self.library, self.device)

    def as_words(self):
        """Same memory as what kernels move: numbers that none computes in as integers of their size, or as bytes.

        Numbers of two bytes get one more dimension: words of two bytes are those of float16.
        """
        size = self.dtype.itemsize
        if self.dtype in VALUE_TYPES or self.dtype == BFLOAT16:
            return self
        shape = (*self.shape, 2) if size == 2 else self.shape
        return View(self.array, self.pointer, shape, _WORDS[size], self.library, self.device)

    def view_as(self, dtype):
        """Same memory as numbers of another type of the same size."""
        return View(self.array, self.pointer, self.shape, np.dtype(dtype), self.library, self.device)

    def _view_part(self, pointer, shape, make):
        """A View of some of this memory, whose array ``make()`` gives."""
        return View(None, pointer, shape, self.dtype, self.library, self.device, make=make)

    def part(self, start, stop):
        """Rows ``start`` to ``stop``, of the same memory."""
        shape = (stop - start, *self.shape[1:])
        # Numba cannot slice arrays without elements.
        if not math.prod(shape):
            return self.like(shape)
        pointer = self.pointer + start * self.columns * self.dtype.itemsize
        return self._view_part(pointer, shape, lambda: self.array[start:stop])

    def __getitem__(self, rows):
        """The rows of a slice, in place."""
        return self.part(*rows.indices(len(self))[:2])

    def send(self, array):
        """Copy a NumPy array to the same device."""
        return self.library.send(np.asarray(array, order="C"), self.device)

    def read(self):
        """Copy the values to NumPy. Synchronises with the device, and raises deferred errors."""
        values = self.library.read(self.array)
        raise_pending()
        return values


def check_dtype(dtype):
    """Return ``dtype``; DTypeError if kernels do not support it."""
    if dtype not in _POINTERS:
        raise DTypeError(f"a CUDA array of {dtype} is no type of lodkit; convert with .astype(...)")
    return dtype


#: Deferred checks of ids: the slot that holds the first bad position (-1 for none), the queue that checks, and a
#: function from position to error.
pending: collections.deque[tuple] = collections.deque()


def raise_pending():
    """Raise the first error of deferred checks. Synchronises with the device if there are any."""
    found, taken, waited = None, [], set()
    # Another thread may have taken the last one.
    with contextlib.suppress(IndexError):
        while True:
            taken.append(pending.popleft())
    # All were taken before any slot is read: a later check is not among them.
    for slot, queue, error in taken:
        library, device = slot.view.library, slot.view.device
        if (library, device, queue) not in waited:
            waited.add((library, device, queue))
            (library.wait if queue == library.queue(device) else library.synchronize)(device)
        (at,) = slot.release()
        if at >= 0 and found is None:
            found = error(at)
    if found is not None:
        raise found
