"""CUDA kernels of lodkit/ops/simple_rnn.py: the activation of a step, a thread per element."""

from __future__ import annotations

from ...arrays.cuda import device, elementwise, vector
from ...jit import simd
from ..common import gates

activated, clipped, slope, unclipped = map(device, (gates.activate, gates.clip, gates.slope, gates.clip_grad))


@elementwise
def _forward(e, sums, at, products, bias, adds, kind, limit, size, now, out):
    # ``sums`` may be ``out``.
    x = vector.load_written(sums, at * size + e, 1)
    if adds:
        x = simd.add(simd.add(x, vector.load(products, e, 1)), vector.load(bias, e % size, 1))
    vector.store(out, now * size + e, clipped(activated(kind, x), limit))


@elementwise
def _backward(e, results, grad, carried, first, kind, limit):
    y, g = vector.load(results, first + e, 1), vector.load_written(grad, first + e, 1)
    g = simd.add(g, vector.load(carried, e, 1))
    vector.store(grad, first + e, unclipped(slope(kind, y, g), y, limit))


def step(sums, at, products, bias, kind, count, now, out):
    """Fill the rows of a step, from ``now`` on: the activation of sums, products and bias."""
    limit, size = out.dtype.type("inf"), out.columns
    _forward(count * size, sums, at, products, bias, 1, kind, limit, size, now, out)


def activate(x, kind, limit, out):
    """Fill ``out`` with an activation of x, clipped."""
    _forward(out.size, x, 0, x, x, 0, kind, out.dtype.type(limit), out.columns, 0, out)


def step_grad(results, grad, carried, kind, limit, at, count):
    """Turn gradients by a step's states into those by its sums, in place; ``carried`` comes from the steps behind."""
    size = grad.columns
    _backward(count * size, results, grad, carried, at * size, kind, grad.dtype.type(limit))
