"""A file as a source of arrays, read or mapped; sizes are checked against the file before memory is taken."""

from __future__ import annotations

import math
import mmap
import os
import sys

import numpy as np

from ...arrays import empty
from ...base.errors import LodkitError
from ...base.loading import public

MOST_DIMENSIONS = 64  # of NumPy's arrays
# Bytes read at a time: they stay in the cache while their checksum is computed.
PIECE = 1 << 18
WRITTEN_PIECE = 1 << 24


@public
class StorageError(LodkitError, ValueError):
    """The file cannot be read: it is damaged, or was not written by ``lodkit.save``."""


class Source:
    """An open file, whether its arrays are mapped, and the function that is told how many bytes were read."""

    def __init__(self, file, mapped, advance):
        self.advance = advance
        self.file, self.size = file, os.fstat(file.fileno()).st_size
        self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if mapped and self.size else None

    @property
    def is_mapped(self):
        return self._map is not None

    def bytes(self, start, count):
        """``count`` bytes from ``start``; StorageError if the file is shorter."""
        if start + count > self.size:
            raise StorageError(f"it ends after {self.size} bytes, {count} are expected from {start} on")
        self.file.seek(start)
        return self.file.read(count)

    def array(self, name, dtype, shape, start):
        """The array that starts at a byte: a read-only view of the map, or new memory."""
        check_shape(name, dtype, shape)
        size = math.prod(shape) * dtype.itemsize
        if start + size > self.size:
            raise StorageError(f"{name} of shape {shape} ends at byte {start + size}, the file at {self.size}")
        if self._map is None or not size:
            self.file.seek(start)
            made = read_array(name, dtype, shape, self.file, self.advance)
        else:
            made = np.frombuffer(self._map, dtype, math.prod(shape), start).reshape(shape)
            made = made if made.flags.aligned else made.copy()
        made.flags.writeable = not self.is_mapped
        return made


def check_shape(name, dtype, shape):
    """Refuse shapes and types of which NumPy makes no array, or none that works."""
    check_dimensions(name, shape)
    size = math.prod(n for n in shape if n) * dtype.itemsize  # as NumPy computes it
    odd = dtype.kind in "mM" and np.datetime_data(dtype)[1] < 1
    if not all(type(n) is int for n in shape) or not 0 < size < 1 << 63 or odd:
        raise StorageError(f"{name} has dtype {dtype} and shape {shape!s:.80}, of which NumPy makes no array")


def check_dimensions(name, shape):
    """Refuse a shape of more dimensions than arrays have, whose product would take time by their square."""
    if len(shape) > MOST_DIMENSIONS:
        raise StorageError(
            f"{name} has {len(shape)} dimensions, of which NumPy makes no array: at most {MOST_DIMENSIONS}"
        )


def check_text(name, array):
    """Refuse text with numbers that are no characters, which Python cannot show."""
    if array.dtype.kind == "U" and array.size:
        codes = np.ascontiguousarray(array).reshape(-1).view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
        if codes.max() > sys.maxunicode:
            raise StorageError(f"{name} holds {codes.max()}, which is no character")


def read_array(name, dtype, shape, stream, advance):
    """A new array of the next bytes of a stream; ``advance`` is told how many were read."""
    check_shape(name, dtype, shape)
    made = empty(shape, dtype)
    left = bytes_of(made)
    while len(left):
        count = stream.readinto(left[:PIECE])
        if not count:
            raise StorageError(f"{name} lacks its last {len(left)} bytes")
        left = left[count:]
        advance(count)
    return made


def write_array(file, array, advance):
    """Write the bytes of a C-contiguous array; ``advance`` is told how many were written."""
    left = bytes_of(array)
    while len(left):
        piece, left = left[:WRITTEN_PIECE], left[WRITTEN_PIECE:]
        file.write(piece)
        advance(len(piece))


def bytes_of(array):
    """The memory of a C-contiguous array."""
    return memoryview(array.reshape(-1).view(np.uint8)) if array.size else memoryview(b"")
