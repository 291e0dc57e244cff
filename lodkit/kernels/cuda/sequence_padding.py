"""CUDA kernels of lodkit/ops/sequence_padding.py. Runs of rows are planned on the CPU, where structure is."""

from __future__ import annotations

import numpy as np

from ...arrays import check_gradient, check_values
from ...arrays.cuda import vector
from ...arrays.cuda.elementwise import convert
from ...arrays.cuda.launch import cuda, launch
from ...arrays.cuda.memory import output, view
from ...lod.copy_runs import even, lengths_between
from ...lod.levels import frozen
from ...lod.lod_tensor import LoDTensor, values_of
from ...lod.offsets import lengths_to_offsets
from ...ops import sequence_padding as ops
from ...ops.sequence_pool import above
from ...registry import Dense
from ..common.padded_runs import matched, pads_of
from .conversions import integers
from .primitives.copy_runs import copy_runs
from .primitives.offsets import offsets_like
from .primitives.reduce import reduce_into


@cuda.jit
def _repeat(pad, size, n, out):
    i = cuda.grid(1)
    while i < n:
        vector.store(out, i, vector.load(pad, i % size, 1))
        i += cuda.gridsize(1)


def _flat(padded):
    """The rows of padded sequences."""
    return padded.reshape(padded.shape[0] * padded.shape[1], *padded.shape[2:])


def _pad(pad, like):
    """What ``copy_runs`` pads with: a row for each side."""
    if pad is None:
        return 0
    pad = ops.check_pad(view(pad), like.shape[1:])
    if pad.dtype != like.dtype and like.dtype.kind == "i":
        pad = like.send(ops.pad_as(pad.read(), like.dtype))
    rows = like.like((2, *like.shape[1:]))
    launch(_repeat, rows.size, pad, pad.size, rows.size, rows)
    return rows


def _copied(source, plan, out, pad=0):
    """Fill the slots of a plan by rows of ``source``."""
    runs, slots = plan
    n, alike = len(runs[0]), isinstance(slots, int)
    sent = source.send(np.concatenate(runs if alike else [*runs, slots]))
    slots = slots if alike else sent.part(2 * n, len(sent))
    copy_runs(source, (sent.part(0, n), sent.part(n, 2 * n)), slots, out, pad)


def _slots(count, width, side):
    """Slots of one width: that alone says where the rows start, where they stand first."""
    return width if side == "right" else even(count, width)


@ops.sequence_pad.kernel("cuda")
def pad(x: LoDTensor, pad_value: Dense | None = None, /, *, padded_length, truncate, side, out=None):
    offsets, values = x.row_offsets(), view(x.values)
    dtype = check_values(values.dtype, "sequence_pad")
    kept, width = ops.room_for(lengths_between(offsets), padded_length, truncate)
    pad = _pad(pad_value, values)
    out = output(values, (len(kept), width, *values.shape[1:]), dtype, out)
    _copied(values, matched(offsets, _slots(len(kept), width, side), kept, side), _flat(out), pad)
    return above(x, -1, out.array), above(x, -1, values.send(kept).array)


@ops.sequence_pad_grad.kernel("cuda")
def pad_grad(x: LoDTensor, grad: Dense, /, *, padded_length, side, out=None):
    values, grad, offsets = view(x.values), view(grad), x.row_offsets()
    dtype = check_values(values.dtype, "the gradient", floating=True)
    kept = ops.check_padded_grad(x, grad, padded_length)
    out = output(values, values.shape, dtype, out)
    _copied(_flat(grad), matched(even(*grad.shape[:2]), offsets, kept, side), out)
    return x.with_values(out.array)


@ops.sequence_pad_value_grad.kernel("cuda")
def pad_value_grad(x: LoDTensor, pad_value: Dense, grad: Dense, /, *, padded_length, side):
    values, pad, grad = view(x.values), view(pad_value), view(grad)
    check_values(values.dtype, "the gradient", floating=True)
    ops.check_pad(pad, values.shape[1:])
    pads = pads_of(ops.check_padded_grad(x, grad, padded_length), grad.shape[1], side)
    total = _sum(_flat(grad), grad.send(pads), len(pads))
    if pad.size == 1:
        total = _sum(total.reshape(total.size), None, total.size)
    return convert(total.reshape(*pad.shape), pad.dtype).array


def _sum(values, rows, count):
    offsets = offsets_like(values, np.array([0, count]))
    wide = values.compute_dtype if values.dtype == np.float16 else None  # halves are rounded once
    return reduce_into(values, rows, None, None, offsets, "sum", 0, dtype=wide)


def _unpadded(x, lengths, side):
    """Padded sequences, and the lengths, on the CPU. Waits for the device."""
    found = integers(values_of(lengths), "lengths").read().astype(np.int64, copy=False)
    return view(values_of(x)), ops.check_unpad(x, found, side)


@ops.sequence_unpad.kernel("cuda")
def unpad(x: Dense | LoDTensor, lengths: Dense | LoDTensor, /, *, side, out=None):
    values, found = _unpadded(x, lengths, side)
    dtype, offsets = check_values(values.dtype, "sequence_unpad"), lengths_to_offsets(found)
    levels = (*ops.levels_above(x, lengths), frozen(offsets))
    out = output(values, (int(offsets[-1]), *values.shape[2:]), dtype, out)
    _copied(_flat(values), matched(even(*values.shape[:2]), offsets, found, side), out)
    return LoDTensor._wrap(out.array, levels)


@ops.sequence_unpad_grad.kernel("cuda")
def unpad_grad(x: Dense | LoDTensor, lengths: Dense | LoDTensor, grad: Dense, /, *, side, out=None):
    (values, found), grad = _unpadded(x, lengths, side), view(grad)
    dtype, offsets = check_values(values.dtype, "the gradient", floating=True), lengths_to_offsets(found)
    check_gradient(grad, (int(offsets[-1]), *values.shape[2:]))
    out = output(values, values.shape, dtype, out)
    _copied(grad, matched(offsets, _slots(len(values), values.shape[1], side), found, side), _flat(out))
    return x.with_values(out.array) if isinstance(x, LoDTensor) else out.array
