"""Attributes and methods of LoDTensor and SelectedRows in compiled code: those of Python, with the same results."""

from __future__ import annotations

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload, overload_attribute, overload_method

from ...jit.private_numba import TypingError, wrap_attribute
from .errors import NoLevel, OtherRowCount
from .kinds import OFFSETS, LoDTensorType, SelectedRowsType, need_values

for _name in ("start", "stop", "first_row", "levels"):
    wrap_attribute(LoDTensorType, _name, f"_{_name}")
wrap_attribute(LoDTensorType, "values", "_values")
for _name in ("rows", "value", "height", "is_merged"):
    wrap_attribute(SelectedRowsType, _name, _name)


def _need_levels(kind):
    if not kind.lod_level:
        raise TypingError("this LoDTensor has lod_level 0, no offsets; attach lengths: LoDTensor(x, [[...]])")


# -- attributes ----------------------------------------------------------------------------------


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
    return lambda t: (t.row_offsets(0)[-1],)


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


# -- offsets -------------------------------------------------------------------------------------


@overload_method(LoDTensorType, "offsets")
def offsets(t, level=-1):
    _need_levels(t)
    count = t.lod_level

    def offsets_of(t, level=-1):
        if not -count <= level < count:
            raise NoLevel(level, count)
        start, stop = t._start, t._stop
        for above in range(level % count):
            start, stop = t._levels[above][start], t._levels[above][stop]
        numbers = t._levels[level][start : stop + 1]
        return _frozen(numbers if numbers[0] == 0 else numbers - numbers[0])

    return offsets_of


@overload_method(LoDTensorType, "row_offsets")
def row_offsets(t, level=-1):
    _need_levels(t)
    count = t.lod_level

    def row_offsets_of(t, level=-1):
        if not -count <= level < count:
            raise NoLevel(level, count)
        rows = t.offsets(level)
        for below in range(level % count + 1, count):
            rows = _frozen(t.offsets(below)[rows])
        return rows

    return row_offsets_of


@overload_method(LoDTensorType, "lengths")
def lengths(t, level=-1, absolute=False):
    _need_levels(t)

    def lengths_of(t, level=-1, absolute=False):
        ends = t.row_offsets(level) if absolute else t.offsets(level)
        return ends[1:] - ends[:-1]

    return lengths_of


@intrinsic
def _frozen(typing, numbers):
    """The same array, of a read-only type."""

    def build(context, builder, signature, args):
        context.nrt.incref(builder, OFFSETS, args[0])
        return args[0]

    return OFFSETS(numbers), build


# -- making --------------------------------------------------------------------------------------


@overload_method(LoDTensorType, "with_values")
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
