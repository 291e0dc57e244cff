"""CPU kernels of lodkit/ops/recurrent_units.py: an LSTM step in registers. x has a row for each gate of each cell."""

from __future__ import annotations

import numpy as np

from ...arrays import native
from ...jit import jitable, parallel_kernel, prange, simd
from ..common.gates import step_lstm, step_lstm_grad

LANES = 16
# An element counts as this number of elements of other kernels when threads are chosen.
WORK = 16


@jitable(inline=True)
def _load(x, i, j):
    return simd.load_first(x, i, j, LANES, x.shape[1] - j, 0)


@jitable(inline=True)
def _gates(x, r, j, forget_bias):
    """The sums of the input, forget and output gate, and of the candidate."""
    forget_gate = _load(x, 4 * r + 1, j)
    return (
        _load(x, 4 * r, j),
        simd.add(forget_gate, simd.like(forget_gate, forget_bias)),
        _load(x, 4 * r + 2, j),
        _load(x, 4 * r + 3, j),
    )


@parallel_kernel
def _lstm(x, cell, forget_bias, new, hidden):
    for r in prange(len(cell)):
        for j in range(0, cell.shape[1], LANES):
            input_gate, forget_gate, output_gate, candidate = _gates(x, r, j, forget_bias)
            c, h = step_lstm(input_gate, forget_gate, output_gate, candidate, _load(cell, r, j))
            simd.store_first(new, r, j, c, cell.shape[1] - j)
            simd.store_first(hidden, r, j, h, cell.shape[1] - j)


@parallel_kernel
def _lstm_grad(x, cell, forget_bias, new, by_new, by_hidden, by_x, by_cell):
    for r in prange(len(cell)):
        for j in range(0, cell.shape[1], LANES):
            input_gate, forget_gate, output_gate, candidate = _gates(x, r, j, forget_bias)
            known = _load(cell, r, j), _load(new, r, j), _load(by_new, r, j), _load(by_hidden, r, j)
            a, b, c, d, e = step_lstm_grad(
                input_gate, forget_gate, output_gate, candidate, known[0], known[1], known[2], known[3]
            )
            simd.store_first(by_x, 4 * r, j, a, cell.shape[1] - j)
            simd.store_first(by_x, 4 * r + 1, j, b, cell.shape[1] - j)
            simd.store_first(by_x, 4 * r + 2, j, c, cell.shape[1] - j)
            simd.store_first(by_x, 4 * r + 3, j, d, cell.shape[1] - j)
            simd.store_first(by_cell, r, j, e, cell.shape[1] - j)


def _rows(x, size):
    """Rows of ``size`` elements as kernels read them."""
    x = np.ascontiguousarray(x, native(x.dtype)).reshape(-1, size)
    return x.view(np.uint16) if x.dtype == np.float16 else x


def lstm(x, cell, forget_bias, *results):
    """Put the new cells and hidden states into ``results``."""
    x, cell, *results = (_rows(each, cell.shape[1]) for each in (x, cell, *results))
    _lstm(x.size * WORK, x, cell, float(forget_bias), *results)


def lstm_grad(x, cell, forget_bias, *others):
    """Put the gradients into the last two of ``others``; before them the new cell and the gradients by the results."""
    x, cell, *others = (_rows(each, cell.shape[1]) for each in (x, cell, *others))
    _lstm_grad(x.size * WORK, x, cell, float(forget_bias), *others)
