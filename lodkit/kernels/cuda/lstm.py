"""CUDA kernels of lodkit/ops/lstm.py: the gates of a step, a thread per cell."""

from __future__ import annotations

from ...arrays.cuda import device, elementwise, vector
from ...jit import simd
from ..common import gates as steps

forward, backward = device(steps.lstm_step), device(steps.lstm_step_grad)


@device
def _sum(sums, row, products, i, bias, j, size):
    """The sum of one gate, of element j of four gates in a row."""
    found = simd.add(vector.load_written(sums, row * 4 * size + j, 1), vector.load(products, i * 4 * size + j, 1))
    return simd.add(found, vector.load(bias, j, 1))


@device
def _peepholes(bias, j, size):
    first = 4 * size + j
    return vector.load(bias, first, 1), vector.load(bias, first + size, 1), vector.load(bias, first + 2 * size, 1)


@device
def _put_four(out, first, size, gates):
    vector.store(out, first, gates[0])
    vector.store(out, first + size, gates[1])
    vector.store(out, first + 2 * size, gates[2])
    vector.store(out, first + 3 * size, gates[3])


@elementwise
def _forward(e, gates, products, bias, cells, hidden, at, now, before, place, size, gate, candidate, cell, limit):
    i, j = e // size, e % size
    a, b = _sum(gates, at + i, products, i, bias, j, size), _sum(gates, at + i, products, i, bias, size + j, size)
    f = _sum(gates, at + i, products, i, bias, 2 * size + j, size)
    o = _sum(gates, at + i, products, i, bias, 3 * size + j, size)
    past, factors = vector.load_written(cells, before * size + e, 1), _peepholes(bias, j, size)
    four, found, made = forward((a, b, f, o), past, factors, (gate, candidate, cell), limit)
    _put_four(gates, (at + i) * 4 * size + j, size, four)
    vector.store(cells, now * size + e, found)
    vector.store(hidden, place * size + e, made)


@elementwise
def _backward(
    e, gates, cells, grad, carried, by_cells, bias, by_gates, by_c, made, at, now, before, place, of_cells, projected,
    size, gate, candidate, cell, limit,
):  # fmt: skip
    i, j = e // size, e % size
    g, dc = vector.load(grad, place * size + e, 1), vector.load_written(by_c, e, 1)
    if not projected:
        g = simd.add(g, vector.load(carried, e, 1))
    if of_cells:
        dc = simd.add(dc, vector.load(by_cells, at * size + e, 1))
    first = (at + i) * 4 * size + j
    a, b = vector.load(gates, first, 1), vector.load(gates, first + size, 1)
    f, o = vector.load(gates, first + 2 * size, 1), vector.load(gates, first + 3 * size, 1)
    found, past = vector.load(cells, now * size + e, 1), vector.load(cells, before * size + e, 1)
    factors = _peepholes(bias, j, size)
    four, dc, y = backward((a, b, f, o), found, past, g, dc, factors, (gate, candidate, cell), limit)
    _put_four(by_gates, first, size, four)
    vector.store(by_c, e, dc)
    if projected:
        vector.store(made, at * size + e, y)


def step(gates, products, bias, cells, hidden, numbers, kinds, limit):
    """Add the products and the bias to a step's gate sums, activate them in place; write its cells and hidden states.

    ``numbers``: the first row of the step among the gates, its first among the cells, that of the step before, how many
    rows the step has, and its first row in ``hidden``.
    """
    (at, now, before, count, place), size = numbers, cells.columns
    limit = cells.dtype.type(limit)
    numbers = at, now, before, place, size, *kinds, limit
    _forward(count * size, gates, products, bias, cells, hidden, *numbers)


def step_grad(gates, cells, grad, carried, by_cells, bias, by_gates, by_c, made, numbers, flags, kinds, limit):
    """Write the gradients by a step's gate sums; those by its cells, in ``by_c``, become those by the cells before.

    ``numbers`` are as in ``step``, the last one for ``grad``. ``flags``: whether ``by_cells`` holds gradients by cells,
    and whether a projection follows; then ``made`` takes the hidden states, and ``grad`` has ``carried`` in it already.
    """
    (at, now, before, count, place), size = numbers, cells.columns
    numbers = at, now, before, place, *map(int, flags), size, *kinds, cells.dtype.type(limit)
    _backward(count * size, gates, cells, grad, carried, by_cells, bias, by_gates, by_c, made, *numbers)
