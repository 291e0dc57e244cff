"""Kernels of lodkit/ops/recurrent_units.py: one step of those of gru; a step of an LSTM, which has no products."""

from __future__ import annotations

import numpy as np

from ... import ops
from ...arrays import native
from ...ops.recurrent_units import prepare_gru, prepare_lstm
from ...ops.shared.recurrent import gate_type
from ...registry import Dense
from .array_api import slope
from .gates import number_functions
from .gru import split_weight
from .recurrent import bias_row, to_contiguous


def _transpose(xp, x):
    return xp.permute_dims(x, (1, 0))


def _weights(xp, weight, size, layout):
    """The weights of both gates, and of the candidate."""
    if layout == "columns":
        return weight[:, : 2 * size], weight[:, 2 * size :]
    flat = xp.reshape(weight, (-1,))
    return xp.reshape(flat[: 2 * size * size], (size, 2 * size)), xp.reshape(flat[2 * size * size :], (size, size))


def _join_parts(xp, parts, shape, layout):
    """The inverse."""
    if layout == "columns":
        return xp.concat([*parts], axis=1)
    return xp.reshape(xp.concat([xp.reshape(part, (-1,)) for part in parts]), shape)


def _parts(x, size):
    """Columns of ``size`` side by side."""
    return [x[:, i : i + size] for i in range(0, x.shape[1], size)]


@ops.gru_unit.kernel("cpu", "cuda")
def gru_unit(
    on, x, hidden, weight, bias: Dense | None, /, *, gate_activation, candidate_activation, origin_mode, weight_layout
):
    size, rows = prepare_gru(x, hidden, weight, bias), x.shape[0]
    dtype, kind = native(x.dtype), gate_type(x.dtype)
    by_gates, by_candidate = split_weight(on, to_contiguous(on, weight, kind), size, weight_layout)
    gates, bias = on.convert(x, kind, new=True), bias_row(on, bias, 4 * size, kind, x)
    # States before and after the step, as the kernels of gru take them.
    states = on.output((2 * rows, size), kind, None, gates)
    products, reset, made = (on.output((rows, n), kind, None, gates) for n in (2 * size, size, size))
    if reset.size:
        before = on.copy_elements(to_contiguous(on, hidden, kind), on.part(states, 0, rows))
        numbers, activations = (0, rows, 0, rows), number_functions(gate_activation, candidate_activation)
        on.matmul(before, by_gates, products)
        on.gru.open_gates(gates, products, bias, states, reset, numbers, activations)
        on.matmul(reset, by_candidate, made)
        on.gru.mix(gates, made, bias, states, numbers, activations, (int(origin_mode), 0))
    with np.errstate(over="ignore"):
        new = on.convert(on.part(states, rows, 2 * rows), dtype, new=True)
        return new, on.convert(gates, dtype), on.convert(reset, dtype)


@ops.gru_unit_grad.kernel("cpu", "cuda")
def gru_unit_grad(
    on,
    x,
    hidden,
    weight,
    bias: Dense | None,
    gates,
    reset_hidden,
    grad: Dense | None,
    grad_gates: Dense | None,
    grad_reset: Dense | None,
    /,
    *,
    gate_activation,
    candidate_activation,
    origin_mode,
    weight_layout,
):
    size = prepare_gru(x, hidden, weight, bias, gates, reset_hidden, (grad, grad_gates, grad_reset))
    xp, h, w, gates, reset_hidden = on.namespace_and_arrays(hidden, weight, gates, reset_hidden)
    by_gates, by_candidate = _weights(xp, w, size, weight_layout)
    given = (grad, hidden), (grad_gates, x), (grad_reset, hidden)
    g, g_gates, g_reset = (
        xp.zeros_like(on.namespace_and_arrays(like)[1]) if each is None else on.namespace_and_arrays(each)[1]
        for each, like in given
    )
    update, reset, candidate = _parts(gates, size) if size else (h, h, h)
    by_update, by_reset, by_last = _parts(g_gates, size) if size else (h, h, h)
    with np.errstate(all="ignore"):
        new, enter, keep = (
            (candidate - h, update, 1 - update) if not origin_mode else (h - candidate, 1 - update, update)
        )
        by_last = (g * enter + by_last) * slope(xp, candidate_activation, candidate)
        by_product = on.multiply_arrays(xp, by_last, _transpose(xp, by_candidate)) + g_reset
        both = xp.concat([g * new + by_update, by_product * h + by_reset], axis=1)
        both = both * slope(xp, gate_activation, gates[:, : 2 * size])
        by_hidden = g * keep + by_product * reset + on.multiply_arrays(xp, both, _transpose(xp, by_gates))
        by_x = xp.concat([both, by_last], axis=1)
        parts = (
            on.multiply_arrays(xp, _transpose(xp, h), both),
            on.multiply_arrays(xp, _transpose(xp, reset_hidden), by_last),
        )
        by_weight = _join_parts(xp, parts, tuple(weight.shape), weight_layout)
        by_bias = xp.reshape(xp.sum(by_x, axis=0, dtype=xp.float64), (3 * size,) if bias is None else tuple(bias.shape))
        return on.round_like(x, by_x, by_hidden, by_weight, by_bias)


@ops.lstm_unit.kernel("cpu", "cuda")
def lstm_unit(on, x, cell, /, *, forget_bias):
    prepare_lstm(x, cell)
    new, hidden = (on.output(cell.shape, native(x.dtype), None, x) for _ in range(2))
    if cell.size:
        on.recurrent_units.lstm(x, cell, forget_bias, new, hidden)
    return new, hidden


@ops.lstm_unit_grad.kernel("cpu", "cuda")
def lstm_unit_grad(on, x, cell, out, grad: Dense | None, grad_hidden: Dense | None, /, *, forget_bias):
    prepare_lstm(x, cell, out, (grad, grad_hidden))
    by_x, by_cell = (on.output(each.shape, native(x.dtype), None, x) for each in (x, cell))
    if cell.size:
        given = (on.zeros(cell.shape, x.dtype, x) if g is None else on.convert(g, x.dtype) for g in (grad, grad_hidden))
        on.recurrent_units.lstm_grad(x, cell, forget_bias, out, *given, by_x, by_cell)
    return by_x, by_cell
