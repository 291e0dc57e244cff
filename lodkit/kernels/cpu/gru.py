"""CPU kernels of lodkit/ops/gru.py: the gates of a step, in vectors."""

from __future__ import annotations

import functools

from ...jit import jitable, parallel_kernel, prange, simd
from ..common.gates import activate, gru_mix, gru_mix_grad, slope
from .simple_rnn import CHUNK, lanes_of


@functools.cache
def _open(width):
    @parallel_kernel
    def kernel(gates, products, bias, states, reset, numbers, kinds):
        at, _, before, count = numbers
        size = states.shape[1]
        for c in prange((count + CHUNK - 1) // CHUNK):
            for i in range(c * CHUNK, min(count, (c + 1) * CHUNK)):
                for j in range(0, size, width):
                    n, k = size - j, size + j
                    u, r = (
                        simd.load_first(gates, at + i, j, width, n, 0),
                        simd.load_first(gates, at + i, k, width, n, 0),
                    )
                    u = simd.add(u, simd.load_first(bias, 0, j, width, n, 0))
                    r = simd.add(r, simd.load_first(bias, 0, k, width, n, 0))
                    u = activate(kinds[0], simd.add(u, simd.load_first(products, i, j, width, n, 0)))
                    r = activate(kinds[0], simd.add(r, simd.load_first(products, i, k, width, n, 0)))
                    simd.store_first(gates, at + i, j, u, n)
                    simd.store_first(gates, at + i, k, r, n)
                    seen = simd.mul(r, simd.load_first(states, before + i, j, width, n, 0))
                    simd.store_first(reset, i, j, seen, n)

    return kernel


@functools.cache
def _mix(width):
    @parallel_kernel
    def kernel(gates, products, bias, states, numbers, kinds, modes):
        at, now, before, count = numbers
        size, (origin_mode, after) = states.shape[1], modes
        for c in prange((count + CHUNK - 1) // CHUNK):
            for i in range(c * CHUNK, min(count, (c + 1) * CHUNK)):
                for j in range(0, size, width):
                    n = size - j
                    a = simd.load_first(gates, at + i, 2 * size + j, width, n, 0)
                    a = simd.add(a, simd.load_first(bias, 0, 2 * size + j, width, n, 0))
                    p = simd.load_first(products, i, (2 * size if after else 0) + j, width, n, 0)
                    if after:
                        p = simd.add(p, simd.load_first(bias, 0, 3 * size + j, width, n, 0))
                        p = simd.mul(p, simd.load_first(gates, at + i, size + j, width, n, 0))
                    a = activate(kinds[1], simd.add(a, p))
                    u = simd.load_first(gates, at + i, j, width, n, 0)
                    past = simd.load_first(states, before + i, j, width, n, 0)
                    simd.store_first(gates, at + i, 2 * size + j, a, n)
                    simd.store_first(states, now + i, j, gru_mix(u, a, past, origin_mode), n)

    return kernel


@functools.cache
def _products_grad(width):
    @jitable(inline=True, nrt=False)
    def fill(i, j, gates, made, bias, by_update, by_candidate, kind, by_gates, by_products):
        """The gradients by products with the states before, and by the reset gates that are applied to them."""
        size = made.shape[1]
        n, k = size - j, size + j
        reset, product = simd.load_first(gates, i, k, width, n, 0), simd.load_first(made, i, j, width, n, 0)
        product = simd.add(product, simd.load_first(bias, 0, 3 * size + j, width, n, 0))
        by_reset = slope(kind, reset, simd.mul(by_candidate, product))
        simd.store_first(by_gates, i, k, by_reset, n)
        simd.store_first(by_products, i, j, by_update, n)
        simd.store_first(by_products, i, k, by_reset, n)
        simd.store_first(by_products, i, size + k, simd.mul(by_candidate, reset), n)

    return fill


@functools.cache
def _mix_grad(width):
    products_grad = _products_grad(width)

    @parallel_kernel
    def kernel(gates, states, grad, by_h, made, bias, by_gates, by_products, carried, numbers, kinds, modes):
        at, _, before, count = numbers
        size, (origin_mode, after) = states.shape[1], modes
        for c in prange((count + CHUNK - 1) // CHUNK):
            for i in range(c * CHUNK, min(count, (c + 1) * CHUNK)):
                for j in range(0, size, width):
                    n, m = size - j, 2 * size + j
                    g = simd.load_first(grad, at + i, j, width, n, 0)
                    g = simd.add(g, simd.load_first(by_h, i, j, width, n, 0))
                    g = simd.add(g, simd.load_first(carried, i, j, width, n, 0))
                    u = simd.load_first(gates, at + i, j, width, n, 0)
                    a = simd.load_first(gates, at + i, m, width, n, 0)
                    past = simd.load_first(states, before + i, j, width, n, 0)
                    by_u, by_a, past = gru_mix_grad(u, a, past, g, origin_mode)
                    by_u, by_a = slope(kinds[0], u, by_u), slope(kinds[1], a, by_a)
                    simd.store_first(by_gates, at + i, j, by_u, n)
                    simd.store_first(by_gates, at + i, m, by_a, n)
                    simd.store_first(carried, i, j, past, n)
                    if after:
                        products_grad(at + i, j, gates, made, bias, by_u, by_a, kinds[0], by_gates, by_products)

    return kernel


@functools.cache
def _open_grad(width):
    @parallel_kernel
    def kernel(gates, states, by_reset, by_gates, carried, made, numbers, kinds):
        at, _, before, count = numbers
        size = states.shape[1]
        for c in prange((count + CHUNK - 1) // CHUNK):
            for i in range(c * CHUNK, min(count, (c + 1) * CHUNK)):
                for j in range(0, size, width):
                    n = size - j
                    g = simd.load_first(by_reset, i, j, width, n, 0)
                    r = simd.load_first(gates, at + i, size + j, width, n, 0)
                    past = simd.load_first(states, before + i, j, width, n, 0)
                    simd.store_first(by_gates, at + i, size + j, slope(kinds[0], r, simd.mul(g, past)), n)
                    simd.store_first(made, at + i, j, simd.mul(r, past), n)
                    simd.store_first(carried, i, j, simd.fma(g, r, simd.load_first(carried, i, j, width, n, 0)), n)

    return kernel


def _work(states, numbers):
    return numbers[3] * states.shape[1]


def open_gates(gates, products, bias, states, reset, numbers, kinds):
    """Add the products and the bias to the sums of a step's update and reset gates, and activate them in place.

    ``reset`` takes the reset gates times the states before. ``numbers``: the first row of the step among the gates, its
    first among the states, that of the step before, and how many rows the step has.
    """
    _open(lanes_of(gates))(_work(states, numbers), gates, products, bias, states, reset, numbers, kinds)


def mix(gates, products, bias, states, numbers, kinds, modes):
    """Add the products and the bias to a step's candidate sums, activate them in place, and write its states."""
    _mix(lanes_of(gates))(_work(states, numbers), gates, products, bias, states, numbers, kinds, modes)


def mix_grad(gates, states, grad, by_h, made, bias, by_gates, by_products, carried, numbers, kinds, modes):
    """Write the gradients by a step's sums of update gates and candidates; ``carried`` takes the part past the gates.

    The reset gates need a product first, see ``open_gates_grad``; only where they are applied behind the product are
    their gradients written here, and those by the products.
    """
    inputs = gates, states, grad, by_h, made, bias, by_gates, by_products, carried, numbers, kinds, modes
    _mix_grad(lanes_of(gates))(_work(states, numbers), *inputs)


def open_gates_grad(gates, states, by_reset, by_gates, carried, made, numbers, kinds):
    """Write the gradients of the reset pre-activations, and the reset states that were multiplied by the weight.

    ``by_reset`` are the gradients by these states; what flows on to the states before is added to ``carried``.
    """
    inputs = gates, states, by_reset, by_gates, carried, made, numbers, kinds
    _open_grad(lanes_of(gates))(_work(states, numbers), *inputs)
