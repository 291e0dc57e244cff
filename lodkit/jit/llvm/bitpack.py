"""LLVM side of simd.py: codes of a few bits, packed into bytes."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..private_numba import converts_halves
from . import halves
from .bounds import check_lanes
from .vectors import Vector, pointer_to, shuffled


def _each(vector, number):
    return ir.Constant(vector, [number] * vector.count)


@intrinsic(prefer_literal=True)
def load_codes(typing, rows, i, j, size, bits):
    size, bits = size.literal_value, bits.literal_value
    lanes = Vector(types.float32, size * 8 // bits)

    def generate(context, builder, signature, args):
        bytes_, words = ir.VectorType(ir.IntType(8), size), ir.VectorType(ir.IntType(32), size)
        check_lanes(context, builder, rows, args, size)
        packed = builder.load(pointer_to(context, builder, rows, *args[:3], bytes_))
        packed.align = 1
        packed = builder.zext(packed, words)
        parts = []
        for shift in range(0, 8, bits):
            part = builder.lshr(packed, _each(words, shift)) if shift else packed
            part = builder.and_(part, _each(words, 2**bits - 1)) if bits < 8 else part
            parts.append(builder.sitofp(part, ir.VectorType(ir.FloatType(), size)))
        while len(parts) > 1:
            both = range(2 * parts[0].type.count)
            parts = [shuffled(builder, *parts[k : k + 2], list(both)) for k in range(0, len(parts), 2)]
        return parts[0]

    return lanes(rows, i, j, types.literal(size), types.literal(bits)), generate


@intrinsic(prefer_literal=True)
def store_codes(typing, rows, i, j, codes, bits):
    bits = bits.literal_value
    size = codes.width * bits // 8

    def generate(context, builder, signature, args):
        words = ir.VectorType(ir.IntType(32), size)
        numbers = builder.fptosi(args[3], ir.VectorType(ir.IntType(32), codes.width))
        packed = ir.Constant(words, None)
        for k in range(8 // bits):
            part = shuffled(builder, numbers, numbers, list(range(k * size, (k + 1) * size)))
            packed = builder.or_(packed, builder.shl(part, _each(words, k * bits)))
        bytes_ = ir.VectorType(ir.IntType(8), size)
        check_lanes(context, builder, rows, args, size)
        where = pointer_to(context, builder, rows, *args[:3], bytes_)
        builder.store(builder.trunc(packed, bytes_), where).align = 1
        return context.get_dummy_value()

    return types.void(rows, i, j, codes, types.literal(bits)), generate


@intrinsic(prefer_literal=True)
def transpose(typing, a, rows):
    rows = rows.literal_value
    columns = a.width // rows

    def generate(context, builder, signature, args):
        return shuffled(builder, args[0], args[0], [r * columns + c for c in range(columns) for r in range(rows)])

    return a(a, types.literal(rows)), generate


@intrinsic
def half(typing, a):
    def generate(context, builder, signature, args):
        native, result = converts_halves(context), args[0]
        if not native:
            return halves.widened(builder, halves.rounded(builder, result, native), native)
        for k in range(a.width):  # one by one: NVVM compiles no vectors of halves
            lane = builder.extract_element(args[0], ir.IntType(32)(k))
            lane = builder.fpext(builder.fptrunc(lane, ir.HalfType()), ir.FloatType())
            result = builder.insert_element(result, lane, ir.IntType(32)(k))
        return result

    return a(a), generate
