"""Sequences of a LoDTensor in compiled code: ``t[i]``, ``for sequence in t``. They share memory and keep it alive.

A sequence is a view with a reference to its owner, so it may outlive the tensor. References are counted where LLVM can
see both ends and drop the pair: in a loop that only reads the sequence, nothing is counted.
"""

from __future__ import annotations

import functools
import operator

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, lower_builtin, overload, type_callable

from ...base.errors import RowIndexError
from ...jit.private_numba import TypingError, copy_pointer, next_item, raise_with
from .kinds import OFFSETS, LoDTensorType, SequencesType


class NoSequence(RowIndexError):
    """Raised by compiled code, with an index and the number of sequences."""

    def __str__(self):
        index, count = self.args
        return f"sequence index {index} is out of range for {count} sequences (level 0)"


def offset(context, builder, tensor, level, at):
    """Load an offset of a level."""
    offsets = context.make_array(OFFSETS)(context, builder, builder.extract_value(tensor.levels, level))
    return builder.load(builder.gep(offsets.data, [at]))


def rows_between(context, builder, kind, values, start, stop):
    """A view of rows of an array, without a reference counted."""
    source = context.make_array(kind)(context, builder, values)
    shape, strides = cgutils.unpack_tuple(builder, source.shape), cgutils.unpack_tuple(builder, source.strides)
    view = context.make_array(kind)(context, builder)
    view.data = cgutils.pointer_add(builder, source.data, builder.mul(start, strides[0]), source.data.type)
    shape[0] = builder.sub(stop, start)
    view.shape = cgutils.pack_array(builder, shape)
    view.strides, view.itemsize, view.nitems = source.strides, source.itemsize, functools.reduce(builder.mul, shape)
    view.meminfo, view.parent = copy_pointer(builder, source.meminfo), source.parent
    return view._getvalue()


def _count_references(context, builder, offsets):
    """An array of offsets whose references are counted apart from those of the tensor that it comes from."""
    made = context.make_array(OFFSETS)(context, builder, offsets)
    made.meminfo = copy_pointer(builder, made.meminfo)
    return made._getvalue()


def part(context, builder, kind, tensor, start, stop, levels):
    """Entries ``start:stop`` of the outermost of the last levels, without a reference counted.

    An array if ``levels`` is 0, else a LoDTensor.
    """
    below = range(kind.lod_level - levels, kind.lod_level)
    first_row, last_row = start, stop
    for level in below:
        first_row, last_row = (offset(context, builder, tensor, level, at) for at in (first_row, last_row))
    if kind.has_values:
        here = [builder.sub(row, tensor.first_row) for row in (first_row, last_row)]
        values = rows_between(context, builder, kind.values, tensor.values, *here)
        if not levels:
            return values
    made_type = kind if levels == kind.lod_level else kind.item
    made = cgutils.create_struct_proxy(made_type)(context, builder)
    made.start, made.stop, made.first_row, made.base = start, stop, first_row, tensor.base
    kept = cgutils.unpack_tuple(builder, tensor.levels)[below.start :]
    kept = [_count_references(context, builder, offsets) for offsets in kept]
    made.levels = context.make_tuple(builder, made_type.levels, kept)
    if kind.has_values:
        made.values = values
    return made._getvalue()


def sequence(context, builder, kind, tensor, start, stop):
    """What lies between two entries of the outermost offsets, without a reference counted: an array, or a LoDTensor."""
    ends = (offset(context, builder, tensor, 0, at) for at in (start, stop))
    return part(context, builder, kind, tensor, *ends, kind.lod_level - 1)


@type_callable(operator.getitem)
def type_of_item(context):
    def item_type(t, i):
        if not isinstance(t, LoDTensorType) or isinstance(i, types.SliceType):
            return None
        if not isinstance(i, types.Integer):
            raise TypingError(f"compiled code takes t[i] by an integer or a range a:b, not by {i}")
        integer = types.int64 if i.signed else types.uint64
        if t.lod_level:
            return t.item(t, integer)
        return context.resolve_function_type(operator.getitem, (t.values, integer), {}).return_type(t, integer)

    return item_type


@lower_builtin(operator.getitem, LoDTensorType, types.Integer)
def item(context, builder, signature, args):
    """``t[i]``: no reference is counted before the check, so that LLVM sees the pair of the sequence whole."""
    kind, integer = signature.args
    tensor = cgutils.create_struct_proxy(kind)(context, builder, args[0])
    count = builder.sub(tensor.stop, tensor.start)
    at = args[1]
    if integer.signed:
        at = builder.select(builder.icmp_signed("<", at, at.type(0)), builder.add(at, count), at)
    with builder.if_then(builder.icmp_unsigned(">=", at, count), likely=False):
        raise_with(context, builder, NoSequence, (args[1], count), (integer, types.int64))
    if not kind.lod_level:
        by_row = signature.return_type(kind.values, integer)
        return context.get_function(operator.getitem, by_row)(builder, (tensor.values, at))
    start = builder.add(tensor.start, at)
    made = sequence(context, builder, kind, tensor, start, builder.add(start, context.get_constant(integer, 1)))
    context.nrt.incref(builder, kind.item, made)
    return made


@overload(operator.getitem)
def batch(t, i):
    """``t[a:b]``, for a tensor with levels."""
    if not isinstance(t, LoDTensorType) or not isinstance(i, types.SliceType):
        return None
    if i.has_step or not t.lod_level:
        raise TypingError("compiled code takes t[a:b] without a step, of a LoDTensor with levels; or use t.values[a:b]")

    def sequences_between(t, i):
        start, stop, _ = i.indices(len(t))
        return _slice_between(t, start, max(start, stop))

    return sequences_between


@intrinsic
def _slice_between(typing, t, start, stop):
    def build(context, builder, signature, args):
        tensor = cgutils.create_struct_proxy(t)(context, builder, args[0])
        ends = (builder.add(tensor.start, at) for at in args[1:])
        made = part(context, builder, t, tensor, *ends, t.lod_level)
        context.nrt.incref(builder, t, made)
        return made

    return t(t, types.int64, types.int64), build


@lower_builtin("getiter", LoDTensorType)
def iterate(context, builder, signature, args):
    (kind,) = signature.args
    if not kind.lod_level:
        tensor = cgutils.create_struct_proxy(kind)(context, builder, args[0])
        return context.get_function("getiter", signature.return_type(kind.values))(builder, (tensor.values,))
    sequences = context.make_helper(builder, signature.return_type)
    sequences.tensor = args[0]
    start = cgutils.create_struct_proxy(kind)(context, builder, args[0]).start
    sequences.at = cgutils.alloca_once_value(builder, start)
    context.nrt.incref(builder, kind, args[0])
    return sequences._getvalue()


@lower_builtin("iternext", SequencesType)
@next_item
def advance(context, builder, signature, args, result):
    """Yield the next sequence; behind the last an empty one, so that its reference is counted without a branch.

    LLVM drops the counting of a reference only where every way through the loop gives it back.
    """
    (kind,) = signature.args
    sequences = context.make_helper(builder, kind, args[0])
    tensor = cgutils.create_struct_proxy(kind.tensor)(context, builder, sequences.tensor)
    at = builder.load(sequences.at)
    more = builder.icmp_signed("<", at, tensor.stop)
    following = builder.add(at, builder.zext(more, at.type))
    made = sequence(context, builder, kind.tensor, tensor, at, following)
    context.nrt.incref(builder, kind.tensor.item, made)
    builder.store(following, sequences.at)
    result.set_valid(more)
    result.yield_(made)
