"""LLVM side of simd.py: copying bytes, through the caches and past them."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LINE = 64  # bytes of a cache line; non-temporal stores must fill whole lines


def _pointers(context, builder, signature, args):
    """Destination and source of ``copy(out, i, source, j, count)``."""
    for kind, array, at in zip(signature.args[:4:2], args[:4:2], args[1:4:2], strict=True):
        data = context.make_array(kind)(context, builder, array).data
        yield builder.gep(builder.bitcast(data, ir.IntType(8).as_pointer()), [at])


@intrinsic
def copy(typing, out, i, source, j, count):
    def generate(context, builder, signature, args):
        cgutils.raw_memcpy(builder, *_pointers(context, builder, signature, args), args[4], 1)
        return context.get_dummy_value()

    return types.void(out, types.int64, source, types.int64, types.int64), generate


@intrinsic
def stream(typing, out, i, source, j, count):
    def generate(context, builder, signature, args):
        i64, count = ir.IntType(64), args[4]
        to, start = _pointers(context, builder, signature, args)
        before = builder.and_(builder.neg(builder.ptrtoint(to, i64)), i64(LINE - 1))
        before = builder.select(builder.icmp_signed("<", before, count), before, count)
        lines = builder.and_(builder.sub(count, before), i64(-LINE))
        behind = builder.add(before, lines)
        cgutils.raw_memcpy(builder, to, start, before, 1)
        with cgutils.for_range_slice(builder, before, behind, i64(LINE), inc=True) as (at, _):
            _line(builder, builder.gep(to, [at]), builder.gep(start, [at]))
        rest = builder.sub(count, behind)
        cgutils.raw_memcpy(builder, builder.gep(to, [behind]), builder.gep(start, [behind]), rest, 1)
        return context.get_dummy_value()

    return types.void(out, types.int64, source, types.int64, types.int64), generate


def _line(builder, to, start):
    line = ir.VectorType(ir.IntType(8), LINE).as_pointer()
    value = builder.load(builder.bitcast(start, line))
    value.align = 1
    stored = builder.store(value, builder.bitcast(to, line))
    stored.align = LINE
    stored.set_metadata("nontemporal", builder.module.add_metadata([ir.IntType(32)(1)]))


@intrinsic
def settle(typing):
    def generate(context, builder, signature, args):
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), generate
