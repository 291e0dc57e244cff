"""Kernels of lodkit/ops/sequence_padding.py. Runs of rows are planned on the CPU, where structure is."""

from __future__ import annotations

import numpy as np

from ...arrays import VALUE_TYPES, check_gradient, native
from ...lod import LoDTensor, freeze
from ...ops import sequence_padding as ops
from ...registry import Dense
from .padded_runs import copy_slots, flat, pads_of


@ops.sequence_pad.kernel("cpu", "cuda")
def sequence_pad(on, x: LoDTensor, pad_value, /, *, max_length, truncate, side, out=None):
    dtype, kept, width = ops.prepare_pad(x, pad_value, max_length, truncate)
    values = x.values
    pad = 0 if pad_value is None else on.sequence_padding.pads(pad_value, values, dtype)
    out = on.output((len(kept), width, *values.shape[1:]), dtype, out, values)
    runs, slots = copy_slots(x._row_offsets(), width, kept, side)
    on.copy_runs(values, runs, slots, flat(out), pad)
    return ops.with_outer_levels(x, -1, out), ops.with_outer_levels(x, -1, on.send(values, kept))


@ops.sequence_pad_grad.kernel("cpu", "cuda")
def sequence_pad_grad(on, x: LoDTensor, grad, /, *, max_length, side, out=None):
    dtype, kept, width = ops.prepare_pad_grad(x, grad, max_length)
    out = on.output(x.shape, dtype, out, x.values)
    runs, slots = copy_slots(width, x._row_offsets(), kept, side)
    on.copy_runs(flat(grad), runs, slots, out)
    return x.with_values(out)


@ops.sequence_pad_value_grad.kernel("cpu", "cuda")
def sequence_pad_value_grad(on, x: LoDTensor, pad_value, grad, /, *, max_length, side):
    _, kept, width = ops.prepare_pad_grad(x, grad, max_length, pad_value)
    grad = grad if native(grad.dtype) in VALUE_TYPES else on.convert(grad, np.dtype(np.float64))
    pads = pads_of(kept, width, side)
    # Halves are rounded once: columns that overflow may add up to little.
    dtype = np.float32 if native(grad.dtype) == np.float16 else None
    total = on.reduce_into(flat(grad), on.send(grad, pads), None, None, np.array([0, len(pads)]), "sum", 0, dtype=dtype)
    if pad_value.size == 1:
        total = on.reduce_into(total.reshape(-1), None, None, None, np.array([0, total.size]), "sum", 0)
    with np.errstate(over="ignore"):
        return on.convert(total, pad_value.dtype).reshape(pad_value.shape)


@ops.sequence_unpad.kernel("cpu", "cuda")
def sequence_unpad(on, x: Dense | LoDTensor, lengths: Dense | LoDTensor, /, *, side, out=None):
    values, dtype, found, offsets = ops.prepare_unpad(on, x, lengths, "sequence_unpad")
    levels = (*ops.levels_above(x, lengths), freeze(offsets))
    out = on.output((int(offsets[-1]), *values.shape[2:]), dtype, out, values)
    runs, slots = copy_slots(values.shape[1], offsets, found, side)
    on.copy_runs(flat(values), runs, slots, out)
    return LoDTensor._wrap(out, levels)


@ops.sequence_unpad_grad.kernel("cpu", "cuda")
def sequence_unpad_grad(on, x: Dense | LoDTensor, lengths: Dense | LoDTensor, grad, /, *, side, out=None):
    values, dtype, found, offsets = ops.prepare_unpad(on, x, lengths, "the gradient")
    check_gradient(grad, (int(offsets[-1]), *values.shape[2:]))
    out = on.output(values.shape, dtype, out, values)
    runs, slots = copy_slots(offsets, values.shape[1], found, side)
    on.copy_runs(grad, runs, slots, flat(out))
    return x.with_values(out) if isinstance(x, LoDTensor) else out
