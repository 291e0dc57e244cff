"""CPU part of lodkit/ops/match_matrix.py: a dot product per pair of rows, added up in double precision."""

from __future__ import annotations

from ...jit import advance, parallel_kernel, prange, segment_of, settings

# Each element is a sum, so a chunk has fewer elements than chunks of other kernels have rows.
SHARE = 16


@parallel_kernel
def _match(products, y, rows, columns, ends, chunk, out):
    width = y.shape[1]
    for c in prange((len(out) + chunk - 1) // chunk):
        s = segment_of(ends, c * chunk)
        for k in range(c * chunk, min(len(out), (c + 1) * chunk)):
            s = advance(ends, s, k)
            m, n, at = rows[s + 1] - rows[s], columns[s + 1] - columns[s], k - ends[s]
            t, i, j = at // (m * n), rows[s] + at // n % m, columns[s] + at % n
            total = 0.0
            for d in range(width):
                total += products[i, t * width + d] * y[j, d]
            out[k, 0] = total


@parallel_kernel
def _products_grad(y, grad, rows, columns, ends, out):
    width = y.shape[1]
    for i in prange(len(out)):
        s = segment_of(rows, i)
        m, n = rows[s + 1] - rows[s], columns[s + 1] - columns[s]
        for e in range(out.shape[1]):
            first, total = ends[s] + (e // width * m + i - rows[s]) * n, 0.0
            for j in range(n):
                total += grad[first + j, 0] * y[columns[s] + j, e % width]
            out[i, e] = total


@parallel_kernel
def _y_grad(products, grad, rows, columns, ends, channels, out):
    width = out.shape[1]
    for j in prange(len(out)):
        s = segment_of(columns, j)
        m, n = rows[s + 1] - rows[s], columns[s + 1] - columns[s]
        for d in range(width):
            total = 0.0
            for p in range(channels * m):
                total += grad[ends[s] + p * n + j - columns[s], 0] * products[rows[s] + p % m, p // m * width + d]
            out[j, d] = total


def match(products, y, rows, columns, ends, channels, out):
    """``out``: the matrices of every pair of sequences, of the products of x with the weight and the rows of y."""
    _match(out.size * y.shape[1], products, y, rows, columns, ends, max(1, settings.chunk_rows // SHARE), out)


def match_back(products, y, grad, rows, columns, ends, channels, by_products, by_y):
    """Gradients of ``match`` by the products and by the rows of y."""
    work = grad.size * y.shape[1]
    _products_grad(work, y, grad, rows, columns, ends, by_products)
    _y_grad(work, products, grad, rows, columns, ends, channels, by_y)
