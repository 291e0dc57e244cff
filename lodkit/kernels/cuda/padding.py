"""CUDA kernels of lodkit/ops/padding.py."""

from __future__ import annotations

import numpy as np

from ...arrays import check_gradient, check_rows, check_values
from ...arrays.cuda import vector
from ...arrays.cuda.launch import cuda, launch
from ...arrays.cuda.memory import output, view
from ...ops import padding as ops
from ...ops.segments import check_rows as check_sum
from ...ops.shared.reductions import pad_of
from ...registry import Dense
from .conversions import integers, summed
from .primitives.copy_runs import between, clipped, copy_runs, even


@cuda.jit
def _mark(offsets, width, n, mask):
    """Which rows of padded segments are data."""
    i = cuda.grid(1)
    while i < n:
        s = i // width
        length = vector.number(offsets, s + 1) - vector.number(offsets, s)
        mask[i] = 1 if i - s * width < length else 0
        i += cuda.gridsize(1)


def checked(data, lengths):
    """Offsets of the segments of all rows of ``data``, and the longest length. Waits for the device."""
    offsets, found = summed(lengths, 0)
    check_sum("lengths", (found.last,), len(check_rows(data, "data")))
    return offsets, found.longest


def fitted(lengths, most, remedy):
    """Offsets of lengths that are at most ``most``, and how many rows there are. Waits for the device."""
    offsets, found = summed(lengths, 0)
    if found.longest > most:
        ops.check_fit(lengths.read(), most, remedy)
    return offsets, found.last


def packed(data, offsets, width, out, pad=0):
    """Fill ``out``, ``(segments, width, *item)``, by the rows of segments."""
    if width:
        count = len(offsets) - 1
        copy_runs(data, between(offsets), width, out.reshape(count * width, *data.shape[1:]), pad)
    return out.array


def unpacked(data, offsets, out):
    """Fill ``out``, ``(rows, *item)``, from padded segments, zeros where they are too short."""
    count, width = data.shape[:2]
    starts = even(offsets, count, width)
    copy_runs(data.reshape(count * width, *data.shape[2:]), between(starts), offsets, out)
    return out.array


@ops.pack_segments.kernel("cuda")
def pack(data: Dense, lengths: Dense, /, *, max_length, pad_value, return_presence_mask, out=None):
    data = view(data)
    dtype = check_values(data.dtype, "pack_segments")
    width, pad = ops.check_width(max_length, "max_length"), pad_of(pad_value, dtype)
    offsets, longest = checked(data, lengths)
    width = longest if width is None else width
    out = output(data, (len(offsets) - 1, width, *data.shape[1:]), dtype, out)
    result = packed(data, offsets, width, out, pad)
    if not return_presence_mask:
        return result
    mask = data.like(out.shape[:2], bool)
    launch(_mark, mask.size, offsets, width, mask.size, mask)
    return result, mask.array


@ops.pack_segments_grad.kernel("cuda")
def pack_grad(data: Dense, lengths: Dense, grad: Dense, /, *, max_length, out=None):
    data, grad = view(data), view(grad)
    dtype = check_values(data.dtype, "the gradient", floating=True)
    width = ops.check_width(max_length, "max_length")
    offsets, longest = checked(data, lengths)
    check_gradient(grad, (len(offsets) - 1, longest if width is None else width, *data.shape[1:]))
    return unpacked(grad, offsets, output(data, data.shape, dtype, out))


def _offsets(data, lengths, max_length):
    lengths = integers(lengths, "lengths")
    ops.check_padded(data, lengths.size)
    if ops.check_width(max_length, "max_length") is not None:
        lengths = clipped(lengths, np.iinfo(np.int64).min, max_length)
    return fitted(lengths, data.shape[1], ops.CUT)


@ops.unpack_segments.kernel("cuda")
def unpack(data: Dense, lengths: Dense, /, *, max_length, out=None):
    data = view(data)
    dtype = check_values(data.dtype, "unpack_segments")
    offsets, rows = _offsets(data, lengths, max_length)
    return unpacked(data, offsets, output(data, (rows, *data.shape[2:]), dtype, out))


@ops.unpack_segments_grad.kernel("cuda")
def unpack_grad(data: Dense, lengths: Dense, grad: Dense, /, *, max_length, out=None):
    data, grad = view(data), view(grad)
    dtype = check_values(data.dtype, "the gradient", floating=True)
    offsets, rows = _offsets(data, lengths, max_length)
    check_gradient(grad, (rows, *data.shape[2:]))
    return packed(grad, offsets, data.shape[1], output(data, data.shape, dtype, out))


@ops.lengths_pad.kernel("cuda")
def pad_lengths(data: Dense, lengths: Dense, /, *, target_length, pad_value, out=None):
    data, lengths = view(data), integers(lengths, "lengths")
    dtype = check_values(data.dtype, "lengths_pad")
    ops.check_width(target_length, "target_length")
    pad = pad_of(pad_value, dtype)
    offsets, rows = fitted(lengths, target_length, ops.LONGER)
    check_sum("lengths", (rows,), len(check_rows(data, "data")))
    out = output(data, (lengths.size * target_length, *data.shape[1:]), dtype, out)
    return packed(data, offsets, target_length, out, pad)
