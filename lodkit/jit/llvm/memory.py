"""LLVM side of simd.py: copying bytes, through the caches and past them, and prefetching cache lines."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .bounds import check_bytes
from .vectors import LINE_BYTES, pointer_to

BYTE, I32, I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
L2 = 2  # LLVM's number of the second-level cache; 3 is the first


def _pointers(context, builder, signature, args):
    """Destination and source of ``copy(out, i, source, j, count)``."""
    for kind, array, at in zip(signature.args[:4:2], args[:4:2], args[1:4:2], strict=True):
        check_bytes(context, builder, kind, array, at, args[4])
        data = context.make_array(kind)(context, builder, array).data
        yield builder.gep(builder.bitcast(data, BYTE.as_pointer()), [at])


@intrinsic
def copy(typing, out, i, source, j, count):
    def generate(context, builder, signature, args):
        to, start = _pointers(context, builder, signature, args)
        cgutils.raw_memcpy(builder, to, start, args[4], 1)
        return context.get_dummy_value()

    return types.void(out, types.int64, source, types.int64, types.int64), generate


@intrinsic
def stream(typing, out, i, source, j, count):
    def generate(context, builder, signature, args):
        count = args[4]
        to, start = _pointers(context, builder, signature, args)
        before = builder.and_(builder.neg(builder.ptrtoint(to, I64)), I64(LINE_BYTES - 1))
        before = builder.select(builder.icmp_signed("<", before, count), before, count)
        lines = builder.and_(builder.sub(count, before), I64(-LINE_BYTES))
        behind = builder.add(before, lines)
        cgutils.raw_memcpy(builder, to, start, before, 1)
        with cgutils.for_range_slice(builder, before, behind, I64(LINE_BYTES), inc=True) as (at, _):
            _line(builder, builder.gep(to, [at]), builder.gep(start, [at]))
        rest = builder.sub(count, behind)
        cgutils.raw_memcpy(builder, builder.gep(to, [behind]), builder.gep(start, [behind]), rest, 1)
        return context.get_dummy_value()

    return types.void(out, types.int64, source, types.int64, types.int64), generate


def _line(builder, to, start):
    line = ir.VectorType(BYTE, LINE_BYTES).as_pointer()
    value = builder.load(builder.bitcast(start, line))
    value.align = 1
    stored = builder.store(value, builder.bitcast(to, line))
    # Non-temporal stores must fill whole lines.
    stored.align = LINE_BYTES
    stored.set_metadata("nontemporal", builder.module.add_metadata([I32(1)]))


@intrinsic
def store_fence(typing):
    def generate(context, builder, signature, args):
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), generate


def _fetch(builder, where, level=L2):
    """Prefetch the line of an address."""
    kind = ir.FunctionType(ir.VoidType(), [where.type, I32, I32, I32])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(function, [where, I32(0), I32(level), I32(1)])


@intrinsic
def prefetch(typing, array, i, j, size):
    def generate(context, builder, signature, args):
        start = pointer_to(context, builder, array, *args[:3], BYTE)
        with cgutils.for_range_slice(builder, I64(0), args[3], I64(LINE_BYTES), inc=True) as (at, _):
            _fetch(builder, builder.gep(start, [at]))
        _fetch(builder, builder.gep(start, [builder.sub(args[3], I64(1))]))
        return context.get_dummy_value()

    return types.void(array, i, j, types.int64), generate


@intrinsic(prefer_literal=True)
def prefetch_lanes(typing, array, i, j, width, astride, level):
    size, lines = width.literal_value * array.dtype.bitwidth // 8, level.literal_value

    def generate(context, builder, signature, args):
        start = pointer_to(context, builder, array, *args[:3], BYTE)
        for at in range(0, size, LINE_BYTES):
            _fetch(builder, builder.gep(start, [I64(at)]), lines)
        # With a test for the ends in a line, bags of 8 and 16 columns take 1.15 of the time (znver5).
        if astride.literal_value and size <= 2 * LINE_BYTES:
            _fetch(builder, builder.gep(start, [I64(size - 1)]), lines)
        elif astride.literal_value:
            with builder.if_then(_astride(builder, context.make_array(array)(context, builder, args[0]), size)):
                _fetch(builder, builder.gep(start, [I64(size - 1)]), lines)
        return context.get_dummy_value()

    return types.void(array, i, j, width, astride, level), generate


@intrinsic(prefer_literal=True)
def prefetch_alternate(typing, array, i, j, width, level):
    size, lines = width.literal_value * array.dtype.bitwidth // 8, level.literal_value

    def generate(context, builder, signature, args):
        start = pointer_to(context, builder, array, *args[:3], BYTE)
        for at in range(0, size, 2 * LINE_BYTES):
            _fetch(builder, builder.gep(start, [I64(at)]), lines)
        return context.get_dummy_value()

    return types.void(array, i, j, width, level), generate


def _astride(builder, array, size):
    """Whether rows of so many bytes may end in another cache line than they begin in: a condition for all rows. Parts
    of rows begin at multiples of their size, but for packed rows, whose stride is seldom aligned.
    """
    aligned = min(LINE_BYTES, 1 << (size - 1).bit_length())
    stride = cgutils.unpack_tuple(builder, array.strides)[0]
    bits = builder.and_(builder.or_(builder.ptrtoint(array.data, I64), stride), I64(aligned - 1))
    return builder.icmp_signed("!=", bits, I64(0))
