"""LLVM side of simd.py: float16 and bfloat16, as bits in vectors of 16-bit integers, to floats and back.

CPUs without F16C have no instructions for float16, and LLVM would call functions of a runtime library that Numba lacks:
there the bits are moved as integers, to the same results. bfloat16 are the upper halves of floats: integer operations,
which every CPU and GPU has.
"""

from __future__ import annotations

from llvmlite import ir

WORD, FLOAT, HALF = ir.IntType(32), ir.FloatType(), ir.HalfType()


def _bitcast(builder, vector, lane):
    return vector if vector.type.element == lane else builder.bitcast(vector, ir.VectorType(lane, vector.type.count))


def _number(like, value):
    return ir.Constant(like.type, [value] * like.type.count)


def widen_halves(builder, bits, native):
    """The floats of the bits of float16."""
    count = bits.type.count
    if native:
        return builder.fpext(_bitcast(builder, bits, HALF), ir.VectorType(FLOAT, count))
    words = builder.zext(bits, ir.VectorType(WORD, count))
    sign = builder.shl(builder.and_(words, _number(words, 0x8000)), _number(words, 16))
    size = builder.shl(builder.and_(words, _number(words, 0x7FFF)), _number(words, 13))
    scaled = _bitcast(builder, size, FLOAT)
    # Exponents differ by 112; the product is exact, for denormal numbers too.
    scaled = builder.fmul(scaled, _number(scaled, 2.0**112))
    ends = builder.icmp_unsigned(">=", size, _number(size, 0x7C00 << 13))
    number = builder.select(ends, builder.or_(size, _number(size, 0x7F800000)), _bitcast(builder, scaled, WORD))
    return _bitcast(builder, builder.or_(number, sign), FLOAT)


def round_to_halves(builder, floats, native):
    """The bits of the float16 nearest to floats, of two the even one."""
    count, bits = floats.type.count, ir.VectorType(ir.IntType(16), floats.type.count)
    if native:
        return builder.bitcast(builder.fptrunc(floats, ir.VectorType(HALF, count)), bits)
    words = _bitcast(builder, floats, WORD)
    size = builder.and_(words, _number(words, 0x7FFFFFFF))
    odd = builder.and_(builder.lshr(size, _number(size, 13)), _number(size, 1))
    normal = builder.add(builder.add(size, _number(size, 0xFFF)), odd)
    normal = builder.sub(builder.lshr(normal, _number(size, 13)), _number(size, 112 << 10))
    # The last bit of 0.5 is that of the smallest float16.
    half = _number(floats, 0.5)
    tiny = _bitcast(builder, builder.fadd(_bitcast(builder, size, FLOAT), half), WORD)
    tiny = builder.sub(tiny, _number(size, 0x3F000000))
    number = builder.select(builder.icmp_unsigned("<", size, _number(size, 0x38800000)), tiny, normal)
    number = builder.select(builder.icmp_unsigned(">=", size, _number(size, 0x477FF000)), _number(size, 0x7C00), number)
    number = builder.select(builder.icmp_unsigned(">", size, _number(size, 0x7F800000)), _number(size, 0x7E00), number)
    sign = builder.and_(builder.lshr(words, _number(words, 16)), _number(words, 0x8000))
    return builder.trunc(builder.or_(number, sign), bits)


def widen_bfloats(builder, bits):
    """The floats of the bits of bfloat16."""
    words = builder.zext(bits, ir.VectorType(WORD, bits.type.count))
    return builder.bitcast(builder.shl(words, _number(words, 16)), ir.VectorType(FLOAT, words.type.count))


def round_to_bfloats(builder, floats):
    """The bits of the bfloat16 nearest to floats, of two the even one; NaN stays NaN, with its sign, and quiet."""
    words = builder.bitcast(floats, ir.VectorType(WORD, floats.type.count))
    high = builder.lshr(words, _number(words, 16))
    odd = builder.and_(high, _number(words, 1))
    # The sum carries into the upper half if the lower one is more than half of its last digit, or half and that is odd.
    rounded = builder.lshr(builder.add(builder.add(words, _number(words, 0x7FFF)), odd), _number(words, 16))
    quiet = builder.or_(high, _number(words, 0x0040))
    nan = builder.fcmp_unordered("uno", floats, floats)
    number = builder.select(nan, quiet, rounded)
    return builder.trunc(number, ir.VectorType(ir.IntType(16), words.type.count))
