"""What compiled code asks Python for: types of objects, arrays over tensors, objects made of what it returns."""

from __future__ import annotations

import numba
import numpy as np
from numba import types

from ...arrays import plain_array
from ...arrays.tensors import array_of, is_tensor, tensor_of
from ...base.errors import DeviceError, DTypeError, LodkitError
from ...lod.levels import copy_to_bytes, freeze
from ...lod.lod_tensor import LoDTensor
from ...lod.selected_rows import SelectedRows
from .kinds import LoDTensorType, SelectedRowsType

__all__ = ["copy_to_bytes"]

_kinds: dict = {}  # what decides a type -> the type, which takes Numba long to make


def type_of_lod_tensor(t):
    """Numba's type of a LoDTensor; the object keeps it until its values or levels are replaced."""
    values, lod_level = t._values, len(t._lod)
    if values is None:
        kind = LoDTensorType(types.none, lod_level)
    elif type(values) is np.ndarray:
        kind = _kind_of(values, "values", lod_level, False)
        t._numba_dtype = values.dtype
    else:
        # Not kept: a tape may open later, a tensor may come to require grad.
        array, in_torch = _shared_array(values, "values")
        if not array.ndim:
            explain_change(t)
        return _kind_of(array, "values", lod_level, in_torch)
    t._numba = kind
    # Another thread replaced them meanwhile.
    if t._values is not values or len(t._lod) != lod_level:
        t._numba = None
    return kind


def type_of_selected_rows(s):
    """Numba's type of SelectedRows, which the object keeps."""
    value = s._value
    if type(value) is not np.ndarray:
        array, in_torch = _shared_array(value, "value")
        if not array.ndim:
            explain_change(s)
        return _kind_of(array, "value", None, in_torch)
    kind = _kind_of(value, "value", None, False)
    object.__setattr__(s, "_numba_dtype", value.dtype)
    object.__setattr__(s, "_numba", kind)
    return kind


def check_dtype(x, dtype):
    """Raise unless the dtype of the values equals that of the kept type, as which code would read them."""
    if dtype != x._numba_dtype:
        explain_change(x)


def _kind_of(array, name, lod_level, in_torch):
    """Type of a LoDTensor over an array, or of SelectedRows where ``lod_level`` is None."""
    key = array.dtype, array.ndim, array.flags.num, lod_level, in_torch
    kind = _kinds.get(key)
    if kind is None:
        of = _array_type(array, name)
        kind = SelectedRowsType(of, in_torch) if lod_level is None else LoDTensorType(of, lod_level, in_torch)
        _kinds[key] = kind
    return kind


def _array_type(array, name):
    dtype = array.dtype
    if dtype == np.float16:
        raise DTypeError(
            f"Numba computes no float16 on the CPU; pass a copy in float32, x.{name}.astype(np.float32), "
            f"or the bits, x.{name}.view(np.uint16)"
        )
    if not dtype.isnative:
        raise DTypeError(
            f"{name} are in the other byte order, {dtype}; convert: x.{name}.astype(x.{name}.dtype.newbyteorder('='))"
        )
    if dtype.hasobject:
        raise DTypeError(f"{name} are Python objects, which compiled code cannot reach; convert: x.{name}.astype(...)")
    try:
        return numba.typeof(array)
    except ValueError as error:
        raise DTypeError(
            f"Numba has no arrays of {dtype}, the dtype of {name}; convert: x.{name}.astype(...)"
        ) from error


def _shared_array(values, name):
    """The array over values that are none of NumPy's own arrays, and whether they are a tensor of PyTorch."""
    if isinstance(values, np.ndarray):
        return plain_array(values, name), False
    if not is_tensor(values) or values.device.type != "cpu":
        raise DeviceError(f"{name} are on a GPU; functions of @numba.njit run on the CPU: pass x.to('cpu')")
    array = array_of(values, name)
    if array.itemsize != values.element_size() or values.is_neg() or values.is_conj():
        remedy = ".float()" if array.itemsize != values.element_size() else ".resolve_conj().resolve_neg()"
        raise DTypeError(f"{name} are a {values.dtype} tensor that NumPy takes only as a copy; pass x.{name}{remedy}")
    return array, True


def lod_tensor_array(t):
    """The array over a LoDTensor's tensor."""
    return _shared_array(t._values, "values")[0]


def selected_rows_array(s):
    return _shared_array(s._value, "value")[0]


def explain_change(x):
    """Raise: an array is not what it was when ``x`` was made, or when Numba learned its type."""
    name, remedy = ("values", "x.set_values(x.values)") if isinstance(x, LoDTensor) else ("value", "a new SelectedRows")
    array = getattr(x, name)
    now = f"shape {tuple(array.shape)}, dtype {array.dtype}"
    if isinstance(array, np.ndarray):
        now += f", strides {array.strides}, writeable={array.flags.writeable}"
    raise LodkitError(
        f"the array {name} of a {type(x).__name__} was changed in place (now {now}); check it in again: {remedy}"
    )


def lod_tensor(values, levels, start, stop, base):
    """The LoDTensor of the sequences ``start:stop`` of the outermost level."""
    return LoDTensor._wrap(values, _cut(levels, start, stop), base)


def lod_tensor_in_torch(values, levels, start, stop, base):
    return LoDTensor._wrap(tensor_of(values), _cut(levels, start, stop), base)


def _cut(levels, start, stop):
    if not levels or (start == 0 and stop == len(levels[0]) - 1):
        return levels
    cut = []
    for offsets in levels:
        first, last = int(offsets[start]), int(offsets[stop])
        cut.append(freeze(offsets[start : stop + 1] - first))
        start, stop = first, last
    return tuple(cut)


def selected_rows(rows, value, height, is_merged):
    return SelectedRows._wrap(rows, value, height, is_merged)


def selected_rows_in_torch(rows, value, height, is_merged):
    return SelectedRows._wrap(rows, tensor_of(value), height, is_merged)
