"""Memory between two pages without access, and arrays placed in it."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np
from numpy.lib.array_utils import byte_bounds

PAGE = mmap.PAGESIZE
_libc = ctypes.CDLL(None, use_errno=True)
_protect = _libc.mprotect
_protect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int


class Guarded:
    """``size`` bytes that end right before a page without access, or begin right behind one."""

    def __init__(self, size, at_end=True):
        pages = -(-size // PAGE) * PAGE
        mapping = mmap.mmap(-1, pages + 2 * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        whole = np.frombuffer(mapping, np.uint8)
        start = whole.__array_interface__["data"][0]
        for page in (start, start + PAGE + pages):
            if _protect(page, PAGE, 0):
                raise OSError(ctypes.get_errno(), "mprotect")
        first = PAGE + pages - size if at_end else PAGE
        self.bytes = whole[first : first + size]
        self.address = start + first


class Placed:
    """An array in guarded memory, and what its memory held."""

    def __init__(self, array, at_end=True):
        if array.dtype.hasobject:  # references must stay where Python counts them
            self.memory, self.array, self.before = None, array, repr(array)
            return
        low, high = byte_bounds(array) if array.size else (0, 0)
        self.memory = Guarded(high - low, at_end)
        ctypes.memmove(self.memory.address, low, high - low)
        self._first = first = array.__array_interface__["data"][0] - low if array.size else 0
        strides = array.strides if array.size else None
        self.array = np.ndarray(array.shape, array.dtype, self.memory.bytes, first, strides)
        self.array.flags.writeable = array.flags.writeable
        self.before = self.memory.bytes.tobytes()

    def changed(self):
        """Whether any byte is another one than before."""
        return (repr(self.array) if self.memory is None else self.memory.bytes.tobytes()) != self.before

    def gaps_changed(self):
        """Whether a byte between the elements of the array is another one than before."""
        if self.memory is None or self.array.flags.forc or 0 in self.array.strides:
            return False
        after = np.frombuffer(self.before, np.uint8).copy()
        elements = np.ndarray(self.array.shape, self.array.dtype, after, self._first, self.array.strides)
        elements[...] = self.array
        return after.tobytes() != self.memory.bytes.tobytes()
