"""Explicit vectors for CPU kernels: W lanes in registers, on machines of any vector width.

W is a constant of the kernel's closure; LLVM splits ``<W x T>`` into registers. Lanes are loaded from rows of
two-dimensional C-contiguous arrays; launchers make sure of that, strided ones would be read wrong. float16 is passed as
uint16 bits, bfloat16 as int16 bits, and both are computed as float32; int32 is computed as int64. Every function has a
NumPy body, which runs where nothing is compiled, and an intrinsic.
"""

from __future__ import annotations

import math
import operator

import numpy as np
from numba.extending import overload

from ..base.bfloat16 import round_to_bits, widen_bits
from ..base.float8 import round_to_bytes, widen_bytes
from . import private_numba, reducers
from .llvm import bitpack, float8, intrinsics, memory, vector_math
from .llvm.vectors import COMPUTE_DTYPE


def load(array, i, j, width):
    """The lanes ``array[i, j : j + width]``."""
    return numbers_of_bits(array[i, j : j + width]).astype(COMPUTE_DTYPE[array.dtype.name])


def load_last_line_first(array, i, j, width):
    """The same lanes, the last cache line of them read before the others: the order matters to the CPU's prefetcher."""
    return load(array, i, j, width)


def numbers_of_bits(lanes):
    """The numbers that bits stand for: float16 of uint16, float32 of the bits of bfloat16, which are int16."""
    if lanes.dtype == np.uint16:
        return lanes.view(np.float16)
    return widen_bits(lanes) if lanes.dtype == np.int16 else lanes


def bits_of_numbers(vector, dtype):
    """Lanes as they lie in an array of a type, rounded: the inverse of ``numbers_of_bits``."""
    if dtype == np.uint16:
        return vector.astype(np.float16).view(np.uint16)
    return round_to_bits(vector).view(np.int16) if dtype == np.int16 else vector


def load_first(array, i, j, width, count, rest):
    """The first ``count`` lanes of ``array[i, j : j + width]``, all of it or fewer; the others are ``rest``."""
    lanes = full(array, width, rest)
    lanes[:count] = load(array, i, j, min(count, width))[:count]
    return lanes


def store(array, i, j, vector):
    """Write lanes to ``array[i, j : j + width]``, rounded to its type."""
    array[i, j : j + len(vector)] = bits_of_numbers(vector, array.dtype)


def store_first(array, i, j, vector, count):
    """Write the first ``count`` lanes, at most all, to ``array[i, j : j + count]``."""
    store(array, i, j, vector[:count])


def full(array, width, number):
    """``width`` lanes of a number, in the compute type of the array."""
    return np.full(width, number, COMPUTE_DTYPE[array.dtype.name])


def like(vector, number):
    """As many lanes of a number as ``vector`` has."""
    return np.full_like(vector, number)


def widen(vector):
    """float32 lanes as float64; others as they are."""
    return vector.astype(np.float64 if vector.dtype.kind == "f" else np.int64)


def narrow(array, vector):
    """Lanes in the compute type of the array."""
    return vector.astype(COMPUTE_DTYPE[array.dtype.name])


def low(vector):
    """The lower half of the lanes."""
    return vector[: len(vector) // 2]


def high(vector):
    """The upper half of the lanes."""
    return vector[len(vector) // 2 :]


def reduce(step, vector):
    """Combine all lanes into one: the lower half with the upper one, again and again."""
    while len(vector) > 1:
        vector = step(low(vector), high(vector))
    return vector


def evens(vector):
    """Lanes 0, 2, 4, ..."""
    return vector[::2]


def odds(vector):
    """Lanes 1, 3, 5, ..."""
    return vector[1::2]


def paired(a, b):
    """Interleaved lanes of two vectors; inverse of ``evens`` and ``odds``."""
    return np.stack([a, b], axis=1).reshape(-1)


def lane(vector, k):
    """One lane."""
    return vector[k]


def load_packed(rows, i, j, size, bits, scale, bias):
    """``code * scale + bias`` of the codes in the bytes ``rows[i, j : j + size]``: the lowest bits of all bytes, then
    the next.
    """
    packed = rows[i, j : j + size]
    codes = [packed >> np.uint8(shift) & np.uint8(2**bits - 1) for shift in range(0, 8, bits)]
    return fma(np.concatenate(codes).astype(np.float32), np.float32(scale), np.float32(bias))


def load_params(rows, i, j, bits):
    """The scale and the bias that begin in byte ``rows[i, j]``: float32 where codes have 8 bits, else float16."""
    kind = np.dtype(np.float32 if bits == 8 else np.float16)
    return rows[i, j : j + 2 * kind.itemsize].view(kind).astype(np.float32)


def store_codes(rows, i, j, codes, bits):
    """Write codes, whole numbers below ``2**bits``, in the order of ``load_packed``."""
    parts = codes.astype(np.uint8).reshape(8 // bits, -1)
    packed = [part << np.uint8(bits * k) for k, part in enumerate(parts)]
    rows[i, j : j + parts.shape[1]] = np.bitwise_or.reduce(packed)


def load_float8(rows, i, j, width, name):
    """The numbers of the bytes ``rows[i, j : j + width]``, which are float8 of a format."""
    return widen_bytes(rows[i, j : j + width], name)


def store_float8(rows, i, j, vector, name):
    """Write float32 lanes to the bytes from ``rows[i, j]`` on, rounded to the nearest float8 of a format."""
    rows[i, j : j + len(vector)] = round_to_bytes(vector, name)


def transpose(vector, rows):
    """Transposed lanes, of a matrix of so many rows."""
    return vector.reshape(rows, -1).T.reshape(-1)


def half(vector):
    """float32 lanes, rounded to float16."""
    with np.errstate(over="ignore", under="ignore"):
        return vector.astype(np.float16).astype(np.float32)


def prefetch(array, i, j, size):
    """Prefetch ``size`` bytes from ``array[i, j]`` on, into the second-level cache.

    That cache has many more line fill buffers than the first: random rows of 256 bytes arrive 1.4 to 1.8 times faster.
    NumPy rows are rarely cache-line aligned, so they span one extra line. Prefetching it too makes rows of 64 bytes 3
    times faster, of 256 bytes 1.4 times, and of 512 bytes 1.15 times.
    """


def prefetch_lanes(array, i, j, width, astride, level):
    """Prefetch the lines of W lanes, without a loop; if ``astride``, one more where rows begin amid cache lines.

    ``level`` is LLVM's number of the cache: 2 for the second level, 3 for the first.
    """


def prefetch_alternate(array, i, j, width, level):
    """Prefetch every second of the lines of W lanes."""


def _bytes(array):
    return array.reshape(-1).view(np.uint8)


def copy(out, i, source, j, count):
    """Copy the bytes ``j : j + count`` of an array to the bytes from ``i`` on of ``out``: C-contiguous, no overlap."""
    _bytes(out)[i : i + count] = _bytes(source)[j : j + count]


def stream(out, i, source, j, count):
    """Copy as ``copy`` does, by non-temporal stores, which do not read a line before writing it.

    1.3 to 2 times faster for results larger than the caches and runs of several lines, slower for a few bytes.
    ``store_fence`` must follow before another thread reads.
    """
    copy(out, i, source, j, count)


def store_fence():
    """Fence: streamed bytes become visible to every thread."""


def keep_loop_rolled():
    """Keep the loop around this rolled: one exit, so one mispredicted branch per short segment."""


def fma(a, b, c):
    """``a * b + c``."""
    return add(mul(a, b), c)


def mul_rounded(a, b):
    """``a * b`` of floats, rounded: of a product and a sum GPUs make a fused multiply-add, which rounds once."""
    return mul(a, b)


def exp(vector):
    """exp of every lane, to 2 ulp; NaN propagates. 0 below the smallest normal number on the CPU, not on a GPU."""
    with np.errstate(over="ignore", under="ignore"):
        result = np.exp(vector)
    return np.where(result < np.finfo(vector.dtype).smallest_normal, vector.dtype.type(0), result)


def sigmoid(vector):
    """``1 / (1 + exp(-x))`` of every lane, to 4 ulp; 0 where exp overflows, NaN propagates."""
    return div(1, add(1, exp(-vector)))


def tanh(vector):
    """Hyperbolic tangent of every lane, to 4 ulp, of small numbers too; NaN propagates."""
    return np.tanh(vector)


def erfc(vector):
    """Complementary error function of every lane, to 8 ulp; 0 near the smallest normal number, NaN propagates."""
    return np.vectorize(math.erfc, [vector.dtype])(vector)


def sqrt(vector):
    """Square root of every lane; NaN below 0."""
    with np.errstate(invalid="ignore"):
        return np.sqrt(vector)


def log(vector):
    """Natural logarithm of every lane, to 3 ulp; 0 gives -inf, less than 0 NaN."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(vector)


def zero_nonfinite(vector):
    """Finite lanes, 0 for the others."""
    return np.where(np.isfinite(vector), vector, vector.dtype.type(0))


def is_finite(vector):
    """True if no lane is infinite or NaN."""
    return bool(np.isfinite(vector).all())


def zero_at_minus_inf(vector, by):
    """Lanes of a vector, 0 where those of ``by`` are -inf."""
    return np.where(np.isneginf(by), vector.dtype.type(0), vector)


def zero_unless_positive(vector, by):
    """Lanes of a vector, 0 where those of ``by`` are not above 0."""
    return np.where(by > 0, vector, vector.dtype.type(0))


# Compiled code has no warnings.
add, sub, mul, div = (
    np.errstate(all="ignore")(operation) for operation in (operator.add, operator.sub, operator.mul, operator.truediv)
)


def maximum(a, b):
    """Larger lanes; NaN propagates."""
    return np.maximum(a, b)


def larger(a, b):
    """``b`` where it is larger, else ``a``: quicker than ``maximum``, and ignores a NaN in ``b``."""
    return np.where(b > a, b, a)


def minimum(a, b):
    """Smaller lanes; NaN propagates."""
    return np.minimum(a, b)


_SAFE = "zero_nonfinite is_finite zero_at_minus_inf zero_unless_positive"
_LANES = "load store full like widen narrow low high evens odds paired lane add sub mul div fma maximum minimum larger"
for _module, _names in (
    (intrinsics, f"{_LANES} load_last_line_first load_first store_first keep_loop_rolled"),
    (memory, "copy stream store_fence prefetch prefetch_lanes prefetch_alternate"),
    (bitpack, "load_packed load_params store_codes transpose half"),
    (float8, "load_float8 store_float8"),
    (
        vector_math,
        "mul_rounded sqrt exp sigmoid tanh erfc log zero_nonfinite is_finite zero_at_minus_inf zero_unless_positive",
    ),
):
    for _name in _names.split():
        private_numba.run_instead(globals()[_name], getattr(_module, _name))


@overload(reduce, jit_options={"forceinline": True})
def _reduce(step, vector):
    steps = range(vector.width.bit_length() - 1)
    halved = "".join(f"    v{k + 1} = step(low(v{k}), high(v{k}))\n" for k in steps)
    namespace = {"low": low, "high": high}
    exec(f"def reduced(step, vector):\n    v0 = vector\n{halved}    return v{len(steps)}", namespace)
    return namespace["reduced"]


#: Vector forms of the steps of reducers.
STEPS = {reducers.plus: add, reducers.times: mul, reducers.larger: maximum, reducers.smaller: minimum}
