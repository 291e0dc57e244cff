"""Kernels of lodkit/ops/gru.py: matrix products of steps by the array library, the gates by the device."""

from __future__ import annotations

import math

import numpy as np

from ... import ops
from ...arrays import native
from ...lod import LoDTensor
from ...ops.gru import prepare
from ...ops.sequence_pool import with_outer_levels
from ...ops.shared.recurrent import Steps, check_last_gradient, check_results, gate_type
from . import recurrent
from .gates import number_functions
from .recurrent import to_contiguous


class _Layer:
    """Weights in the type that is computed in, the order of the steps, activations and modes."""

    def __init__(self, on, x, given, offsets, size, reverse, activations, modes, layout):
        input_weight, weight, bias, h0 = given
        self.dtype, self.kind, self.size = native(x.values.dtype), gate_type(x.values.dtype), size
        self.steps = Steps(offsets, reverse)
        self.input_weight, self.weight, self.h0 = (to_contiguous(on, a, self.kind) for a in (input_weight, weight, h0))
        self.gate_weight, self.candidate_weight = map(on.to_contiguous, split_weight(on, self.weight, size, layout))
        self.bias = recurrent.bias_row(on, bias, 4 * size, self.kind, x.values)
        self.activations = number_functions(*activations)
        self.origin_mode, self.reset_after = self.modes = tuple(map(int, modes))


def split_weight(on, weight, size, layout):
    """The weights of both gates, and of the candidate."""
    if layout == "columns":
        return on.columns_of(weight, 0, 2 * size), on.columns_of(weight, 2 * size, 3 * size)
    rows = weight.reshape(3 * size, size)
    return on.part(rows, 0, 2 * size).reshape(size, 2 * size), on.part(rows, 2 * size, 3 * size)


@ops.gru.kernel("cpu", "cuda")
def gru(
    on, x: LoDTensor, input_weight, weight, bias, h0, /, *, level, reverse, gate_activation, candidate_activation,
    origin_mode, reset_after, weight_layout,
):  # fmt: skip
    given = input_weight, weight, bias, h0
    offsets, size = prepare(x, *given, level, reset_after, weight_layout)
    activations, modes = (gate_activation, candidate_activation), (origin_mode, reset_after)
    layer = _Layer(on, x, given, offsets, size, reverse, activations, modes, weight_layout)
    sums = recurrent.Sums(on, x, input_weight, layer.steps, layer.kind)
    out = recurrent.from_time_major(on, layer.steps, _walk(on, layer, sums), layer.dtype)
    last = recurrent.last_states(on, out, h0, layer.steps)
    return x.with_values(out), with_outer_levels(x, level, last), sums.values


def _walk(on, layer, sums):
    """Walk the steps, and put the gates in place of their sums. Returns the states of all steps."""
    steps, gates, size, after = layer.steps, sums.values, layer.size, layer.reset_after
    out = recurrent.states(on, layer.h0, steps, size, gates)
    products = on.zeros((steps.first, 3 * size if after else 2 * size), layer.kind, gates)
    reset, made = (on.zeros((steps.first, size), layer.kind, gates) for _ in range(2))
    for at, now, before, count in sums.walk():
        starts = not at and layer.h0 is None
        if not starts:
            seen, weight = on.part(out, before, before + count), layer.weight if after else layer.gate_weight
            on.matmul(seen, weight, on.part(products, 0, count))
        numbers = at, now, before, count
        on.gru.open_gates(gates, products, layer.bias, out, reset, numbers, layer.activations)
        if not (after or starts):
            on.matmul(on.part(reset, 0, count), layer.candidate_weight, on.part(made, 0, count))
        on.gru.mix(gates, products if after else made, layer.bias, out, numbers, layer.activations, layer.modes)
    return out


@ops.gru_grad.kernel("cpu", "cuda")
def gru_grad(
    on, x: LoDTensor, input_weight, weight, bias, h0, hidden, gates, grad, grad_last, /, *, level, reverse,
    gate_activation, candidate_activation, origin_mode, reset_after, weight_layout,
):  # fmt: skip
    given = input_weight, weight, bias, h0
    offsets, size = prepare(x, *given, level, reset_after, weight_layout)
    check_results(len(x.values), (gates, 3 * size), grad, size, hidden=(hidden, size))
    check_last_gradient(grad_last, offsets, size)
    activations, modes = (gate_activation, candidate_activation), (origin_mode, reset_after)
    layer = _Layer(on, x, given, offsets, size, reverse, activations, modes, weight_layout)
    steps, kind, dtype = layer.steps, layer.kind, layer.dtype
    by_gates, by_products, made, by_h = _walk_back(on, layer, hidden, gates, grad, grad_last)
    found = [*recurrent.input_grads(on, x, layer.input_weight, by_gates, steps, dtype)]
    seen, skipped = recurrent.previous_states(on, hidden, layer.h0, steps, kind)
    by_seen = on.part(by_products, skipped, len(by_products))
    if reset_after:
        found.append(on.matmul(seen, by_seen, transpose="left"))
    else:
        by_weight = on.matmul(seen, on.columns_of(by_seen, 0, 2 * size), transpose="left")
        by_candidate = on.matmul(made, on.columns_of(by_gates, 2 * size, 3 * size), transpose="left")
        found.append(_join_weight(on, by_weight, by_candidate, size, weight_layout))
    if bias is not None:
        sums = [recurrent.column_sums(on, by_gates)]
        if math.prod(bias.shape) > 3 * size:
            sums.append(recurrent.column_sums(on, on.to_contiguous(on.columns_of(by_products, 2 * size, 3 * size))))
        found.append(on.join_rows([s.reshape(-1) for s in sums]).reshape(*bias.shape))
    found += [recurrent.initial_grad(on, by_h, steps, h0, grad_last)] if h0 is not None else []
    with np.errstate(over="ignore"):
        return tuple(on.convert(g, dtype) for g in found)


def _join_weight(on, gates, candidate, size, layout):
    """A weight of its two parts: the reverse of ``split_weight``."""
    blocks = on.join_rows([on.to_contiguous(a).reshape(-1) for a in (gates, candidate)])
    if layout == "blocks":
        return blocks.reshape(size, 3 * size)
    row = np.arange(size)[:, None]
    order = np.hstack([2 * row, 2 * row + 1, 2 * size + row]).reshape(-1)
    return on.take_rows(blocks.reshape(3 * size, size), order).reshape(size, 3 * size)


def _walk_back(on, layer, hidden, gates, grad, grad_last):
    """Walk the steps backwards.

    Returns the gradients of the sums of the gates, of the products with states, what the candidates saw, and the
    gradient of the first states.
    """
    steps, kind, size, after = layer.steps, layer.kind, layer.size, layer.reset_after
    gates, grad = to_contiguous(on, gates, kind), recurrent.to_time_major(on, grad, steps, kind)
    states = recurrent.states_of(on, layer.h0, hidden, steps, kind)
    by_gates, made = (on.output((len(gates), n), kind, None, gates) for n in (3 * size, size))
    by_products = by_gates
    if after and gates.size:
        made = on.matmul(on.take_rows(states, steps.previous), layer.candidate_weight)
        by_products = on.output(gates.shape, kind, None, gates)
    by_h = recurrent.carried_grad(on, grad_last, steps, size, kind, gates)
    carried, by_reset = (on.zeros((steps.first, size), kind, gates) for _ in range(2))
    for at, now, before, count in reversed([*recurrent.walk(steps)] if gates.size else []):
        numbers, rows = (at, now, before, count), (at, at + count)
        inputs = gates, states, grad, by_h, made, layer.bias
        on.gru.mix_grad(*inputs, by_gates, by_products, carried, numbers, layer.activations, layer.modes)
        part, weight = on.part(by_products, *rows), layer.weight
        if not after:
            by_candidates = on.columns_of(part, 2 * size, 3 * size)
            on.matmul(by_candidates, layer.candidate_weight, on.part(by_reset, 0, count), transpose="right")
            on.gru.open_gates_grad(gates, states, by_reset, by_gates, carried, made, numbers, layer.activations)
            part, weight = on.columns_of(part, 0, 2 * size), layer.gate_weight
        on.matmul(part, weight, on.part(by_h, 0, count), transpose="right")
    if carried.size:  # their sum
        on.simple_rnn.step_grad(by_h, carried, by_h, 0, math.inf, 0, steps.first)
    return by_gates, by_products, made, carried
