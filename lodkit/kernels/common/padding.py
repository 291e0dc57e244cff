"""Kernels of lodkit/ops/padding.py: checked segments in front of the shared copy of runs."""

from __future__ import annotations

from ...ops import padding as ops
from .padded_runs import flat


@ops.pack_segments.kernel("cpu", "cuda")
def pack_segments(on, data, lengths, /, *, max_length, pad_value, return_presence_mask, out=None):
    dtype, offsets, width = ops.prepare_packed(on, data, lengths, "pack_segments", max_length)
    pad = 0 if type(pad_value) is float and pad_value == 0 else ops.pad_of(pad_value, dtype)
    out = on.output((len(offsets) - 1, width, *data.shape[1:]), dtype, out, data)
    on.copy_runs(data, offsets, width, flat(out), pad)
    return (out, on.padding.presence_mask(offsets, width)) if return_presence_mask else out


@ops.pack_segments_grad.kernel("cpu", "cuda")
def pack_segments_grad(on, data, lengths, grad, /, *, max_length, out=None):
    dtype, offsets, width = ops.prepare_packed(on, data, lengths, "the gradient", max_length, grad=grad)
    out = on.output(data.shape, dtype, out, data)
    on.copy_runs(flat(grad), width, offsets, out)
    return out


@ops.unpack_segments.kernel("cpu", "cuda")
def unpack_segments(on, data, lengths, /, *, max_length, out=None):
    dtype, offsets, rows = ops.prepare_unpacked(on, data, lengths, "unpack_segments", max_length=max_length)
    out = on.output((rows, *data.shape[2:]), dtype, out, data)
    on.copy_runs(flat(data), data.shape[1], offsets, out)
    return out


@ops.unpack_segments_grad.kernel("cpu", "cuda")
def unpack_segments_grad(on, data, lengths, grad, /, *, max_length, out=None):
    dtype, offsets, _ = ops.prepare_unpacked(on, data, lengths, "the gradient", max_length=max_length, grad=grad)
    out = on.output(data.shape, dtype, out, data)
    on.copy_runs(grad, offsets, data.shape[1], flat(out))
    return out


@ops.lengths_pad.kernel("cpu", "cuda")
def lengths_pad(on, data, lengths, /, *, max_length, pad_value, out=None):
    dtype, offsets, width = ops.prepare_packed(on, data, lengths, "lengths_pad", max_length, "max_length", ops.LONGER)
    pad = 0 if type(pad_value) is float and pad_value == 0 else ops.pad_of(pad_value, dtype)
    out = on.output(((len(offsets) - 1) * width, *data.shape[1:]), dtype, out, data)
    on.copy_runs(data, offsets, width, out, pad)
    return out
