"""CPU kernels of lodkit/ops/simple_rnn.py: the activation of a step, in vectors."""

from __future__ import annotations

import functools

from ...jit import parallel_kernel, prange, simd
from ..common.gates import activate as activated
from ..common.gates import clip, clip_grad, slope

CHUNK = 8  # rows of a chunk


def lanes_of(array):
    """Lanes of the vectors in which elements of this type are computed: 64 bytes."""
    return 64 // array.itemsize


@functools.cache
def _forward(width):
    @parallel_kernel
    def kernel(sums, at, products, bias, adds, kind, limit, count, now, out):
        for c in prange((count + CHUNK - 1) // CHUNK):
            for i in range(c * CHUNK, min(count, (c + 1) * CHUNK)):
                for j in range(0, out.shape[1], width):
                    n = out.shape[1] - j
                    x = simd.load_first(sums, at + i, j, width, n, 0)
                    if adds:
                        x = simd.add(x, simd.load_first(products, i, j, width, n, 0))
                        x = simd.add(x, simd.load_first(bias, 0, j, width, n, 0))
                    simd.store_first(out, now + i, j, clip(activated(kind, x), limit), n)

    return kernel


@functools.cache
def _backward(width):
    @parallel_kernel
    def kernel(results, grad, carried, at, kind, limit, count):
        for c in prange((count + CHUNK - 1) // CHUNK):
            for i in range(c * CHUNK, min(count, (c + 1) * CHUNK)):
                for j in range(0, grad.shape[1], width):
                    n = grad.shape[1] - j
                    y = simd.load_first(results, at + i, j, width, n, 0)
                    g = simd.load_first(grad, at + i, j, width, n, 0)
                    g = simd.add(g, simd.load_first(carried, i, j, width, n, 0))
                    simd.store_first(grad, at + i, j, clip_grad(slope(kind, y, g), y, limit), n)

    return kernel


def step(sums, at, products, bias, kind, count, now, out):
    """Fill the rows of a step, from ``now`` on: the activation of sums, products and bias."""
    _forward(lanes_of(out))(count * out.shape[1], sums, at, products, bias, True, kind, float("inf"), count, now, out)


def activate(x, kind, limit, out):
    """Fill ``out`` with an activation of x, clipped."""
    _forward(lanes_of(out))(out.size, x, 0, x, x, False, kind, limit, len(out), 0, out)


def step_grad(results, grad, carried, kind, limit, at, count):
    """Turn gradients by a step's states into those by its sums, in place; ``carried`` comes from the steps behind."""
    _backward(lanes_of(grad))(count * grad.shape[1], results, grad, carried, at, kind, limit, count)
