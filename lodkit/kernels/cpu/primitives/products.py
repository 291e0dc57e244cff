"""Matrix products: by NumPy's BLAS, whose bits may depend on its threads, and of small matrices inside kernels.

Inside kernels a tile of results stays in registers, the right factor in panels.

Panels are as many columns as a vector has lanes, each panel's rows end to end: element (k, j) lies in row
``j // W * stride + k``, lane ``j % W``.
"""

from __future__ import annotations

import functools
import types

import numpy as np

from ....jit import jitable, simd
from ....jit.blas import SHARED_PRODUCTS, multiply

#: Rows of results in registers at once, each one vector: 6 fill the registers of AVX2 with room for the factors.
ROWS = 6
TRANSPOSED_COLUMNS = 4
LANES = {"float32": 16, "float64": 8}
# BLAS packs the matrix first, which takes longer than the products of a few vectors with it.
MAX_VECTOR_ROWS = 7
# Bytes of products that are made before they are used, while they are in the cache.
BLOCK = 1 << 20


@functools.cache
def products(width):
    """Functions that kernels call, for W lanes: ``multiply``, ``multiply_turned``, ``pack``, ``pack_turned``."""
    made = types.SimpleNamespace(multiply=_multiply(width, False), multiply_turned=_multiply(width, True))
    made.pack, made.pack_turned = _pack(width), _pack_turned(width)
    return made


def _multiply(width, turned):
    @jitable(inline=True, nrt=False)
    def spread(a, i, k, like):
        number = simd.load(a, k, i, 1) if turned else simd.load(a, i, k, 1)
        return simd.like(like, simd.lane(number, 0))

    @jitable(inline=True, nrt=False)
    def put(out, i, j, rows, add, x):
        if i < rows:
            simd.store(out, i, j, simd.add(x, simd.load(out, i, j, width)) if add else x)

    @jitable(nrt=False)
    def multiply(a, b, depth, stride, rows, columns, add, out):
        """Put ``a @ b`` into the first ``rows`` of ``out``, or add it; up to ROWS - 1 more rows of ``a`` are read."""
        for j in range(0, columns, width):
            at = j // width * stride
            for i in range(0, rows, ROWS):
                t0 = t1 = t2 = t3 = t4 = t5 = simd.full(out, width, 0)
                for k in range(depth):
                    x = simd.load(b, at + k, 0, width)
                    t0 = simd.fma(spread(a, i, k, x), x, t0)
                    t1 = simd.fma(spread(a, i + 1, k, x), x, t1)
                    t2 = simd.fma(spread(a, i + 2, k, x), x, t2)
                    t3 = simd.fma(spread(a, i + 3, k, x), x, t3)
                    t4 = simd.fma(spread(a, i + 4, k, x), x, t4)
                    t5 = simd.fma(spread(a, i + 5, k, x), x, t5)
                put(out, i, j, rows, add, t0)
                put(out, i + 1, j, rows, add, t1)
                put(out, i + 2, j, rows, add, t2)
                put(out, i + 3, j, rows, add, t3)
                put(out, i + 4, j, rows, add, t4)
                put(out, i + 5, j, rows, add, t5)

    return multiply


def _pack(width):
    @jitable(inline=True, nrt=False)
    def put(lanes, scale, out, row):
        simd.store(out, row, 0, simd.mul(lanes, simd.like(lanes, scale)))

    @jitable(nrt=False)
    def pack(x, first, rows, j, columns, scale, out):
        """Pack ``x[first : first + rows, j : j + columns] * scale`` into panels of stride ``rows``."""
        whole = columns - columns % width
        for c in range(0, whole, width):
            for k in range(rows):
                put(simd.load(x, first + k, j + c, width), scale, out, c // width * rows + k)
        for k in range(rows if whole < columns else 0):
            lanes = simd.load_first(x, first + k, j + whole, width, columns - whole, 0)
            put(lanes, scale, out, whole // width * rows + k)

    return pack


def _columns(count, step):
    """Reader of FEW columns of ``count`` rows, ``step`` apart: the first column's elements, the second's ..."""
    if count == 1:
        return jitable(lambda x, i, last, j: simd.load(x, min(i, last), j, TRANSPOSED_COLUMNS), inline=True, nrt=False)
    half = _columns(count // 2, step * 2)
    return jitable(
        lambda x, i, last, j: simd.paired(half(x, i, last, j), half(x, i + step, last, j)), inline=True, nrt=False
    )


def _pack_turned(width):
    read = _columns(width, 1)

    @jitable(nrt=False)
    def pack_turned(x, first, rows, j, columns, out):
        """Pack the transpose of ``x[first : first + rows, j : j + columns]`` into panels of stride ``columns``.

        Lanes behind the last row repeat it.
        """
        last, whole = first + rows - 1, columns - columns % TRANSPOSED_COLUMNS
        for r in range(0, rows, width):
            at = r // width * columns
            for k in range(0, whole, TRANSPOSED_COLUMNS):
                lanes = read(x, first + r, last, j + k)
                simd.store(out, at + k, 0, simd.low(simd.low(lanes)))
                simd.store(out, at + k + 1, 0, simd.high(simd.low(lanes)))
                simd.store(out, at + k + 2, 0, simd.low(simd.high(lanes)))
                simd.store(out, at + k + 3, 0, simd.high(simd.high(lanes)))
            for k in range(whole, columns):
                for i in range(width):
                    simd.store(out, at + k, i, simd.load(x, min(first + r + i, last), j + k, 1))

    return pack_turned


def matmul(a, b, out=None, transpose=""):
    """The product of two matrices; ``transpose`` names one to transpose, left or right. Filled into ``out``."""
    a, b = a.T if transpose == "left" else a, b.T if transpose == "right" else b
    if out is None:
        return multiply(a, b)
    if len(a) > MAX_VECTOR_ROWS:
        return multiply(a, b, out, np.dot)
    product = np.dot if b.size < SHARED_PRODUCTS else multiply
    for i in range(len(a)):
        product(a[i], b, out[i])
    return out


def matmul_ahead(a, b, ready, needed, out):
    """Fill rows of ``out`` behind the ``ready`` ones with ``a @ b``, up to ``needed`` or further. Returns how far."""
    if needed <= ready:
        return ready
    stop = min(len(a), max(needed, ready + BLOCK // max(1, out.strides[0])))
    multiply(a[ready:stop], b, out[ready:stop], np.dot)
    return stop


def multiply_arrays(xp, a, b):
    """The product of two arrays of ``namespace_and_arrays``, whose namespace is ``xp``."""
    return multiply(a, b)


def columns_of(x, start, stop):
    """Some columns of a matrix, for ``matmul``."""
    return x[:, start:stop]
