"""LLVM side of simd.py: exp, erfc, log and their kin of every lane. Numba's wheels have no vector mathematics."""

from __future__ import annotations

import math

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .intrinsics import lanewise
from .vectors import bits_of

#: Powers of 2t - 1 from 0 on, by the bits of a number: the Chebyshev series of erfc(x) exp(x^2) / t for x >= 0, with
#: t = 3 / (3 + x), as M. Shepherd and J. Laframboise have it (1981); relative errors 3e-17 and 2e-8.
ERFC = {
    64: (
        3.5800230236277991e-01,
        2.9446481772329447e-01,
        1.9674278570136933e-01,
        1.0348908730019440e-01,
        3.9842587095666314e-02,
        8.9424115413504722e-03,
        -4.0413887394316183e-04,
        -1.0113539986860460e-03,
        -1.8276991424949872e-04,
        9.2259271340713663e-05,
        3.5853923636812829e-05,
        -1.0132683861908937e-05,
        -5.8238574076360061e-06,
        1.5830094253678585e-06,
        9.2258296402014064e-07,
        -3.3293900476369920e-07,
        -1.3722842699705355e-07,
        7.7951226697135148e-08,
        1.6652640553590845e-08,
        -1.7060807323373612e-08,
        -1.1893885619092461e-09,
        2.8979247563452956e-09,
        2.3183140775064574e-12,
        -2.7035624320633666e-10,
    ),
    32: (
        3.580023041e-01,
        2.944647447e-01,
        1.967426585e-01,
        1.034905708e-01,
        3.984410023e-02,
        8.933907198e-03,
        -4.107903472e-04,
        -9.911235675e-04,
        -1.692835262e-04,
        7.030988923e-05,
        2.260987852e-05,
    ),
}
LN2 = {64: (6.93147180369123816490e-01, 1.90821492927058770002e-10), 32: (0.693359375, -2.12194440e-4)}


@lanewise
def sqrt(builder, x):
    name = f"llvm.sqrt.v{x.type.count}f{bits_of(x.type.element)}"
    call = cgutils.get_or_insert_function(builder.module, ir.FunctionType(x.type, [x.type]), name)
    return builder.call(call, [x])


def _finite_mask(builder, x):
    """Mask of the finite lanes, and zeros."""
    zero = ir.Constant(x.type, [0.0] * x.type.count)
    return builder.fcmp_ordered("==", builder.fsub(x, x), zero), zero


@lanewise
def zero_nonfinite(builder, x):
    known, zero = _finite_mask(builder, x)
    return builder.select(known, x, zero)


@intrinsic
def is_finite(typing, a):
    def generate(context, builder, signature, args):
        bits = ir.IntType(a.width)
        return builder.icmp_unsigned("==", builder.bitcast(_finite_mask(builder, *args)[0], bits), bits(-1))

    return types.boolean(a), generate


@lanewise
def zero_at_minus_inf(builder, x, by):
    ends = builder.fcmp_ordered("==", by, ir.Constant(by.type, [float("-inf")] * by.type.count))
    return builder.select(ends, ir.Constant(x.type, [0.0] * x.type.count), x)


@lanewise
def zero_unless_positive(builder, x, by):
    zero = ir.Constant(x.type, [0.0] * x.type.count)
    return builder.select(builder.fcmp_ordered(">", by, zero), x, zero)


class _Lanes:
    """Constants and steps that exp and log share, of one width and type."""

    def __init__(self, builder, vector):
        self.builder, self.width, self.double = builder, vector.count, isinstance(vector.element, ir.DoubleType)
        self.size, self.mantissa = (64, 52) if self.double else (32, 23)
        self.float, self.int = vector, ir.VectorType(ir.IntType(self.size), vector.count)

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

    def reduced(self, x):
        """x as ``n * ln(2) + r``, |r| <= ln(2)/2: r, and the bits of 2^n less those of 1.

        Adding a number too large for a fraction rounds to n.
        """
        high, low = LN2[self.size]
        shifted = self.fma(x, self.number(1 / math.log(2)), self.number(1.5 * 2.0**self.mantissa))
        n = self.builder.fsub(shifted, self.number(1.5 * 2.0**self.mantissa))
        r = self.fma(n, self.number(-low), self.fma(n, self.number(-high), x))
        return r, self.builder.shl(self.bits(shifted), self.integer(self.mantissa))

    def series(self, r, first):
        """The series of exp from the power ``first`` on, divided by that power."""
        return self.polynomial(r, [1 / math.factorial(k) for k in reversed(range(first, 14 if self.double else 8))])


def _call_libdevice(builder, of_doubles, of_floats, *vectors):
    """A function of CUDA's library, of every lane."""
    made, lane = vectors[0], vectors[0].type.element
    name = f"__nv_{of_doubles if isinstance(lane, ir.DoubleType) else of_floats}"
    call = cgutils.get_or_insert_function(builder.module, ir.FunctionType(lane, [lane] * len(vectors)), name)
    for k in range(made.type.count):
        at = ir.Constant(ir.IntType(32), k)
        lanes = [builder.extract_element(x, at) for x in vectors]
        made = builder.insert_element(made, builder.call(call, lanes), at)
    return made


@lanewise
def mul_rounded(builder, a, b):
    if builder.module.triple.startswith("nvptx"):
        return _call_libdevice(builder, "dmul_rn", "fmul_rn", a, b)
    return builder.fmul(a, b)


def _exp(builder, x):
    """exp(x) = 2^n * p(r). GPUs have an instruction for 2^r."""
    if builder.module.triple.startswith("nvptx"):
        return _call_libdevice(builder, "exp", "expf", x)
    do = _Lanes(builder, x.type)
    least, most = (-708.396, 709.782712893384) if do.double else (-87.3365, 88.72283)
    r, exponent = do.reduced(x)
    p = do.floats(builder.add(do.bits(do.series(r, 0)), exponent))
    p = do.where(">", x, most, do.number(float("inf")), p)
    p = do.where("<", x, least, do.number(0.0), p)
    return do.where("uno", x, 0.0, x, p)


exp = lanewise(_exp)


@lanewise
def sigmoid(builder, x):
    one, zero = (ir.Constant(x.type, [number] * x.type.count) for number in (1.0, 0.0))
    # Compilers for GPUs know no fneg.
    negative = builder.fsub(zero, x)
    return builder.fdiv(one, builder.fadd(one, _exp(builder, negative)))


@lanewise
def tanh(builder, x):
    """tanh(x) = -e / (e + 2), e = exp(-2|x|) - 1 = 2^n * (p(r) - 1) + (2^n - 1): no digits cancel near 0."""
    do = _Lanes(builder, x.type)
    sign = do.integer(1 << (do.size - 1))
    negative = do.floats(builder.or_(do.bits(x), sign))  # -|x|
    doubled = builder.fadd(negative, negative)
    # From here on the result rounds to 1.
    far = -40.0 if do.double else -20.0
    r, exponent = do.reduced(do.where("<", doubled, far, do.number(far), doubled))
    scale = do.floats(builder.add(do.bits(do.number(1.0)), exponent))
    e = do.fma(builder.fmul(r, do.series(r, 1)), scale, builder.fsub(scale, do.number(1.0)))
    y = builder.fdiv(e, builder.fadd(e, do.number(2.0)))
    signed = builder.and_(do.bits(x), sign)
    return do.floats(builder.or_(builder.and_(do.bits(y), builder.not_(sign)), signed))


@lanewise
def erfc(builder, x):
    """erfc(|x|) = exp(-x^2) t p(2t - 1); 2 less that below 0. x^2 is the square of a rounded x, and a rest."""
    if builder.module.triple.startswith("nvptx"):
        return _call_libdevice(builder, "erfc", "erfcf", x)
    do = _Lanes(builder, x.type)
    # From ``far`` on the result is 0; ``dropped`` bits remain of the rest.
    far, dropped = (26.6, 27) if do.double else (9.3, 12)
    size = do.floats(builder.and_(do.bits(x), do.integer((1 << (do.size - 1)) - 1)))
    a = do.where(">", size, far, do.number(far), size)
    rounded = do.floats(builder.and_(do.bits(a), do.integer((1 << do.size) - (1 << dropped))))
    rest = builder.fmul(builder.fsub(a, rounded), builder.fadd(a, rounded))
    r, exponent = do.reduced(builder.fsub(do.number(0.0), builder.fmul(rounded, rounded)))
    e = do.floats(builder.add(do.bits(do.series(builder.fsub(r, rest), 0)), exponent))
    t = builder.fdiv(do.number(3.0), builder.fadd(a, do.number(3.0)))
    p = do.polynomial(do.fma(t, do.number(2.0), do.number(-1.0)), reversed(ERFC[do.size]))
    y = builder.fmul(builder.fmul(e, t), p)
    y = do.where(">", size, far, do.number(0.0), y)
    y = do.where("<", x, 0.0, builder.fsub(do.number(2.0), y), y)
    return do.where("uno", x, 0.0, x, y)


@lanewise
def log(builder, x):
    """log(2^e * m) = e ln(2) + 2 atanh(s), s = (m - 1) / (m + 1), m between the roots of 1/2 and 2."""
    do = _Lanes(builder, x.type)
    high, low = LN2[do.size]
    scale, least = 2.0 ** (do.mantissa + 2), 2.0**-1022 if do.double else 2.0**-126
    # Denormal numbers are made normal.
    big = do.where("<", x, least, builder.fmul(x, do.number(scale)), x)
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
