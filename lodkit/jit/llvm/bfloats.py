"""LLVM side of simd.py: bfloat16, as bits in vectors of 16-bit integers, to floats and back.

They are the upper halves of floats: integer operations, which every CPU and GPU has.
"""

from __future__ import annotations

from llvmlite import ir

WORD, FLOAT, BITS = ir.IntType(32), ir.FloatType(), ir.IntType(16)


def _number(like, value):
    return ir.Constant(like.type, [value] * like.type.count)


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
    return builder.trunc(number, ir.VectorType(BITS, words.type.count))
