"""Features from and to Arrow maps. pyarrow is imported on first use."""

from __future__ import annotations

import numpy as np

from ..arrays import VALUE_TYPES, integers
from ..errors import DTypeError, LoDError


def _pyarrow():
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("Arrow arrays need pyarrow: pip install pyarrow") from error
    return pyarrow


def _is_list(kind):
    types = _pyarrow().types
    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)


def arrays_of(array):
    """Return lengths, keys, values_lengths, values and map_keys of an array of maps."""
    pa = _pyarrow()
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array, pa.Scalar) and _is_list(array.type):
        array = array.values
    if not isinstance(array, pa.Array):
        raise TypeError(f"from_arrow takes an Arrow array, got {type(array).__name__}")
    if _is_list(array.type):
        _, array = _list_parts(array, "the array")
    if not pa.types.is_map(array.type):
        raise DTypeError(f"from_arrow takes maps, or lists of maps, not {array.type}")
    lengths, keys, items = _map_parts(array, "the array")
    keys = _numeric(keys, "keys", "iu")
    if pa.types.is_map(items.type):
        counts, map_keys, values = _map_parts(items, "the values")
        return lengths, keys, counts, _numeric(values, "the values"), _numeric(map_keys, "the maps' keys", "iu")
    if _is_list(items.type):
        counts, values = _list_parts(items, "the values")
        return lengths, keys, counts, _numeric(values, "the values"), None
    return lengths, keys, None, _numeric(items, "the values"), None


def _no_nulls(array, what):
    """Return ``array``, or raise with the position of its first null."""
    if array.null_count:
        i = int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
        raise LoDError(f"{what} is null at position {i}; fill it first, with an empty map or list")
    return array


def _list_parts(array, what):
    """Return lengths and children of a list array, without rows outside its slice."""
    children = _no_nulls(array, what).flatten()
    return np.diff(_offsets(array)), children


def _map_parts(array, what):
    offsets = _offsets(_no_nulls(array, what))
    start, stop = int(offsets[0]), int(offsets[-1])
    return np.diff(offsets), array.keys[start:stop], array.items[start:stop]


def _offsets(array):
    if _pyarrow().types.is_fixed_size_list(array.type):
        return np.arange(len(array) + 1) * array.type.list_size
    return array.offsets.to_numpy(zero_copy_only=False).astype(np.int64)


def _numeric(array, what, kinds="fiu"):
    array = _no_nulls(array, what)
    values = array.to_numpy(zero_copy_only=False) if array.type != _pyarrow().null() else np.empty(0)
    if values.dtype.kind not in kinds and len(values):
        raise DTypeError(f"{what} must be {'integers' if kinds == 'iu' else 'numbers'}, not {array.type}")
    is_integral = kinds == "iu" or (values.dtype.kind in "iu" and values.dtype not in VALUE_TYPES)
    return integers(values, what) if is_integral else values


def array_of(features):
    """Return an array of maps, one per example."""
    pa = _pyarrow()
    values = features.values.values
    if values.ndim != 1:
        raise DTypeError(f"values have shape {values.shape}; to_arrow takes one number per value")
    items = pa.array(np.ascontiguousarray(values))
    if features.kind != "scalar":
        offsets = _int32_offsets(features.values.offsets())
        if features.kind == "map":
            items = pa.MapArray.from_arrays(offsets, pa.array(features.map_keys.values), items)
        else:
            items = pa.ListArray.from_arrays(offsets, items)
    return pa.MapArray.from_arrays(_int32_offsets(features.values.offsets(0)), pa.array(features.keys), items)


def _int32_offsets(offsets):
    if offsets[-1] >= 1 << 31:
        raise LoDError(f"{offsets[-1]} values exceed the int32 offsets of one Arrow array; slice first")
    return _pyarrow().array(offsets.astype(np.int32))
