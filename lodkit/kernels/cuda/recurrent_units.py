"""CUDA kernels of lodkit/ops/recurrent_units.py: a thread takes an element of a cell."""

from __future__ import annotations

from ...arrays.cuda import device, elementwise, vector
from ...jit import simd
from ..common import gates

step_lstm, step_lstm_grad = device(gates.step_lstm), device(gates.step_lstm_grad)


@elementwise
def _lstm(i, x, cell, forget_bias, size, new, hidden):
    at = i + 3 * size * (i // size)  # the input gate of this element
    forget_gate = vector.load(x, at + size, 1)
    forget_gate = simd.add(forget_gate, simd.like(forget_gate, forget_bias))
    output_gate, candidate = vector.load(x, at + 2 * size, 1), vector.load(x, at + 3 * size, 1)
    c, h = step_lstm(vector.load(x, at, 1), forget_gate, output_gate, candidate, vector.load(cell, i, 1))
    vector.store(new, i, c)
    vector.store(hidden, i, h)


def lstm(x, cell, forget_bias, new, hidden):
    """Put the new cells and hidden states into ``new`` and ``hidden``."""
    _lstm(cell.size, x, cell, x.compute_dtype.type(forget_bias), cell.columns, new, hidden)


@elementwise
def _lstm_grad(i, x, cell, forget_bias, size, new, by_new, by_hidden, by_x, by_cell):
    at = i + 3 * size * (i // size)
    forget_gate = vector.load(x, at + size, 1)
    forget_gate = simd.add(forget_gate, simd.like(forget_gate, forget_bias))
    output_gate, candidate = vector.load(x, at + 2 * size, 1), vector.load(x, at + 3 * size, 1)
    known = vector.load(cell, i, 1), vector.load(new, i, 1), vector.load(by_new, i, 1), vector.load(by_hidden, i, 1)
    a, b, c, d, e = step_lstm_grad(
        vector.load(x, at, 1), forget_gate, output_gate, candidate, known[0], known[1], known[2], known[3]
    )
    vector.store(by_x, at, a)
    vector.store(by_x, at + size, b)
    vector.store(by_x, at + 2 * size, c)
    vector.store(by_x, at + 3 * size, d)
    vector.store(by_cell, i, e)


def lstm_grad(x, cell, forget_bias, new, by_new, by_hidden, by_x, by_cell):
    """Put the gradients into ``by_x`` and ``by_cell``."""
    bias = x.compute_dtype.type(forget_bias)
    _lstm_grad(cell.size, x, cell, bias, cell.columns, new, by_new, by_hidden, by_x, by_cell)
