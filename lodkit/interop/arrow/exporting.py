"""Arrays as capsules of the Arrow C data interface: consumers share their memory and keep it alive."""

from __future__ import annotations

import ctypes
import functools
import typing
from array import array

import numpy as np

from ...arrays import is_bfloat16, native
from ...arrays.bfloat16 import widen
from ...arrays.objects import remedy_of
from ...arrays.recorded import plain_view
from ...arrays.tensors import array_of, is_tensor
from ...base.errors import DTypeError, LoDError
from ...lod.indexing import require_cpu
from .c_data import (
    ARRAY,
    FORMATS,
    NULLABLE,
    NUMBERS,
    SCHEMA,
    ArrowSchema,
    add_reference,
    new_capsule,
    pointer_of,
    set_context,
)
from .native import callbacks
from .times import format_of, store_times, times_of


class Node(typing.NamedTuple):
    """An Arrow array to be: its buffers (the first has the bits of what is not null, or is None) and its children."""

    format: bytes
    length: int
    buffers: tuple
    children: tuple = ()
    name: bytes = b"item"
    flags: int = NULLABLE
    nulls: int = 0


def export(root, with_array=True):
    """The capsules of ``__arrow_c_array__``, or of the schema alone."""
    nodes = [root._replace(name=b"")]
    for node in nodes:
        # Breadth first, so that children lie side by side.
        nodes.extend(node.children)
    of_schemas, of_arrays = callbacks()
    texts = [(_text(node.format), _text(node.name)) for node in nodes]
    fields = [
        (format[1], name[1], 0, node.flags, len(node.children))
        for node, (format, name) in zip(nodes, texts, strict=True)
    ]
    schema = _capsule(SCHEMA, nodes, fields, of_schemas, texts)
    if not with_array:
        return schema
    buffers = [buffer for node in nodes for buffer in node.buffers]
    addresses = array("q", [0 if buffer is None else buffer.ctypes.data for buffer in buffers])
    at, fields = addresses.buffer_info()[0], []
    for node in nodes:
        fields.append((node.length, node.nulls, 0, len(node.buffers), len(node.children), at))
        at += 8 * len(node.buffers)
    return schema, _capsule(ARRAY, nodes, fields, of_arrays, (addresses, buffers))


@functools.lru_cache
def _text(text):
    """A string of C, as long as it is referred to, and its address."""
    held = ctypes.create_string_buffer(text)
    return held, ctypes.addressof(held)


def _capsule(name, nodes, fields, calls, memory):
    """A capsule over structures that keep ``memory`` alive, each for itself: consumers may move children away.

    ``fields`` are those before ``children``. They are written as numbers, a tenth of the time of ctypes' structures.
    """
    count, size = len(nodes), len(fields[0]) + 4
    block = array("q", bytes(8 * count * (size + 1)))
    at, kept = block.buffer_info()[0], (block, memory)
    owner, below, numbers = id(kept), at + 8 * count * size, []
    for node, first in zip(nodes, fields, strict=True):
        numbers += (*first, below if node.children else 0, 0, calls.release, owner)
        below += 8 * len(node.children)
    numbers += (at + 8 * size * i for i in range(1, count))
    numbers.append(0)
    block[:] = array("q", numbers)
    capsule = new_capsule(at, name, calls.drop)
    set_context(capsule, owner)
    for _ in range(count + 1):
        add_reference(kept)
    return capsule


def tensor(t, requested=None, with_array=True):
    """``LoDTensor.__arrow_c_array__``."""
    wanted = formats_of(requested) if requested is not None else []
    levels = [t.offsets(level) for level in range(t.lod_level)]
    values = plain_values(t._whole())
    if len(wanted) != len(levels) + values.ndim:
        wanted = [None] * (len(levels) + values.ndim)
    node = items(values, wanted[-1])
    for offsets, format in zip(reversed(levels), reversed(wanted[: len(levels)]), strict=True):
        node = lists(offsets, node, small=format == b"+l" and offsets[-1] < 1 << 31)
    return export(node, with_array)


def formats_of(capsule):
    """Formats of a requested type, from its outermost lists to its values; it stays its owner's."""
    schema, found = ArrowSchema.from_address(pointer_of(capsule, SCHEMA)), []
    while schema is not None and len(found) <= 64:
        found.append(schema.format)
        schema = schema.child(0)
    return found


def plain_values(values):
    """Values as a NumPy array, or raise with the remedy."""
    if values is None:
        raise LoDError("a LoDTensor without values is no Arrow array; set them with set_values or with_values")
    if is_tensor(values):
        return array_of(values, "values")
    require_cpu(values, "Arrow")
    # Arrow has no bfloat16: float32 holds its numbers, as of tensors.
    return widen(values) if is_bfloat16(values.dtype) else plain_view(values)


def items(values, format=None):
    """Rows as an array of numbers, in lists of fixed size where they are not scalars."""
    values = _as_asked(values, NUMBERS.get(format) or (format and times_of(format)))
    dtype = native(values.dtype)
    lengths = [values.shape[0]]
    for size in values.shape[1:]:
        lengths.append(lengths[-1] * size)
    if dtype.kind == "b":
        node = Node(b"b", lengths[-1], (None, np.packbits(values.reshape(-1), bitorder="little")))
    elif dtype in FORMATS:
        values = np.ascontiguousarray(values, dtype)
        node = Node(FORMATS[dtype], lengths[-1], (None, values if values.flags.aligned else values.copy()))
    elif dtype.kind in "mM":
        values = np.ascontiguousarray(values, dtype)
        stored, valid = store_times(values)
        buffers = valid, stored if stored.flags.aligned else stored.copy()
        node = Node(format_of(values, format), lengths[-1], buffers)
        # How many are missing, the bits say.
        node = node if valid is None else node._replace(nulls=-1)
    else:
        raise DTypeError(f"Arrow has no numbers of type {dtype}; {remedy_of(dtype)}")
    for size, length in zip(reversed(values.shape[1:]), reversed(lengths[:-1]), strict=True):
        node = Node(b"+w:%d" % size, length, (None,), (node,))
    return node


def _as_asked(values, wanted):
    """Values in the type asked for: a floating one of floats, or one that holds them all; else as they are."""
    if wanted is None or values.dtype == wanted:
        return values
    if values.dtype.kind in "mM" and values.dtype.kind == wanted.kind:
        # A finer unit holds fewer years: NumPy says neither that it is too fine nor that it is too coarse.
        made = values.astype(wanted)
        return made if np.array_equal(made.astype(values.dtype), values, equal_nan=True) else values
    if np.can_cast(values.dtype, wanted, "safe") or values.dtype.kind == wanted.kind == "f":
        return values.astype(wanted)
    if values.dtype.kind not in "iu" or wanted.kind not in "iu":
        return values
    made = values.astype(wanted)
    return made if (made == values).all() else values


def lists(offsets, node, small=False):
    """Lists over a node; ``small``: with offsets of 32 bits, which are copied."""
    offsets = np.asarray(offsets, np.int32 if small else np.int64)
    return Node(b"+l" if small else b"+L", len(offsets) - 1, (None, offsets), (node,))


def pyarrow_array(x):
    """An array of pyarrow over the memory of ``x``, which has ``__arrow_c_array__``."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError('to_arrow needs pyarrow: pip install "lodkit[arrow]"') from error
    return pyarrow.array(x)
