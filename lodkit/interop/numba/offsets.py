"""Offsets and lengths of a LoDTensor in compiled code.

Loops over single entries: expressions of whole arrays would take Numba ten times as long to compile.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload, overload_method

from ...base.errors import LoDLevelError
from ...jit import jitable
from ...jit.private_numba import TrustedType, TypingError, splice
from .kinds import OFFSETS, TRUSTED, LoDTensorType
from .sequences import offset, rows_between


class NoLevel(LoDLevelError):
    """Raised by compiled code, with a level and the number of levels."""

    def __str__(self):
        level, count = self.args
        return f"level {level} does not exist: the tensor has lod_level {count}"


def _need_levels(kind):
    if not kind.lod_level:
        raise TypingError("this LoDTensor has lod_level 0, no offsets; attach lengths: LoDTensor(x, [[...]])")


@overload_method(LoDTensorType, "offsets", inline="always")
def offsets(t, level=-1, absolute=False):
    _need_levels(t)
    count = t.lod_level

    def offsets_of(t, level=-1, absolute=False):
        level = _checked_level(level, count)
        if absolute:
            return _places(t, level, count - 1, t._base)
        first = place(t, level, level, _range_of(t, level)[0])
        return _places(t, level, level, -first) if first else _entries(t, level)

    return offsets_of


@overload_method(LoDTensorType, "row_offsets", inline="always")
def row_offsets(t, level=-1):
    _need_levels(t)
    count = t.lod_level

    def row_offsets_of(t, level=-1):
        level = _checked_level(level, count)
        if level == count - 1 and t._first_row == 0:
            return _entries(t, level)
        return _places(t, level, count - 1, -t._first_row)

    return row_offsets_of


@overload_method(LoDTensorType, "lengths", inline="always")
def lengths(t, level=-1, absolute=False):
    _need_levels(t)
    count = t.lod_level

    def lengths_of(t, level=-1, absolute=False):
        level = _checked_level(level, count)
        return _differences(t, level, count - 1 if absolute else level)

    return lengths_of


def _copy_trusted(a):
    return (lambda a: a.copy()) if isinstance(a, TrustedType) else None


# Numba's own give the same memory a type that is written to. For this target, ours come first.
overload(np.ascontiguousarray, target="cpu")(_copy_trusted)
overload(np.asfortranarray, target="cpu")(_copy_trusted)


@overload(np.frombuffer, target="cpu")
def _from_buffer(buffer, dtype=float, count=-1, offset=0):
    if not isinstance(buffer, TrustedType):
        return None
    return lambda buffer, dtype=float, count=-1, offset=0: np.frombuffer(buffer.copy(), dtype, count, offset)


@jitable
def _places(t, level, below, shift):
    """Where each sequence of a level starts, and the last ends, in entries of level ``below``; plus ``shift``."""
    start, stop = _range_of(t, level)
    made = np.empty(stop - start + 1, np.int64)
    for i in range(len(made)):
        made[i] = place(t, level, below, start + i) + shift
    return _read_only(made)


@jitable
def _differences(t, level, below):
    start, stop = _range_of(t, level)
    made = np.empty(stop - start, np.int64)
    for i in range(len(made)):
        made[i] = place(t, level, below, start + i + 1) - place(t, level, below, start + i)
    return made


@splice
def _checked_level(level, count):
    if not -count <= level < count:
        raise NoLevel(level, count)
    return level % count


def _load(context, builder, tensor, level, at, wanted):
    """An offset of a level if ``wanted``, else ``at``; without a branch, so that nothing is read outside."""
    return builder.select(wanted, offset(context, builder, tensor, level, builder.select(wanted, at, at.type(0))), at)


@intrinsic
def place(typing, t, level, below, i):
    """What entry ``i`` of a level says, in entries of the level ``below`` or itself, unchecked."""

    def build(context, builder, signature, args):
        value, level, below, at = args
        tensor = cgutils.create_struct_proxy(t)(context, builder, value)
        for k in range(t.lod_level):
            between = (builder.icmp_signed(sign, x, x.type(k)) for sign, x in (("<=", level), (">=", below)))
            at = _load(context, builder, tensor, k, at, builder.and_(*between))
        return at

    return types.int64(t, types.int64, types.int64, types.int64), build


def _ends(context, builder, kind, tensor, level):
    """First and last entry of a level that belong to the tensor."""
    ends = [tensor.start, tensor.stop]
    for k in range(kind.lod_level - 1):
        above = builder.icmp_signed(">", level, level.type(k))
        ends = [_load(context, builder, tensor, k, end, above) for end in ends]
    return ends


@intrinsic
def _range_of(typing, t, level):
    """First and last entry of a level that belong to the tensor."""
    pair = types.UniTuple(types.int64, 2)

    def build(context, builder, signature, args):
        tensor = cgutils.create_struct_proxy(t)(context, builder, args[0])
        return context.make_tuple(builder, pair, _ends(context, builder, t, tensor, args[1]))

    return pair(t, types.int64), build


@intrinsic
def _entries(typing, t, level):
    """The offsets of a level that belong to the tensor, without a copy."""

    def build(context, builder, signature, args):
        tensor = cgutils.create_struct_proxy(t)(context, builder, args[0])
        first, last = _ends(context, builder, t, tensor, args[1])
        offsets = builder.load(cgutils.gep(builder, cgutils.alloca_once_value(builder, tensor.levels), 0, args[1]))
        made = rows_between(context, builder, OFFSETS, offsets, first, builder.add(last, last.type(1)))
        context.nrt.incref(builder, OFFSETS, made)
        return made

    return TRUSTED(t, types.int64), build


@intrinsic
def _read_only(typing, numbers):
    """The same array, of the type of those that are not copied."""

    def build(context, builder, signature, args):
        context.nrt.incref(builder, OFFSETS, args[0])
        return args[0]

    return TRUSTED(numbers), build
