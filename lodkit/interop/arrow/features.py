"""Features from and to Arrow maps."""

from __future__ import annotations

import numpy as np

from ...arrays import VALUE_TYPES, integers
from ...base.errors import DTypeError, LoDError
from . import buffers
from .exporting import Node, export, items, lists, plain_values
from .importing import Column, chunks_of

_LISTS = b"+l", b"+L"


def arrays_of(x):
    """Lengths, keys, values_lengths, values and map_keys of an array of maps: a list with those of each chunk."""
    if hasattr(x, "as_py") and hasattr(x, "values"):
        # A list of maps comes as a scalar of pyarrow.
        x = x.values
    chunks = chunks_of(x)
    return [_arrays_of(column) for column in chunks.columns or [Column(chunks.schema, None, None, 0)]]


def _arrays_of(maps):
    if _is_list(maps):
        _, maps = _lists_of(maps, "the array")
    if maps.schema.format != b"+m":
        raise DTypeError(f"from_arrow takes maps, or lists of maps, not {buffers.describe_format(maps.schema.format)}")
    lengths, keys, values = _maps_of(maps, "the array")
    keys = _numbers_of(keys, "keys", "iu")
    if values.schema.format == b"+m":
        counts, map_keys, values = _maps_of(values, "the values")
        return lengths, keys, counts, _numbers_of(values, "the values"), _numbers_of(map_keys, "the maps' keys", "iu")
    if _is_list(values):
        counts, values = _lists_of(values, "the values")
        return lengths, keys, counts, _numbers_of(values, "the values"), None
    return lengths, keys, None, _numbers_of(values, "the values"), None


def _is_list(column):
    return column.schema.format in _LISTS or buffers.fixed_size(column.schema.format) is not None


def _lists_of(column, what):
    """Lengths of lists and the column of their elements."""
    _refuse_nulls(column, what)
    size = buffers.fixed_size(column.schema.format)
    if size is not None:
        elements = column.child(0, column.start * size, column.count * size)
        return np.full(column.count, size), elements
    offsets, first = buffers.list_offsets(column)
    return np.diff(offsets), column.child(0, first, offsets.item(-1))


def _maps_of(column, what):
    """Lengths of maps, and the columns of their keys and values."""
    lengths, entries = _lists_of(column, what)
    _refuse_nulls(entries, what)
    return lengths, *(entries.child(i, entries.start, entries.count) for i in (0, 1))


def _refuse_nulls(column, what):
    null = buffers.find_nulls(column)
    if null is not None:
        raise LoDError(f"{what} is null at position {int(np.argmax(null))}; fill it first, with an empty map or list")


def _numbers_of(column, what, kinds="fiu"):
    _refuse_nulls(column, what)
    expected = f"{what} must be {'integers' if kinds == 'iu' else 'numbers'}"
    if not column.schema.dictionary and column.schema.format not in buffers.NAMES:
        raise DTypeError(f"{expected}, not {buffers.describe_format(column.schema.format)}")
    values = buffers.numbers(column)
    if values.dtype.kind not in kinds and len(values):
        raise DTypeError(f"{expected}, not {values.dtype}")
    is_integral = kinds == "iu" or (values.dtype.kind in "iu" and values.dtype not in VALUE_TYPES)
    return integers(values, what) if is_integral else values


def features(x, with_array=True):
    """``Features.__arrow_c_array__``."""
    values = plain_values(x.values._whole())
    if values.ndim != 1:
        raise DTypeError(f"values have shape {values.shape}; Arrow's maps take one number per value")
    node = items(values)
    if x.kind == "map":
        node = _map(x.values.offsets(), items(plain_values(x.map_keys._whole())), node)
    elif x.kind == "list":
        _check_offsets(x.values.offsets())
        node = lists(x.values.offsets(), node, small=True)
    return export(_map(x.values.offsets(0), items(x.keys), node), with_array)


def _map(offsets, keys, values):
    """Maps, whose offsets Arrow wants in 32 bits."""
    _check_offsets(offsets)
    pairs = keys._replace(name=b"key", flags=0), values._replace(name=b"value")
    entries = Node(b"+s", int(offsets[-1]), (None,), pairs, b"entries", 0)
    return lists(offsets, entries, small=True)._replace(format=b"+m")


def _check_offsets(offsets):
    if offsets[-1] >= 1 << 31:
        raise LoDError(f"{offsets[-1]} values exceed the int32 offsets of one Arrow array; slice first")
