"""Kernels of lodkit/ops/lstm.py: a matrix product a step by the array library, the gates by the device."""

from __future__ import annotations

import math

import numpy as np

from ... import ops
from ...arrays import native
from ...lod import LoDTensor
from ...ops.lstm import prepare, prepare_grad
from ...ops.sequence_pool import with_outer_levels
from ...ops.shared.recurrent import Steps, gate_type
from . import recurrent
from .gates import number_functions
from .recurrent import to_contiguous


class _Layer:
    """Weights in the type that is computed in, the order of the steps, the numbers of activations, and limits."""

    def __init__(self, on, x, given, sizes, reverse, activations, limits):
        input_weight, weight, bias, h0, c0, projection = given
        self.dtype, self.kind = native(x.values.dtype), gate_type(x.values.dtype)
        others = input_weight, weight, h0, c0, projection
        self.input_weight, self.weight, self.h0, self.c0, self.projection = (
            to_contiguous(on, a, self.kind) for a in others
        )
        self.steps = Steps(sizes.offsets, reverse)
        self.bias = recurrent.bias_row(on, bias, 7 * sizes.cell, self.kind, x.values)
        *self.activations, self.projected = number_functions(*activations)
        self.activations = tuple(self.activations)
        self.limit, self.projection_limit = (limit or math.inf for limit in limits)


@ops.lstm.kernel("cpu", "cuda")
def lstm(
    on, x: LoDTensor, input_weight, weight, bias, h0, c0, projection, /, *, level, reverse, gate_activation,
    cell_activation, candidate_activation, projection_activation, cell_clip, projection_clip, cell_gradient,
):  # fmt: skip
    given, clips = (input_weight, weight, bias, h0, c0, projection), (cell_clip, projection_clip)
    sizes = prepare(x, *given, level, *clips, projection_activation)
    activations = gate_activation, candidate_activation, cell_activation, projection_activation
    layer = _Layer(on, x, given, sizes, reverse, activations, clips)
    sums = recurrent.Sums(on, x, input_weight, layer.steps, layer.kind)
    out, cells = _walk(on, layer, sums, sizes)
    hidden, cell = (recurrent.from_time_major(on, layer.steps, a, layer.dtype) for a in (out, cells))
    last = (recurrent.last_states(on, a, first, layer.steps) for a, first in ((hidden, h0), (cell, c0)))
    return x.with_values(hidden), *(with_outer_levels(x, level, a) for a in last), x.with_values(cell), sums.values


def _walk(on, layer, sums, sizes):
    """Walk the steps, and put the gates in place of their sums. Returns the outputs and the cells of all steps."""
    steps, gates, projected = layer.steps, sums.values, layer.projection is not None
    out = recurrent.states(on, layer.h0, steps, sizes.out, gates)
    cells = recurrent.states(on, layer.c0, steps, sizes.cell, gates)
    hidden = on.output((steps.first, sizes.cell), layer.kind, None, gates) if projected else out
    products = on.zeros((steps.first, gates.shape[1]), layer.kind, gates)
    for at, now, before, count in sums.walk():
        if at or layer.h0 is not None:
            on.matmul(on.part(out, before, before + count), layer.weight, on.part(products, 0, count))
        numbers = at, now, before, count, 0 if projected else now
        on.lstm.step(gates, products, layer.bias, cells, hidden, numbers, layer.activations, layer.limit)
        if projected:
            made = on.part(out, now, now + count)
            on.matmul(on.part(hidden, 0, count), layer.projection, made)
            on.simple_rnn.activate(made, layer.projected, layer.projection_limit, made)
    return out, cells


@ops.lstm_grad.kernel("cpu", "cuda")
def lstm_grad(
    on, x: LoDTensor, input_weight, weight, bias, h0, c0, projection, hidden, cell, gates, grad, grad_cell,
    grad_last, grad_last_cell, /, *, level, reverse, gate_activation, cell_activation, candidate_activation,
    projection_activation, cell_clip, projection_clip,
):  # fmt: skip
    given, clips = (input_weight, weight, bias, h0, c0, projection), (cell_clip, projection_clip)
    sizes = prepare(x, *given, level, *clips, projection_activation)
    prepare_grad(x, hidden, cell, gates, grad, grad_cell, grad_last, grad_last_cell, sizes)
    activations = gate_activation, candidate_activation, cell_activation, projection_activation
    layer = _Layer(on, x, given, sizes, reverse, activations, clips)
    steps, kind, dtype = layer.steps, layer.kind, layer.dtype
    cells = recurrent.states_of(on, layer.c0, cell, steps, kind)
    by_results = grad, grad_cell, grad_last, grad_last_cell
    by_gates, by_projection, by_h, by_c = _walk_back(on, layer, cells, hidden, gates, by_results, sizes)
    found = [*recurrent.input_grads(on, x, layer.input_weight, by_gates, steps, dtype)]
    seen, skipped = recurrent.previous_states(on, hidden, layer.h0, steps, kind)
    found.append(on.matmul(seen, on.part(by_gates, skipped, len(by_gates)), transpose="left"))
    if bias is not None:
        sums = [recurrent.column_sums(on, by_gates), *(_peephole_grads(on, by_gates, cells, steps, sizes))]
        found.append(on.join_rows([s.reshape(-1) for s in sums]).reshape(*bias.shape))
    first = (by_h, h0, grad_last), (by_c, c0, grad_last_cell)
    found += [recurrent.initial_grad(on, g, steps, s, last) for g, s, last in first if s is not None]
    found += [by_projection] if projection is not None else []
    with np.errstate(over="ignore"):
        return tuple(on.convert(g, dtype) for g in found)


def _walk_back(on, layer, cells, hidden, gates, by_results, sizes):
    """Walk the steps backwards. Returns the gradients of the sums of gates, the projection and the first states."""
    steps, kind, projected = layer.steps, layer.kind, layer.projection is not None
    grad, grad_cell, *by_last = by_results
    gates, grad = to_contiguous(on, gates, kind), recurrent.to_time_major(on, grad, steps, kind)
    by_cells = cells if grad_cell is None else recurrent.to_time_major(on, grad_cell, steps, kind)
    by_gates = on.output(gates.shape, kind, None, gates)
    widths = zip(by_last, (sizes.out, sizes.cell), strict=True)
    by_h, by_c = (recurrent.carried_grad(on, by, steps, width, kind, gates) for by, width in widths)
    made, given = by_gates, grad
    if projected:  # hidden states, and their gradients
        results = recurrent.to_time_major(on, hidden, steps, kind)
        made = on.output((len(steps.rows), sizes.cell), kind, None, gates)
        given = on.output((steps.first, sizes.cell), kind, None, gates)
    flags = grad_cell is not None, projected
    for at, now, before, count in reversed([*recurrent.walk(steps)] if gates.size else []):
        if projected:
            on.simple_rnn.step_grad(results, grad, by_h, layer.projected, layer.projection_limit, at, count)
            part = on.part(grad, at, at + count)
            on.matmul(part, layer.projection, on.part(given, 0, count), transpose="right")
        numbers = at, now, before, count, 0 if projected else at
        inputs = gates, cells, given, by_h, by_cells, layer.bias
        on.lstm.step_grad(*inputs, by_gates, by_c, made, numbers, flags, layer.activations, layer.limit)
        on.matmul(on.part(by_gates, at, at + count), layer.weight, on.part(by_h, 0, count), transpose="right")
    by_projection = on.matmul(made, grad, transpose="left") if projected else None
    return by_gates, by_projection, by_h, by_c


def _peephole_grads(on, by_gates, cells, steps, sizes):
    """The gradients of the peepholes, if there are any: of gates, times the cells that they saw, added up."""
    size, rows = sizes.cell, len(steps.rows)
    if not sizes.peepholes:
        return
    before = on.take_rows(cells, steps.previous)
    for gate, seen in ((1, before), (2, before), (3, on.part(cells, steps.first, steps.first + rows))):
        part = on.to_contiguous(on.columns_of(by_gates, gate * size, (gate + 1) * size))
        yield on.sums_of_products(part, on.to_contiguous(seen), np.array([0, rows]))
