"""LLVM side of simd.py: codes of a few bits, packed into bytes."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ..private_numba import converts_halves, fuses, permutes
from . import halves
from .bounds import check_lanes
from .vectors import SINGLE_VECTOR_LANES, Vector, convert, pointer_to, shuffle, splat

WORD = ir.IntType(32)


def _splat(vector, number):
    return ir.Constant(vector, [number] * vector.count)


def _fma(context, builder, codes, scale, bias):
    """Multiply and add with one rounding, where the target has it.

    Of a product and a sum LLVM makes two roundings if it moves a shuffle between them.
    """
    scale, bias = (splat(builder, number, codes.type.count) for number in (scale, bias))
    if fuses(context):
        kind = ir.FunctionType(codes.type, [codes.type] * 3)
        name = f"llvm.fma.v{codes.type.count}f32"
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [codes, scale, bias])
    return builder.fadd(builder.fmul(codes, scale), bias)


def _decode_by_table(context, builder, words, bits, scale, bias):
    """Numbers of the lowest bits of words, from a table of all that there are: 16 at most, which one fma makes.

    Bags of 4 bits in the caches take 0.9 of the time of ``_decode_by_formula``, of 2 bits 0.85 (znver5).
    """
    lanes = ir.VectorType(ir.FloatType(), SINGLE_VECTOR_LANES)
    table = _fma(context, builder, ir.Constant(lanes, [k % 2**bits for k in range(SINGLE_VECTOR_LANES)]), scale, bias)
    kind = ir.FunctionType(lanes, [lanes, ir.VectorType(WORD, SINGLE_VECTOR_LANES)])
    permute = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx512.permvar.sf.512")
    return _concatenate(builder, [builder.call(permute, [table, word]) for word in words])


def _decode_by_formula(context, builder, words, bits, scale, bias):
    """The same by arithmetic."""
    parts = [builder.and_(word, _splat(word.type, 2**bits - 1)) if bits < 8 else word for word in words]
    codes = [builder.sitofp(part, ir.VectorType(ir.FloatType(), part.type.count)) for part in parts]
    return _fma(context, builder, _concatenate(builder, codes), scale, bias)


def _concatenate(builder, parts):
    while len(parts) > 1:
        both = range(2 * parts[0].type.count)
        parts = [shuffle(builder, *parts[k : k + 2], list(both)) for k in range(0, len(parts), 2)]
    return parts[0]


def _words(context, builder, rows, args, size):
    """Bytes, each in a word: vectors of at most 16."""
    check_lanes(context, builder, rows, args, size)
    start = pointer_to(context, builder, rows, *args[:3], ir.IntType(8))
    for at in range(0, size, SINGLE_VECTOR_LANES):
        kind = ir.VectorType(ir.IntType(8), min(SINGLE_VECTOR_LANES, size - at))
        packed = builder.load(builder.bitcast(builder.gep(start, [WORD(at)]), kind.as_pointer()))
        packed.align = 1
        yield builder.zext(packed, ir.VectorType(WORD, kind.count))


@intrinsic(prefer_literal=True)
def load_packed(typing, rows, i, j, size, bits, scale, bias):
    size, bits = size.literal_value, bits.literal_value
    lanes = Vector(types.float32, size * 8 // bits)

    def generate(context, builder, signature, args):
        line = (context.cast(builder, args[k], signature.args[k], types.float32) for k in (5, 6))
        words = [*_words(context, builder, rows, args, size)]
        shifted = [
            builder.lshr(word, _splat(word.type, shift)) if shift else word
            for shift in range(0, 8, bits)
            for word in words
        ]
        by_table = bits < 8 and size % SINGLE_VECTOR_LANES == 0 and permutes(context)
        return (_decode_by_table if by_table else _decode_by_formula)(context, builder, shifted, bits, *line)

    return lanes(rows, i, j, types.literal(size), types.literal(bits), scale, bias), generate


@intrinsic(prefer_literal=True)
def load_params(typing, rows, i, j, bits):
    memory, size = (ir.IntType(16), 2) if bits.literal_value < 8 else (ir.FloatType(), 4)

    def generate(context, builder, signature, args):
        check_lanes(context, builder, rows, args, 2 * size)
        start = pointer_to(context, builder, rows, *args[:3], memory)
        pair = ir.Constant(ir.VectorType(memory, 2), ir.Undefined)
        # Scalars, which instructions broadcast as they load them.
        for k in range(2):
            value = builder.load(builder.gep(start, [WORD(k)]))
            value.align = 1
            pair = builder.insert_element(pair, value, WORD(k))
        return convert(context, builder, pair, ir.VectorType(ir.FloatType(), 2))

    return Vector(types.float32, 2)(rows, i, j, bits), generate


@intrinsic(prefer_literal=True)
def store_codes(typing, rows, i, j, codes, bits):
    bits = bits.literal_value
    size = codes.width * bits // 8

    def generate(context, builder, signature, args):
        words = ir.VectorType(WORD, size)
        numbers = builder.fptosi(args[3], ir.VectorType(WORD, codes.width))
        packed = ir.Constant(words, None)
        for k in range(8 // bits):
            part = shuffle(builder, numbers, numbers, list(range(k * size, (k + 1) * size)))
            packed = builder.or_(packed, builder.shl(part, _splat(words, k * bits)))
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
        return shuffle(builder, args[0], args[0], [r * columns + c for c in range(columns) for r in range(rows)])

    return a(a, types.literal(rows)), generate


@intrinsic
def half(typing, a):
    def generate(context, builder, signature, args):
        native, result = converts_halves(context), args[0]
        if not native:
            return halves.widen_halves(builder, halves.round_to_halves(builder, result, native), native)
        # One by one: NVVM compiles no vectors of halves.
        for k in range(a.width):
            lane = builder.extract_element(args[0], WORD(k))
            lane = builder.fpext(builder.fptrunc(lane, ir.HalfType()), ir.FloatType())
            result = builder.insert_element(result, lane, WORD(k))
        return result

    return a(a), generate
