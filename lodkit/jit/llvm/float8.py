"""LLVM side of simd.py: float8, as bytes in memory, to floats and back.

They are widened through float16, by whose instructions subnormal numbers cost nothing and keep their bits whatever the
flags of the CPU are; where a target has none for vectors, by integer operations and one product.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ...base.float8 import FLOAT8, NAN_BYTE
from ..private_numba import converts_halves
from .vectors import Vector, join, parts_of, pieces_at

BYTE, WORD, FLOAT = ir.IntType(8), ir.IntType(32), ir.FloatType()


def _number(like, value):
    return ir.Constant(like.type, [value] * like.type.count)


def _as(builder, vector, lane):
    return builder.bitcast(vector, ir.VectorType(lane, vector.type.count))


def widen_by_halves(builder, packed, form):
    """The floats of bytes, through float16: e5m2 are its upper halves, e4m3fn have a smaller exponent."""
    count, shift = packed.type.count, 10 - form.mantissa
    bits = builder.sext(packed, ir.VectorType(ir.IntType(16), count))
    bits = builder.shl(bits, _number(bits, shift))
    if form.bias == 15:
        return builder.fpext(_as(builder, bits, ir.HalfType()), ir.VectorType(FLOAT, count))
    # The sign was extended into the exponent's upper bit.
    bits = builder.and_(bits, _number(bits, 0xBFFF))
    nan = _number(bits, NAN_BYTE << shift)
    is_nan = builder.icmp_unsigned("==", builder.and_(bits, _number(bits, 0x3FFF)), nan)
    bits = builder.or_(bits, builder.and_(builder.sext(is_nan, bits.type), _number(bits, 0x7C00)))
    numbers = builder.fpext(_as(builder, bits, ir.HalfType()), ir.VectorType(FLOAT, count))
    return builder.fmul(numbers, _number(numbers, 2.0 ** (15 - form.bias)))


def widen_by_words(builder, packed, form):
    """The floats of bytes, by their bits in words; the product of exponents is exact, of subnormal numbers too."""
    words = builder.zext(packed, ir.VectorType(WORD, packed.type.count))
    sign = builder.shl(builder.and_(words, _number(words, 0x80)), _number(words, 24))
    size = builder.shl(builder.and_(words, _number(words, 0x7F)), _number(words, 23 - form.mantissa))
    scaled = _as(builder, size, FLOAT)
    scaled = builder.fmul(scaled, _number(scaled, 2.0 ** (127 - form.bias)))
    ends = builder.icmp_unsigned(">=", size, _number(size, form.special << 23 - form.mantissa))
    ended = builder.or_(size, _number(size, 0x7F800000))
    number = builder.select(ends, ended, _as(builder, scaled, WORD))
    return _as(builder, builder.or_(number, sign), FLOAT)


def round_floats(builder, floats, form):
    """The bytes nearest to floats, as ``base.float8.round_to_bytes`` finds them."""
    words, shift = _as(builder, floats, WORD), 23 - form.mantissa
    size = builder.and_(words, _number(words, 0x7FFFFFFF))
    odd = builder.and_(builder.lshr(size, _number(size, shift)), _number(size, 1))
    normal = builder.add(builder.add(size, _number(size, (1 << shift - 1) - 1)), odd)
    normal = builder.sub(builder.lshr(normal, _number(size, shift)), _number(size, 127 - form.bias << form.mantissa))
    top = _number(size, form.special)
    normal = builder.select(builder.icmp_unsigned("<", normal, top), normal, top)
    power = _number(floats, 2.0 ** (24 - form.bias - form.mantissa))
    tiny = _as(builder, builder.fadd(_as(builder, size, FLOAT), power), WORD)
    tiny = builder.sub(tiny, builder.bitcast(power, size.type))
    is_tiny = builder.icmp_unsigned("<", size, _number(size, 128 - form.bias << 23))
    number = builder.select(is_tiny, tiny, normal)
    is_nan = builder.icmp_unsigned(">", size, _number(size, 0x7F800000))
    number = builder.select(is_nan, _number(size, NAN_BYTE), number)
    sign = builder.and_(builder.lshr(words, _number(words, 24)), _number(words, 0x80))
    return builder.trunc(builder.or_(number, sign), ir.VectorType(BYTE, floats.type.count))


@intrinsic(prefer_literal=True)
def load_float8(typing, rows, i, j, width, name):
    lanes, form = Vector(types.float32, width.literal_value), FLOAT8[name.literal_value]

    def generate(context, builder, signature, args):
        widen, parts = widen_by_halves if converts_halves(context) else widen_by_words, []
        for _, pointer, align in pieces_at(context, builder, rows, args, lanes.width):
            packed = builder.load(pointer)
            packed.align = align
            parts.append(widen(builder, packed, form))
        return join(builder, parts)

    return lanes(rows, i, j, width, name), generate


@intrinsic(prefer_literal=True)
def store_float8(typing, rows, i, j, vector, name):
    form = FLOAT8[name.literal_value]

    def generate(context, builder, signature, args):
        places = pieces_at(context, builder, rows, args, vector.width)
        for part, (_, pointer, align) in zip(parts_of(builder, args[3]), places, strict=True):
            builder.store(round_floats(builder, part, form), pointer).align = align
        return context.get_dummy_value()

    return types.void(rows, i, j, vector, name), generate
