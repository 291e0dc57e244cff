"""CPU kernels of lodkit/ops/lstm.py: the gates of a step, in vectors."""

from __future__ import annotations

import functools

from ...jit import jitable, parallel_kernel, prange, simd
from ..common.gates import lstm_step, lstm_step_grad
from .simple_rnn import CHUNK, lanes_of


@functools.cache
def _parts(width):
    """Functions that load and store four gates, side by side in a row, and load the three peepholes."""

    @jitable(inline=True, nrt=False)
    def four(rows, i, j, size, n):
        return (
            simd.load_first(rows, i, j, width, n, 0),
            simd.load_first(rows, i, size + j, width, n, 0),
            simd.load_first(rows, i, 2 * size + j, width, n, 0),
            simd.load_first(rows, i, 3 * size + j, width, n, 0),
        )

    @jitable(inline=True, nrt=False)
    def put_four(rows, i, j, size, n, gates):
        simd.store_first(rows, i, j, gates[0], n)
        simd.store_first(rows, i, size + j, gates[1], n)
        simd.store_first(rows, i, 2 * size + j, gates[2], n)
        simd.store_first(rows, i, 3 * size + j, gates[3], n)

    @jitable(inline=True, nrt=False)
    def peepholes(bias, j, size, n):
        _, a, b, c = four(bias, 0, 3 * size + j, size, n)
        return a, b, c

    return four, put_four, peepholes


@functools.cache
def _forward(width):
    four, put_four, peepholes = _parts(width)

    @parallel_kernel
    def kernel(gates, products, bias, cells, hidden, numbers, kinds, limit):
        at, now, before, count, place = numbers
        size = cells.shape[1]
        for c in prange((count + CHUNK - 1) // CHUNK):
            for i in range(c * CHUNK, min(count, (c + 1) * CHUNK)):
                for j in range(0, size, width):
                    n = size - j
                    x, y, z = four(gates, at + i, j, size, n), four(products, i, j, size, n), four(bias, 0, j, size, n)
                    a, b = simd.add(simd.add(x[0], y[0]), z[0]), simd.add(simd.add(x[1], y[1]), z[1])
                    f, o = simd.add(simd.add(x[2], y[2]), z[2]), simd.add(simd.add(x[3], y[3]), z[3])
                    past = simd.load_first(cells, before + i, j, width, n, 0)
                    found, cell, made = lstm_step((a, b, f, o), past, peepholes(bias, j, size, n), kinds, limit)
                    put_four(gates, at + i, j, size, n, found)
                    simd.store_first(cells, now + i, j, cell, n)
                    simd.store_first(hidden, place + i, j, made, n)

    return kernel


@functools.cache
def _backward(width):
    four, put_four, peepholes = _parts(width)

    @parallel_kernel
    def kernel(gates, cells, grad, carried, by_cells, bias, by_gates, by_c, made, numbers, flags, kinds, limit):
        at, now, before, count, place = numbers
        of_cells, projected = flags
        size = cells.shape[1]
        for c in prange((count + CHUNK - 1) // CHUNK):
            for i in range(c * CHUNK, min(count, (c + 1) * CHUNK)):
                for j in range(0, size, width):
                    n = size - j
                    g, dc = simd.load_first(grad, place + i, j, width, n, 0), simd.load_first(by_c, i, j, width, n, 0)
                    if not projected:
                        g = simd.add(g, simd.load_first(carried, i, j, width, n, 0))
                    if of_cells:
                        dc = simd.add(dc, simd.load_first(by_cells, at + i, j, width, n, 0))
                    given, factors = four(gates, at + i, j, size, n), peepholes(bias, j, size, n)
                    cell = simd.load_first(cells, now + i, j, width, n, 0)
                    past = simd.load_first(cells, before + i, j, width, n, 0)
                    found, dc, y = lstm_step_grad(given, cell, past, g, dc, factors, kinds, limit)
                    put_four(by_gates, at + i, j, size, n, found)
                    simd.store_first(by_c, i, j, dc, n)
                    if projected:
                        simd.store_first(made, at + i, j, y, n)

    return kernel


def step(gates, products, bias, cells, hidden, numbers, kinds, limit):
    """Add the products and the bias to a step's gate sums, activate them in place; write its cells and hidden states.

    ``numbers``: the first row of the step among the gates, its first among the cells, that of the step before, how many
    rows the step has, and its first row in ``hidden``.
    """
    work = numbers[3] * cells.shape[1]
    _forward(lanes_of(gates))(work, gates, products, bias, cells, hidden, numbers, kinds, limit)


def step_grad(gates, cells, grad, carried, by_cells, bias, by_gates, by_c, made, numbers, flags, kinds, limit):
    """Write the gradients by a step's gate sums; those by its cells, in ``by_c``, become those by the cells before.

    ``numbers`` are as in ``step``, the last one for ``grad``. ``flags``: whether ``by_cells`` holds gradients by cells,
    and whether a projection follows; then ``made`` takes the hidden states, and ``grad`` has ``carried`` in it already.
    """
    kernel, work = _backward(lanes_of(gates)), numbers[3] * cells.shape[1]
    kernel(work, gates, cells, grad, carried, by_cells, bias, by_gates, by_c, made, numbers, flags, kinds, limit)
