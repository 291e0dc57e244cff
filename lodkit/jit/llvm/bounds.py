"""Bounds of explicit loads, stores and copies: checked where Numba checks indices (NUMBA_BOUNDSCHECK=1).

Numba's flag is part of the names of cache entries. Prefetches may leave their array.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils

_I64 = ir.IntType(64)


def check_lanes(context, builder, array_type, args, count):
    """Raise an IndexError unless ``array[i, j : j + count]`` lies in the array; ``args`` are array, i, j."""
    if not context.enable_boundscheck:
        return
    count = _widen(builder, _I64(count) if isinstance(count, int) else count)
    shape = cgutils.unpack_tuple(builder, context.make_array(array_type)(context, builder, args[0]).shape)
    i, j = (_widen(builder, x) for x in args[1:3])
    with builder.if_then(builder.icmp_signed(">", count, _I64(0))):
        cgutils.do_boundscheck(context, builder, i, shape[0], 0)
        for lane in (j, builder.add(j, builder.sub(count, _I64(1)))):
            cgutils.do_boundscheck(context, builder, lane, shape[1], 1)


def check_bytes(context, builder, array_type, array, at, count):
    """Raise an IndexError unless the ``count`` bytes from ``at`` on, none or more, lie in a contiguous array."""
    if not context.enable_boundscheck:
        return
    made = context.make_array(array_type)(context, builder, array)
    size = builder.mul(made.nitems, made.itemsize)
    with cgutils.if_unlikely(builder, builder.icmp_signed("<", count, _I64(0))):
        context.call_conv.return_user_exc(builder, IndexError, ("a negative number of bytes",))
    with builder.if_then(builder.icmp_signed(">", count, _I64(0))):
        for place in (at, builder.add(at, builder.sub(count, _I64(1)))):
            cgutils.do_boundscheck(context, builder, place, size)


def _widen(builder, x):
    return builder.sext(x, _I64) if x.type.width < 64 else x
