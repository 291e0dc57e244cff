"""CUDA kernels of lodkit/ops/gru.py: the gates of a step, a thread per element of the states."""

from __future__ import annotations

from ...arrays.cuda import device, elementwise, vector
from ...jit import simd
from ..common import gates as steps

activate, slope, mixed, mixed_grad = map(device, (steps.activate, steps.slope, steps.gru_mix, steps.gru_mix_grad))


@elementwise
def _open(e, gates, products, bias, states, reset, at, before, size, wide, kind):
    i, j = e // size, e % size
    first, second = (at + i) * 3 * size + j, i * wide + j
    u = simd.add(vector.load_written(gates, first, 1), vector.load(bias, j, 1))
    r = simd.add(vector.load_written(gates, first + size, 1), vector.load(bias, size + j, 1))
    u = activate(kind, simd.add(u, vector.load(products, second, 1)))
    r = activate(kind, simd.add(r, vector.load(products, second + size, 1)))
    vector.store(gates, first, u)
    vector.store(gates, first + size, r)
    vector.store(reset, e, simd.mul(r, vector.load(states, before * size + e, 1)))


@elementwise
def _mix(e, gates, products, bias, states, at, now, before, size, kind, origin_mode, after):
    i, j = e // size, e % size
    first = (at + i) * 3 * size + j
    a = simd.add(vector.load_written(gates, first + 2 * size, 1), vector.load(bias, 2 * size + j, 1))
    p = vector.load(products, (3 * i + 2) * size + j if after else e, 1)
    if after:
        p = simd.add(p, vector.load(bias, 3 * size + j, 1))
        p = simd.mul(p, vector.load_written(gates, first + size, 1))
    a, u = activate(kind, simd.add(a, p)), vector.load_written(gates, first, 1)
    vector.store(gates, first + 2 * size, a)
    past = vector.load_written(states, before * size + e, 1)
    vector.store(states, now * size + e, mixed(u, a, past, origin_mode))


@device
def _products_grad(first, size, gates, product, by_update, by_candidate, kind, by_gates, by_products):
    """The gradients by products with the states before, and by the reset gates that are applied to them."""
    reset = vector.load(gates, first + size, 1)
    by_reset = slope(kind, reset, simd.mul(by_candidate, product))
    vector.store(by_gates, first + size, by_reset)
    vector.store(by_products, first, by_update)
    vector.store(by_products, first + size, by_reset)
    vector.store(by_products, first + 2 * size, simd.mul(by_candidate, reset))


@elementwise
def _mix_grad(
    e, gates, states, grad, by_h, made, bias, by_gates, by_products, carried, at, before, size, gate, candidate,
    origin_mode, after,
):  # fmt: skip
    i, j = e // size, e % size
    first, row = (at + i) * 3 * size + j, at * size + e
    g = simd.add(vector.load(grad, row, 1), vector.load(by_h, e, 1))
    g = simd.add(g, vector.load_written(carried, e, 1))
    u, a = vector.load(gates, first, 1), vector.load(gates, first + 2 * size, 1)
    by_u, by_a, past = mixed_grad(u, a, vector.load(states, before * size + e, 1), g, origin_mode)
    by_u, by_a = slope(gate, u, by_u), slope(candidate, a, by_a)
    vector.store(by_gates, first, by_u)
    vector.store(by_gates, first + 2 * size, by_a)
    vector.store(carried, e, past)
    if after:
        product = simd.add(vector.load(made, row, 1), vector.load(bias, 3 * size + j, 1))
        _products_grad(first, size, gates, product, by_u, by_a, gate, by_gates, by_products)


@elementwise
def _open_grad(e, gates, states, by_reset, by_gates, carried, made, at, before, size, kind):
    second = (at + e // size) * 3 * size + size + e % size
    g, r = vector.load(by_reset, e, 1), vector.load(gates, second, 1)
    past = vector.load(states, before * size + e, 1)
    vector.store(by_gates, second, slope(kind, r, simd.mul(g, past)))
    vector.store(made, at * size + e, simd.mul(r, past))
    vector.store(carried, e, simd.fma(g, r, vector.load_written(carried, e, 1)))


def open_gates(gates, products, bias, states, reset, numbers, kinds):
    """Add the products and the bias to the sums of a step's update and reset gates, and activate them in place.

    ``reset`` takes the reset gates times the states before. ``numbers``: the first row of the step among the gates, its
    first among the states, that of the step before, and how many rows the step has.
    """
    (at, _, before, count), size = numbers, states.columns
    shape = at, before, size, products.columns, kinds[0]
    _open(count * size, gates, products, bias, states, reset, *shape)


def mix(gates, products, bias, states, numbers, kinds, modes):
    """Add the products and the bias to a step's candidate sums, activate them in place, and write its states."""
    (at, now, before, count), size = numbers, states.columns
    _mix(count * size, gates, products, bias, states, at, now, before, size, kinds[1], *modes)


def mix_grad(gates, states, grad, by_h, made, bias, by_gates, by_products, carried, numbers, kinds, modes):
    """Write the gradients by a step's sums of update gates and candidates; ``carried`` takes the part past the gates.

    The reset gates need a product first, see ``open_gates_grad``; only where they are applied behind the product are
    their gradients written here, and those by the products.
    """
    (at, _, before, count), size = numbers, states.columns
    arrays = gates, states, grad, by_h, made, bias, by_gates, by_products, carried
    _mix_grad(count * size, *arrays, at, before, size, *kinds, *modes)


def open_gates_grad(gates, states, by_reset, by_gates, carried, made, numbers, kinds):
    """Write the gradients of the reset pre-activations, and the reset states that were multiplied by the weight.

    ``by_reset`` are the gradients by these states; what flows on to the states before is added to ``carried``.
    """
    (at, _, before, count), size = numbers, states.columns
    _open_grad(count * size, gates, states, by_reset, by_gates, carried, made, at, before, size, kinds[0])
