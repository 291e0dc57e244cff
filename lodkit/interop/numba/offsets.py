"""Offsets and lengths of a LoDTensor in compiled code.

Loops over single entries: expressions of whole arrays would take Numba ten times as long to compile.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload_method

from ...jit import jitable
from ...jit.private_numba import TypingError
from .errors import NoLevel
from .kinds import OFFSETS, LoDTensorType
from .sequences import offset, rows_between


def _need_levels(kind):
    if not kind.lod_level:
        raise TypingError("this LoDTensor has lod_level 0, no offsets; attach lengths: LoDTensor(x, [[...]])")


@overload_method(LoDTensorType, "offsets")
def offsets(t, level=-1):
    _need_levels(t)
    count = t.lod_level

    def offsets_of(t, level=-1):
        level = _checked_level(level, count)
        start, stop = _range_of(t, level)
        first = _entry(t, level, start)
        if first == 0:
            return _entries(t, level, start, stop + 1)
        made = np.empty(stop - start + 1, np.int64)
        for i in range(len(made)):
            made[i] = _entry(t, level, start + i) - first
        return _read_only(made)

    return offsets_of


@overload_method(LoDTensorType, "row_offsets")
def row_offsets(t, level=-1):
    _need_levels(t)
    count = t.lod_level

    def row_offsets_of(t, level=-1):
        level = _checked_level(level, count)
        start, stop = _range_of(t, level)
        if level == count - 1 and t._first_row == 0:
            return _entries(t, level, start, stop + 1)
        made = np.empty(stop - start + 1, np.int64)
        for i in range(len(made)):
            made[i] = row_at(t, level, start + i) - t._first_row
        return _read_only(made)

    return row_offsets_of


@overload_method(LoDTensorType, "lengths")
def lengths(t, level=-1, absolute=False):
    _need_levels(t)
    count = t.lod_level

    def lengths_of(t, level=-1, absolute=False):
        level = _checked_level(level, count)
        start, stop = _range_of(t, level)
        made = np.empty(stop - start, np.int64)
        for i in range(len(made)):
            if absolute:
                made[i] = row_at(t, level, start + i + 1) - row_at(t, level, start + i)
            else:
                made[i] = _entry(t, level, start + i + 1) - _entry(t, level, start + i)
        return made

    return lengths_of


@jitable
def _checked_level(level, count):
    if not -count <= level < count:
        raise NoLevel(level, count)
    return level % count


def _load(context, builder, tensor, level, at, wanted):
    """An offset of a level if ``wanted``, else ``at``; without a branch, so that nothing is read outside."""
    return builder.select(wanted, offset(context, builder, tensor, level, builder.select(wanted, at, at.type(0))), at)


@intrinsic
def row_at(typing, t, level, i):
    """Row at which entry ``i`` of a level starts, in the innermost offsets."""

    def build(context, builder, signature, args):
        value, level, at = args
        tensor = cgutils.create_struct_proxy(t)(context, builder, value)
        for k in range(t.lod_level):
            at = _load(context, builder, tensor, k, at, builder.icmp_signed("<=", level, level.type(k)))
        return at

    return types.int64(t, types.int64, types.int64), build


@intrinsic
def _range_of(typing, t, level):
    """First and last entry of a level that belong to the tensor."""
    pair = types.UniTuple(types.int64, 2)

    def build(context, builder, signature, args):
        value, level = args
        tensor = cgutils.create_struct_proxy(t)(context, builder, value)
        ends = [tensor.start, tensor.stop]
        for k in range(t.lod_level - 1):
            above = builder.icmp_signed(">", level, level.type(k))
            ends = [_load(context, builder, tensor, k, end, above) for end in ends]
        return context.make_tuple(builder, pair, ends)

    return pair(t, types.int64), build


def _level(context, builder, kind, value, level):
    """Offsets of a level whose number is known when the code runs."""
    tensor = cgutils.create_struct_proxy(kind)(context, builder, value)
    return builder.load(cgutils.gep(builder, cgutils.alloca_once_value(builder, tensor.levels), 0, level))


@intrinsic
def _entry(typing, t, level, i):
    """Entry ``i`` of the offsets of a level, unchecked."""

    def build(context, builder, signature, args):
        array = context.make_array(OFFSETS)(context, builder, _level(context, builder, t, *args[:2]))
        return builder.load(builder.gep(array.data, [args[2]]))

    return types.int64(t, types.int64, types.int64), build


@intrinsic
def _entries(typing, t, level, start, stop):
    """Entries ``start:stop`` of the offsets of a level, without a copy."""

    def build(context, builder, signature, args):
        made = rows_between(context, builder, OFFSETS, _level(context, builder, t, *args[:2]), *args[2:])
        context.nrt.incref(builder, OFFSETS, made)
        return made

    return OFFSETS(t, types.int64, types.int64, types.int64), build


@intrinsic
def _read_only(typing, numbers):
    """The same array, of a read-only type."""

    def build(context, builder, signature, args):
        context.nrt.incref(builder, OFFSETS, args[0])
        return args[0]

    return OFFSETS(numbers), build
