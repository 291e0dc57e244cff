"""Checked memory of kernels under ``simt.run``, and the thread that runs."""

from __future__ import annotations

import operator
from typing import NamedTuple

import numpy as np


class SimError(RuntimeError):
    """A kernel did something invalid, or undefined on a GPU."""


class Dim3(NamedTuple):
    """Indices and extents; int64, so that arithmetic widens as in compiled code."""

    x: np.int64
    y: np.int64
    z: np.int64

    def __str__(self):
        return f"({self.x}, {self.y}, {self.z})"


class _Now:
    """State of the running thread: set by the scheduler, read by the stand-in."""

    kernel = function = args = hub = block = thread = None

    def where(self):
        return f"kernel {self.kernel!r}, block {self.block.index}, thread {self.thread.index}"


now = _Now()


def fail(message):
    raise SimError(f"{message}; {now.where()}")


class Memory:
    """An array with elementwise access; indices are checked and do not wrap."""

    def __init__(self, array, name):
        self._array, self._name = array, name
        self.dtype, self.shape, self.ndim, self.size = array.dtype, array.shape, array.ndim, array.size
        self._length = array.size if array.ndim == 1 else -1
        self._integral = array.dtype.kind in "iub"

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, index):
        return self._array[self._place(index)]

    def __setitem__(self, index, value):
        self._array[self._place(index)] = self._cast(value)

    def update(self, index, operation, *values):
        """Replace an element by ``operation(element, *values)``, in its dtype, and return the old one."""
        place = self._place(index)
        old = self._array[place]
        self._array[place] = operation(old, *(self.dtype.type(self._cast(value)) for value in values))
        return old

    def _cast(self, value):
        """Cast a value: typed integers wrap, literals must fit."""
        if not self._integral:
            return value
        if isinstance(value, float | np.floating):
            fail(f"{self._name} holds {self.dtype}, {value} is of {type(value).__name__}")
        return value.astype(self.dtype) if isinstance(value, np.integer) else value

    def _place(self, index):
        """Return the index as Python ints, checked against the bounds."""
        try:
            if self._length >= 0:
                if 0 <= (place := operator.index(index)) < self._length:
                    return place
            else:
                places = tuple(map(operator.index, index))
                if len(places) == self.ndim and all(0 <= i < n for i, n in zip(places, self.shape, strict=True)):
                    return places
        except TypeError:
            fail(f"{self._name} of shape {self.shape} cannot be indexed by {index!r}")
        return fail(f"{self._name}: index {index} is out of bounds for {self.shape}")


class Pointer(Memory):
    """A raw pointer to the memory of a C-contiguous array.

    ``load`` and ``store`` are vector accesses of ``n`` elements, which must be aligned to their size.
    """

    def __init__(self, array, name="a pointer", races=False):
        if not array.flags.c_contiguous:
            raise ValueError("a pointer needs a C-contiguous array")
        super().__init__(array.reshape(-1), name)
        self._writers = {} if races else None
        self._address = array.ctypes.data

    def named(self, name, races):
        """Return the same memory as a kernel argument; with ``races``, record the writers of elements."""
        return Pointer(self._array, name, races)

    def __setitem__(self, index, value):
        place = self._place(index)
        old, self._array[place] = self._array[place], self._cast(value)
        if self._writers is None:
            return
        last, self._writers[place] = self._writers.get(place, now.block), now.block
        if last is not now.block and old.tobytes() != self._array[place].tobytes():
            new = self._array[place]
            fail(f"{self._name}: two blocks write element {place}, {last.index} wrote {old} and this one {new}")

    def load(self, i, n):
        """Load elements ``i`` to ``i + n - 1`` as a tuple."""
        place = self._vector(i, n)
        return tuple(self._array[place : place + n])

    def store(self, i, values):
        """Store values from element ``i``."""
        place = self._vector(i, len(values))
        for k, value in enumerate(values):
            self[place + k] = value

    def _vector(self, i, n):
        place = self._place(i)
        if place + n > self.size:
            fail(f"{self._name}: {n} elements from {i} on are out of bounds for {self.shape}")
        size = self.dtype.itemsize
        if place % n or (self._address + place * size) % min(16, n * size):  # no load is wider
            fail(f"{self._name}: a vector of {n} from element {i} on is misaligned")
        return place


def poisoned(shape, dtype):
    """Allocate memory with all bits set: NaN, or -1."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    return np.full(count * dtype.itemsize, 0xFF, np.uint8).view(dtype).reshape(shape)
