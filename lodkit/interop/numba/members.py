"""Attributes and methods of LoDTensor and SelectedRows in compiled code: those of Python, with the same results."""

from __future__ import annotations

import operator

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, lower_builtin, overload, overload_attribute, overload_method

from ...base.errors import LoDError
from ...jit.private_numba import TypingError, wrap_attribute
from .kinds import LoDTensorType, SelectedRowsType, need_values
from .offsets import place


class OtherRowCount(LoDError):
    """Raised by compiled code, with a level, its last offset and the number of rows."""

    def __str__(self):
        level, last, rows = self.args
        difference = f"{last - rows} too many" if last > rows else f"{rows - last} too few"
        return (
            f"last offset {last} at level {level} does not equal values.shape[0]={rows} ({difference}); "
            "the innermost lengths must sum to the rows"
        )


for _name in ("start", "stop", "first_row", "base"):
    wrap_attribute(LoDTensorType, _name, f"_{_name}")
wrap_attribute(LoDTensorType, "values", "_values")
for _name in ("rows", "value", "height", "is_merged"):
    wrap_attribute(SelectedRowsType, _name, _name)


@overload_attribute(LoDTensorType, "values")
def values(t):
    need_values(t)
    return lambda t: t._values


@overload_attribute(LoDTensorType, "lod_level")
def lod_level(t):
    levels = t.lod_level
    return lambda t: levels


@overload_attribute(LoDTensorType, "shape")
def shape(t):
    if t.has_values:
        return lambda t: t._values.shape
    last = t.lod_level - 1
    return lambda t: (place(t, 0, last, t._stop) - t._first_row,)


@overload_attribute(LoDTensorType, "dtype")
def dtype(t):
    need_values(t)
    return lambda t: t._values.dtype


@overload_attribute(SelectedRowsType, "shape")
def selected_rows_shape(s):
    return lambda s: (s.height, *s.value.shape[1:])


@overload_attribute(SelectedRowsType, "ndim")
def selected_rows_ndim(s):
    return lambda s: s.value.ndim


@overload_attribute(SelectedRowsType, "dtype")
def selected_rows_dtype(s):
    return lambda s: s.value.dtype


@overload(len)
def length(x):
    if isinstance(x, LoDTensorType):
        return lambda x: x._stop - x._start
    if isinstance(x, SelectedRowsType):
        return lambda x: len(x.rows)
    return None


@lower_builtin(operator.is_, LoDTensorType, LoDTensorType)
@lower_builtin(operator.is_, SelectedRowsType, SelectedRowsType)
def refuse_identity(context, builder, signature, args):
    raise TypingError(f"compiled code knows no identity of objects: {signature.args[0]} is ...; compare what they hold")


@overload_method(LoDTensorType, "with_values", inline="always")
def with_values(t, values):
    if not isinstance(values, types.Array) or not values.ndim:
        raise TypingError(f"with_values takes an array (rows, *item), not {values}")
    last = t.lod_level - 1

    def with_values_of(t, values):
        if last >= 0 and len(values) != t.shape[0]:
            raise OtherRowCount(last, t.shape[0], len(values))
        return _with_values(t, values)

    return with_values_of


@intrinsic
def _with_values(typing, t, values):
    """A tensor of the same structure, unchecked."""
    made_type = LoDTensorType(values, t.lod_level, t.in_torch)

    def build(context, builder, signature, args):
        tensor = cgutils.create_struct_proxy(t)(context, builder, args[0])
        made = cgutils.create_struct_proxy(made_type)(context, builder)
        made.start, made.stop, made.first_row = tensor.start, tensor.stop, tensor.first_row
        made.base, made.values = builder.neg(tensor.first_row), args[1]
        if t.lod_level:
            made.levels = tensor.levels
        else:
            made.stop = builder.extract_value(context.make_array(values)(context, builder, args[1]).shape, 0)
        context.nrt.incref(builder, made_type, made._getvalue())
        return made._getvalue()

    return made_type(t, values), build
