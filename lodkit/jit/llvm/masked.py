"""LLVM side of simd.py: masked loads and stores of the first lanes of a vector."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .intrinsics import _bits, _convert, _lanes, _of, _pointer, _splat


def _first(context, builder, array, args, width, count):
    """Arguments of a masked load or store of the first ``count`` lanes; halves move as their bits."""
    memory, align = _lanes(context, builder, array, width)
    bits = ir.VectorType(ir.IntType(16), width) if isinstance(memory.element, ir.HalfType) else memory
    lanes = ir.Constant(ir.VectorType(ir.IntType(64), width), list(range(width)))
    there = builder.icmp_signed("<", lanes, _splat(builder, count, width))
    number = "i" if isinstance(bits.element, ir.IntType) else "f"
    name = f"v{width}{number}{_bits(bits.element)}.p0"
    return memory, bits, _pointer(context, builder, array, *args[:3], bits), ir.IntType(32)(align), there, name


@intrinsic(prefer_literal=True)
def load_first(typing, array, i, j, width, count, rest):
    vector = _of(array, width.literal_value)

    def generate(context, builder, signature, args):
        memory, bits, *where, name = _first(context, builder, array, args, vector.width, args[4])
        nothing = ir.Constant(bits, None)
        kind = ir.FunctionType(bits, [x.type for x in (*where, nothing)])
        call = cgutils.get_or_insert_function(builder.module, kind, f"llvm.masked.load.{name}")
        value = builder.call(call, [*where, nothing])
        value = _convert(builder, builder.bitcast(value, memory), context.get_value_type(vector))
        other = context.cast(builder, args[5], signature.args[5], vector.dtype)
        return builder.select(where[2], value, _splat(builder, other, vector.width))

    return vector(array, i, j, width, types.int64, rest), generate


@intrinsic
def store_first(typing, array, i, j, vector, count):
    def generate(context, builder, signature, args):
        memory, bits, *where, name = _first(context, builder, array, args, vector.width, args[4])
        value = builder.bitcast(_convert(builder, args[3], memory), bits)
        kind = ir.FunctionType(ir.VoidType(), [x.type for x in (value, *where)])
        call = cgutils.get_or_insert_function(builder.module, kind, f"llvm.masked.store.{name}")
        builder.call(call, [value, *where])
        return context.get_dummy_value()

    return types.void(array, i, j, vector, types.int64), generate
