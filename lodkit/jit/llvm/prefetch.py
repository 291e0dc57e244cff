"""LLVM side of simd.py: prefetching cache lines."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .intrinsics import _pointer

BYTE, I32, I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)


def _fetch(builder, where):
    """Prefetch the line of an address into the second-level cache."""
    kind = ir.FunctionType(ir.VoidType(), [where.type, I32, I32, I32])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(function, [where, I32(0), I32(2), I32(1)])


def _prefetch(unaligned):
    """Prefetch ``size`` bytes of row i. The last part of an ``unaligned`` row spans one extra line."""

    @intrinsic
    def run(typing, array, i, j, size):
        def generate(context, builder, signature, args):
            start = _pointer(context, builder, array, *args[:3], BYTE)
            with cgutils.for_range_slice(builder, I64(0), args[3], I64(64), inc=True) as (at, _):
                _fetch(builder, builder.gep(start, [at]))
            if unaligned:
                width = cgutils.unpack_tuple(builder, context.make_array(array)(context, builder, args[0]).shape)[1]
                behind = _pointer(context, builder, array, args[0], args[1], width, BYTE)
                end = builder.gep(start, [args[3]])
                last = builder.icmp_unsigned(">=", end, behind)
                _fetch(builder, builder.select(last, builder.gep(end, [I64(-1)]), start))
            return context.get_dummy_value()

        return types.void(array, i, j, types.int64), generate

    return run


prefetch, prefetch_lines = _prefetch(True), _prefetch(False)
