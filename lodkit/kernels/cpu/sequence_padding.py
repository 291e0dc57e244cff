"""CPU kernels of lodkit/ops/sequence_padding.py."""

from __future__ import annotations

import numpy as np

from ... import arrays
from ...arrays import check_values, native
from ...lod.copy_runs import copy_runs, even, lengths_between
from ...lod.levels import frozen
from ...lod.lod_tensor import LoDTensor, values_of
from ...ops import sequence_padding as ops
from ...ops.sequence_pool import above
from ...registry import Dense
from ..common.padded_runs import matched, pads_of
from .conversions import lengths_to_offsets
from .primitives.reduce import reduce_into


def _flat(padded):
    """The rows of padded sequences."""
    return padded.reshape(padded.shape[0] * padded.shape[1], *padded.shape[2:])


def _copied(source, plan, out, pad=0):
    """Fill the slots of a plan by rows of ``source``."""
    runs, slots = plan
    copy_runs(source, runs, slots, out, pad)


def _pad(pad, item, dtype):
    """What ``copy_runs`` pads with: a number, or a row for each side."""
    if pad is None:
        return 0
    pad = ops.pad_as(ops.check_pad(pad, item), dtype)
    return np.stack([pad, pad]) if pad.ndim else pad[()]


@ops.sequence_pad.kernel("cpu")
def pad(x: LoDTensor, pad_value: Dense | None = None, /, *, padded_length, truncate, side, out=None):
    offsets, values = x.row_offsets(), x.values
    dtype = check_values(values.dtype, "sequence_pad")
    kept, width = ops.room_for(lengths_between(offsets), padded_length, truncate)
    pad = _pad(pad_value, values.shape[1:], dtype)
    out = arrays.output((len(kept), width, *values.shape[1:]), dtype, out)
    _copied(values, matched(offsets, even(len(kept), width), kept, side), _flat(out), pad)
    return above(x, -1, out), above(x, -1, kept)


@ops.sequence_pad_grad.kernel("cpu")
def pad_grad(x: LoDTensor, grad: Dense, /, *, padded_length, side, out=None):
    dtype, offsets = check_values(x.dtype, "the gradient", floating=True), x.row_offsets()
    kept = ops.check_padded_grad(x, grad, padded_length)
    out = arrays.output(x.shape, dtype, out)
    _copied(_flat(grad), matched(even(*grad.shape[:2]), offsets, kept, side), out)
    return x.with_values(out)


@ops.sequence_pad_value_grad.kernel("cpu")
def pad_value_grad(x: LoDTensor, pad_value: Dense, grad: Dense, /, *, padded_length, side):
    check_values(x.dtype, "the gradient", floating=True)
    ops.check_pad(pad_value, x.shape[1:])
    pads = pads_of(ops.check_padded_grad(x, grad, padded_length), grad.shape[1], side)
    # Halves are rounded once: columns that overflow may add up to little.
    wide = np.float32 if native(grad.dtype) == np.float16 else None
    total = reduce_into(_flat(grad), pads, None, None, np.array([0, len(pads)]), "sum", 0, dtype=wide)
    if pad_value.size == 1:
        total = reduce_into(total.reshape(-1), None, None, None, np.array([0, total.size]), "sum", 0)
    with np.errstate(over="ignore"):
        return total.reshape(pad_value.shape).astype(native(pad_value.dtype), copy=False)


@ops.sequence_unpad.kernel("cpu")
def unpad(x: Dense | LoDTensor, lengths: Dense | LoDTensor, /, *, side, out=None):
    values, found = values_of(x), ops.check_unpad(x, lengths, side)
    dtype, offsets = check_values(values.dtype, "sequence_unpad"), lengths_to_offsets(found)
    levels = (*ops.levels_above(x, lengths), frozen(offsets))
    out = arrays.output((int(offsets[-1]), *values.shape[2:]), dtype, out)
    _copied(_flat(values), matched(even(*values.shape[:2]), offsets, found, side), out)
    return LoDTensor._wrap(out, levels)


@ops.sequence_unpad_grad.kernel("cpu")
def unpad_grad(x: Dense | LoDTensor, lengths: Dense | LoDTensor, grad: Dense, /, *, side, out=None):
    values, found = values_of(x), ops.check_unpad(x, lengths, side)
    dtype, offsets = check_values(values.dtype, "the gradient", floating=True), lengths_to_offsets(found)
    arrays.check_gradient(grad, (int(offsets[-1]), *values.shape[2:]))
    out = arrays.output(values.shape, dtype, out)
    _copied(grad, matched(offsets, even(*values.shape[:2]), found, side), _flat(out))
    return x.with_values(out) if isinstance(x, LoDTensor) else out
