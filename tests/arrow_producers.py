"""Producers of Arrow arrays for tests, made of lodkit's own structures: no Arrow library is needed."""

from __future__ import annotations

import ctypes

import numpy as np

from lodkit import LoDTensor
from lodkit.interop.arrow import c_data
from lodkit.interop.arrow.exporting import Node, export


class Producer:
    """An object of the array interface; ``change(struct)`` may damage the array's structure first."""

    def __init__(self, node, change=None):
        self.schema, self.array = export(node)
        if change is not None:
            change(array_in(self.array))

    def __arrow_c_array__(self, requested_schema=None):
        return self.schema, self.array


def array_in(capsule):
    return c_data.ArrowArray.from_address(c_data.pointer_of(capsule, c_data.ARRAY))


def numbers(values, valid=None):
    values = np.asarray(values)
    return Node(c_data.FORMATS[values.dtype], len(values), (bitmap(valid), values))


def lists(offsets, child, valid=None, format=b"+L"):
    offsets = np.asarray(offsets, np.int64 if format == b"+L" else np.int32)
    return Node(format, len(offsets) - 1, (bitmap(valid), offsets), (child,))


def words(texts):
    data = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, data)]).astype(np.int32)
    return Node(b"u", len(texts), (None, offsets, np.frombuffer(b"".join(data), np.uint8)))


def bitmap(valid):
    return None if valid is None else np.packbits(np.asarray(valid, bool), bitorder="little")


def with_nulls(struct):
    """Say of an array and its children that nobody has counted the nulls."""
    struct.null_count = -1
    for i in range(struct.n_children):
        with_nulls(struct.child(i))


class Stream:
    """An object of the stream interface: chunks are nodes of one type; ``error`` is raised after the last."""

    def __init__(self, *chunks, error=None, schema=None):
        self.chunks, self.error, self.released = [export(node) for node in chunks], error, 0
        self.schema = schema or self.chunks[0][0]
        self.calls = (
            ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(self.get_schema),
            ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(self.get_next),
            ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda at: ctypes.addressof(self.text)),
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.release),
        )
        self.text = ctypes.create_string_buffer(error or b"")
        self.struct = c_data.ArrowArrayStream(*(ctypes.cast(call, ctypes.c_void_p) for call in self.calls), None)

    def get_schema(self, at, to):
        source = c_data.ArrowSchema.from_address(c_data.pointer_of(self.schema, c_data.SCHEMA))
        ctypes.memmove(to, ctypes.addressof(source), ctypes.sizeof(source))
        source.release = None
        return 0

    def get_next(self, at, to):
        if self.chunks:
            capsule = self.chunks.pop(0)[1]
            source = array_in(capsule)
            ctypes.memmove(to, ctypes.addressof(source), ctypes.sizeof(source))
            source.release = None
        return 22 if self.error and not self.chunks else 0

    def release(self, at):
        self.released += 1
        c_data.ArrowArrayStream.from_address(at).release = None

    def __arrow_c_stream__(self, requested_schema=None):
        return c_data.new_capsule(ctypes.addressof(self.struct), c_data.STREAM, None)


def ragged(dtype=np.float64, item=()):
    """Two articles; one has an empty sentence."""
    size = int(np.prod(item, dtype=int))
    values = (np.arange(7 * size).reshape(7, *item) % 5).astype(dtype)
    return LoDTensor(values, [[3, 1], [3, 0, 2, 2]])
