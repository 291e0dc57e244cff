"""Kernels of lodkit/ops/simple_rnn.py: a matrix product a step by the array library, activations by the device."""

from __future__ import annotations

import math

import numpy as np

from ... import ops
from ...arrays import native
from ...lod import LoDTensor
from ...ops.sequence_pool import with_outer_levels
from ...ops.shared.recurrent import Steps, check_last_gradient, check_results, gate_type
from ...ops.simple_rnn import prepare
from . import recurrent
from .gates import number_functions
from .recurrent import to_contiguous


@ops.simple_rnn.kernel("cpu", "cuda")
def simple_rnn(on, x: LoDTensor, input_weight, weight, bias, h0, /, *, level, reverse, activation):
    offsets, size = prepare(x, input_weight, weight, bias, h0, level)
    dtype, kind = native(x.values.dtype), gate_type(x.values.dtype)
    weight, first, steps = to_contiguous(on, weight, kind), to_contiguous(on, h0, kind), Steps(offsets, reverse)
    ahead = recurrent.Sums(on, x, input_weight, steps, kind)
    sums = ahead.values
    out = recurrent.states(on, first, steps, size, sums)
    bias = recurrent.bias_row(on, bias, size, kind, sums)
    products = on.zeros((steps.first, size), kind, sums)
    for at, now, before, count in ahead.walk():
        if at or h0 is not None:
            on.matmul(on.part(out, before, before + count), weight, on.part(products, 0, count))
        on.simple_rnn.step(sums, at, products, bias, *number_functions(activation), count, now, out)
    out = recurrent.from_time_major(on, steps, out, dtype)
    return x.with_values(out), with_outer_levels(x, level, recurrent.last_states(on, out, h0, steps))


@ops.simple_rnn_grad.kernel("cpu", "cuda")
def simple_rnn_grad(
    on, x: LoDTensor, input_weight, weight, bias, h0, hidden, grad, grad_last, /, *, level, reverse, activation
):  # fmt: skip
    offsets, size = prepare(x, input_weight, weight, bias, h0, level)
    check_results(len(x.values), (None, size), grad, size, hidden=(hidden, size))
    check_last_gradient(grad_last, offsets, size)
    dtype, kind = native(x.values.dtype), gate_type(x.values.dtype)
    matrix, first, steps = to_contiguous(on, weight, kind), to_contiguous(on, h0, kind), Steps(offsets, reverse)
    results, by_sums = (recurrent.to_time_major(on, a, steps, kind) for a in (hidden, grad))
    by_h = recurrent.carried_grad(on, grad_last, steps, size, kind, by_sums)
    for at, _, _, count in reversed([*recurrent.walk(steps)] if by_sums.size else []):
        on.simple_rnn.step_grad(results, by_sums, by_h, *number_functions(activation), math.inf, at, count)
        on.matmul(on.part(by_sums, at, at + count), matrix, on.part(by_h, 0, count), transpose="right")
    found = [*recurrent.input_grads(on, x, to_contiguous(on, input_weight, kind), by_sums, steps, dtype)]
    seen, skipped = recurrent.previous_states(on, hidden, first, steps, kind)
    found.append(on.matmul(seen, on.part(by_sums, skipped, len(by_sums)), transpose="left"))
    found += [recurrent.column_sums(on, by_sums).reshape(*bias.shape)] if bias is not None else []
    found += [recurrent.initial_grad(on, by_h, steps, h0, grad_last)] if h0 is not None else []
    with np.errstate(over="ignore"):
        return tuple(on.convert(g, dtype) for g in found)
