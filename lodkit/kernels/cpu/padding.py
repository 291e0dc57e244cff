"""CPU kernels of lodkit/ops/padding.py."""

from __future__ import annotations

import numpy as np

from ... import arrays
from ...arrays import check_gradient, check_rows, check_values
from ...lod.copy_runs import between, copy_runs, even, lengths_between
from ...ops import padding as ops
from ...ops.shared.reductions import pad_of
from ...registry import Dense
from .conversions import lengths_to_offsets, to_offsets


def packed(data, offsets, width, out, pad=0):
    """Fill ``out``, ``(segments, width, *item)``, by the rows of segments."""
    count = len(offsets) - 1
    target = out.reshape(count * width, *data.shape[1:])
    copy_runs(data, between(offsets), even(count, width), target, pad)
    return out


def unpacked(data, offsets, out):
    """Fill ``out``, ``(rows, *item)``, from padded segments, zeros where they are too short."""
    count, width = data.shape[:2]
    starts = even(count, width)
    copy_runs(data.reshape(count * width, *data.shape[2:]), between(starts), offsets, out)
    return out


@ops.pack_segments.kernel("cpu")
def pack(data: Dense, lengths: Dense, /, *, max_length, pad_value, return_presence_mask, out=None):
    dtype = check_values(data.dtype, "pack_segments")
    ops.check_width(max_length, "max_length")
    offsets = to_offsets(lengths, "lengths", len(check_rows(data, "data")), None)
    counts, pad = lengths_between(offsets), pad_of(pad_value, dtype) if pad_value else 0
    out = arrays.output(ops.padded_shape(counts, max_length, data.shape), dtype, out)
    packed(data, offsets, out.shape[1], out, pad)
    return (out, np.arange(out.shape[1]) < counts[:, None]) if return_presence_mask else out


@ops.pack_segments_grad.kernel("cpu")
def pack_grad(data: Dense, lengths: Dense, grad: Dense, /, *, max_length, out=None):
    dtype = check_values(data.dtype, "the gradient", floating=True)
    offsets = to_offsets(lengths, "lengths", len(check_rows(data, "data")), None)
    ops.check_width(max_length, "max_length")
    check_gradient(grad, ops.padded_shape(lengths_between(offsets), max_length, data.shape))
    return unpacked(grad, offsets, arrays.output(data.shape, dtype, out))


def _offsets(data, lengths, max_length):
    return lengths_to_offsets(ops.check_unpacked(data, lengths, max_length))


@ops.unpack_segments.kernel("cpu")
def unpack(data: Dense, lengths: Dense, /, *, max_length, out=None):
    dtype = check_values(data.dtype, "unpack_segments")
    offsets = _offsets(data, lengths, max_length)
    return unpacked(data, offsets, arrays.output((int(offsets[-1]), *data.shape[2:]), dtype, out))


@ops.unpack_segments_grad.kernel("cpu")
def unpack_grad(data: Dense, lengths: Dense, grad: Dense, /, *, max_length, out=None):
    dtype = check_values(data.dtype, "the gradient", floating=True)
    offsets = _offsets(data, lengths, max_length)
    check_gradient(grad, (int(offsets[-1]), *data.shape[2:]))
    return packed(grad, offsets, data.shape[1], arrays.output(data.shape, dtype, out))


@ops.lengths_pad.kernel("cpu")
def pad_lengths(data: Dense, lengths: Dense, /, *, target_length, pad_value, out=None):
    dtype = check_values(data.dtype, "lengths_pad")
    ops.check_width(target_length, "target_length")
    offsets = to_offsets(lengths, "lengths", len(check_rows(data, "data")), None)
    counts, pad = lengths_between(offsets), pad_of(pad_value, dtype) if pad_value else 0
    ops.check_fit(counts, target_length, ops.LONGER)
    out = arrays.output((len(counts) * target_length, *data.shape[1:]), dtype, out)
    packed(data, offsets, target_length, out, pad)
    return out
