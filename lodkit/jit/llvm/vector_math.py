"""LLVM side of simd.py: exp, log, sqrt of every lane. Numba's wheels have no vector mathematics."""

from __future__ import annotations

import math

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LN2 = {64: (6.93147180369123816490e-01, 1.90821492927058770002e-10), 32: (0.693359375, -2.12194440e-4)}


@intrinsic
def sqrt(typing, a):
    def generate(context, builder, signature, args):
        vector, name = args[0].type, f"llvm.sqrt.v{a.width}f{a.dtype.bitwidth}"
        call = cgutils.get_or_insert_function(builder.module, ir.FunctionType(vector, [vector]), name)
        return builder.call(call, args)

    return a(a), generate


@intrinsic
def finite(typing, a):
    def generate(context, builder, signature, args):
        zero = ir.Constant(args[0].type, [0.0] * a.width)
        known = builder.fcmp_ordered("==", builder.fsub(args[0], args[0]), zero)
        return builder.select(known, args[0], zero)

    return a(a), generate


@intrinsic
def all_finite(typing, a):
    def generate(context, builder, signature, args):
        zero = ir.Constant(args[0].type, [0.0] * a.width)
        known = builder.fcmp_ordered("==", builder.fsub(args[0], args[0]), zero)
        bits = ir.IntType(a.width)
        return builder.icmp_unsigned("==", builder.bitcast(known, bits), bits(-1))

    return types.boolean(a), generate


@intrinsic
def unless_minus_inf(typing, a, by):
    def generate(context, builder, signature, args):
        ends = builder.fcmp_ordered("==", args[1], ir.Constant(args[1].type, [float("-inf")] * by.width))
        return builder.select(ends, ir.Constant(args[0].type, [0.0] * a.width), args[0])

    return a(a, by), generate


class _Lanes:
    """Constants and steps that exp and log share, of one width and type."""

    def __init__(self, builder, vector):
        self.builder, self.width, self.double = builder, vector.width, vector.dtype == types.float64
        self.size, self.mantissa = (64, 52) if self.double else (32, 23)
        self.float = ir.VectorType(ir.DoubleType() if self.double else ir.FloatType(), vector.width)
        self.int = ir.VectorType(ir.IntType(self.size), vector.width)

    def number(self, value):
        return ir.Constant(self.float, [value] * self.width)

    def integer(self, value):
        return ir.Constant(self.int, [value] * self.width)

    def bits(self, x):
        return self.builder.bitcast(x, self.int)

    def floats(self, bits):
        return self.builder.bitcast(bits, self.float)

    def fma(self, p, q, r):
        return self.builder.fadd(self.builder.fmul(p, q, flags=("contract",)), r, flags=("contract",))

    def polynomial(self, x, coefficients):
        """Horner's rule; the highest power comes first."""
        first, *others = coefficients
        p = self.number(first)
        for c in others:
            p = self.fma(p, x, self.number(c))
        return p

    def where(self, order, x, limit, then, otherwise):
        """``then`` in lanes where ``x order limit`` (``uno``: where x is NaN)."""
        compare = self.builder.fcmp_unordered if order == "uno" else self.builder.fcmp_ordered
        return self.builder.select(compare(order, x, self.number(limit)), then, otherwise)


@intrinsic
def exp(typing, a):
    """exp(x) = 2^n * p(r), |r| <= ln(2)/2; adding a number too large for a fraction rounds to n."""

    def generate(context, builder, signature, args):
        (x,), do = args, _Lanes(builder, a)
        high, low = LN2[do.size]
        least, most = (-708.396, 709.782712893384) if do.double else (-87.3365, 88.72283)
        shifted = do.fma(x, do.number(1 / math.log(2)), do.number(1.5 * 2.0**do.mantissa))
        n = builder.fsub(shifted, do.number(1.5 * 2.0**do.mantissa))
        r = do.fma(n, do.number(-low), do.fma(n, do.number(-high), x))
        p = do.polynomial(r, [1 / math.factorial(k) for k in reversed(range(14 if do.double else 8))])
        exponent = builder.shl(do.bits(shifted), do.integer(do.mantissa))
        p = do.floats(builder.add(do.bits(p), exponent))
        p = do.where(">", x, most, do.number(float("inf")), p)
        p = do.where("<", x, least, do.number(0.0), p)
        return do.where("uno", x, 0.0, x, p)

    return a(a), generate


@intrinsic
def log(typing, a):
    """log(2^e * m) = e ln(2) + 2 atanh(s), s = (m - 1) / (m + 1), m between the roots of 1/2 and 2."""

    def generate(context, builder, signature, args):
        (x,), do = args, _Lanes(builder, a)
        high, low = LN2[do.size]
        scale, least = 2.0 ** (do.mantissa + 2), 2.0**-1022 if do.double else 2.0**-126
        big = do.where("<", x, least, builder.fmul(x, do.number(scale)), x)  # denormal numbers made normal
        root = do.integer(0x3FE6A09E667F3BCD if do.double else 0x3F3504F3)
        e = builder.ashr(builder.sub(do.bits(big), root), do.integer(do.mantissa))
        m = do.floats(builder.sub(do.bits(big), builder.shl(e, do.integer(do.mantissa))))
        e = builder.sitofp(e, do.float)
        e = do.where("<", x, least, builder.fsub(e, do.number(do.mantissa + 2)), e)
        f = builder.fsub(m, do.number(1.0))
        s = builder.fdiv(f, builder.fadd(f, do.number(2.0)))
        series = do.polynomial(builder.fmul(s, s), [2 / (2 * k + 1) for k in reversed(range(12 if do.double else 6))])
        y = do.fma(e, do.number(high), do.fma(s, series, builder.fmul(e, do.number(low))))
        y = do.where("==", x, float("inf"), x, y)
        y = do.where("==", x, 0.0, do.number(float("-inf")), y)
        y = do.where("<", x, 0.0, do.number(float("nan")), y)
        return do.where("uno", x, 0.0, x, y)

    return a(a), generate
