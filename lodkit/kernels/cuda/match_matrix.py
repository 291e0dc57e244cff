"""CUDA part of lodkit/ops/match_matrix.py: a thread per element of a result."""

from __future__ import annotations

from ...arrays.cuda import elementwise, vector
from ...jit import simd
from .primitives.offsets import offsets_like
from .primitives.row_kernels import segment_of


@elementwise
def _match(k, products, y, rows, columns, ends, segments, width, channels, out):
    s = segment_of(ends, segments, k)
    m, n = rows[s + 1] - rows[s], columns[s + 1] - columns[s]
    at = k - ends[s]
    left = ((rows[s] + at // n % m) * channels + at // (m * n)) * width
    right, total = (columns[s] + at % n) * width, simd.full(y, 1, 0)
    for d in range(width):
        total = simd.fma(vector.load(products, left + d, 1), vector.load(y, right + d, 1), total)
    vector.store(out, k, total)


@elementwise
def _products_grad(k, y, grad, rows, columns, ends, segments, width, channels, out):
    i, e = k // (channels * width), k % (channels * width)
    s = segment_of(rows, segments, i)
    m, n = rows[s + 1] - rows[s], columns[s + 1] - columns[s]
    first, total = ends[s] + (e // width * m + i - rows[s]) * n, simd.full(y, 1, 0)
    for j in range(n):
        seen = vector.load(y, (columns[s] + j) * width + e % width, 1)
        total = simd.fma(vector.load(grad, first + j, 1), seen, total)
    vector.store(out, k, total)


@elementwise
def _y_grad(k, products, grad, rows, columns, ends, segments, width, channels, out):
    j, d = k // width, k % width
    s = segment_of(columns, segments, j)
    m, n = rows[s + 1] - rows[s], columns[s + 1] - columns[s]
    total = simd.full(grad, 1, 0)
    for p in range(channels * m):
        seen = vector.load(products, ((rows[s] + p % m) * channels + p // m) * width + d, 1)
        total = simd.fma(vector.load(grad, ends[s] + p * n + j - columns[s], 1), seen, total)
    vector.store(out, k, total)


def _send_offsets(like, rows, columns, ends, channels):
    offsets = [offsets_like(like, numbers).offsets for numbers in (rows, columns, ends)]
    return *offsets, len(ends) - 1, like.columns, channels


def match(products, y, rows, columns, ends, channels, out):
    """``out``: the matrices of every pair of sequences, of the products of x with the weight and the rows of y."""
    _match(out.size, products, y, *_send_offsets(y, rows, columns, ends, channels), out)


def match_back(products, y, grad, rows, columns, ends, channels, by_products, by_y):
    """Gradients of ``match`` by the products and by the rows of y."""
    pairs = _send_offsets(y, rows, columns, ends, channels)
    _products_grad(by_products.size, y, grad, *pairs, by_products)
    _y_grad(by_y.size, products, grad, *pairs, by_y)
