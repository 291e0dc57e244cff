"""CPU kernels of lodkit/ops/edge_padding.py."""

from __future__ import annotations

import numpy as np

from ... import arrays
from ...arrays import check_gradient, check_rows, check_values
from ...lod.copy_runs import between, copy_runs, lengths_between
from ...ops import edge_padding as ops
from ...ops.segments import result_dtype
from ...registry import Dense
from .conversions import lengths_to_offsets, to_offsets
from .primitives.reduce import reduce_into


def _offsets(data, lengths):
    rows = len(check_rows(data, "data"))
    return np.array([0, rows]) if lengths is None else to_offsets(lengths, "lengths", rows, None)


def _pads(item, dtype, start, end):
    """The rows of padding before and behind; 0 where there are none."""
    if start is None and end is None:
        return 0
    before = np.zeros(item, dtype) if start is None else start
    behind = before if end is None else end
    for name, pad in (("start_padding", before), ("end_padding", behind)):
        ops.check_pad(pad, item, dtype, name)
    return np.stack([before, behind])


@ops.add_padding.kernel("cpu")
def add(
    data: Dense,
    lengths: Dense | None = None,
    start_padding: Dense | None = None,
    end_padding: Dense | None = None,
    /,
    *,
    padding_width,
    end_padding_width,
    out=None,
):
    dtype = check_values(data.dtype, "add_padding")
    before, behind = ops.check_widths(padding_width, end_padding_width)
    offsets = _offsets(data, lengths)
    pads = _pads(data.shape[1:], dtype, start_padding, end_padding)
    slots = offsets + np.arange(len(offsets)) * (before + behind)
    out = arrays.output((int(slots[-1]), *data.shape[1:]), dtype, out)
    copy_runs(data, between(offsets), slots, out, pads, before)
    return out, lengths_between(slots)


@ops.remove_padding.kernel("cpu")
def remove(data: Dense, lengths: Dense | None = None, /, *, padding_width, end_padding_width, out=None):
    dtype = check_values(data.dtype, "remove_padding")
    before, behind = ops.check_widths(padding_width, end_padding_width)
    offsets = _offsets(data, lengths)
    ops.check_removed(lengths_between(offsets), before, behind)
    slots = offsets - np.arange(len(offsets)) * (before + behind)
    out = arrays.output((int(slots[-1]), *data.shape[1:]), dtype, out)
    copy_runs(data, between(offsets), slots, out, lead=-before)
    return out, lengths_between(slots)


@ops.gather_padding.kernel("cpu")
def gather(data: Dense, lengths: Dense | None = None, /, *, padding_width, end_padding_width):
    result_dtype(data.dtype, "sum")
    before, behind = ops.check_widths(padding_width, end_padding_width)
    offsets = _offsets(data, lengths)
    ops.check_removed(lengths_between(offsets), before, behind)
    starts = (offsets[:-1, None] + np.arange(before)).reshape(-1)
    ends = (offsets[1:, None] - behind + np.arange(behind)).reshape(-1)
    sides = np.array([0, len(starts), len(starts) + len(ends)])
    sums = reduce_into(data, np.concatenate([starts, ends]), None, None, sides, "sum", 0.0)
    return sums[0, ...], sums[1, ...]


@ops.pad_empty_samples.kernel("cpu")
def pad_empty(data: Dense, lengths: Dense, /, *, out=None):
    dtype = check_values(data.dtype, "pad_empty_samples")
    offsets = _offsets(data, lengths)
    padded = np.maximum(lengths_between(offsets), 1)
    slots = lengths_to_offsets(padded)
    out = arrays.output((int(slots[-1]), *data.shape[1:]), dtype, out)
    copy_runs(data, between(offsets), slots, out)
    return out, padded


@ops.pad_empty_samples_grad.kernel("cpu")
def pad_empty_grad(data: Dense, lengths: Dense, grad: Dense, /, *, out=None):
    dtype = check_values(data.dtype, "the gradient", floating=True)
    offsets = _offsets(data, lengths)
    padded = lengths_to_offsets(np.maximum(lengths_between(offsets), 1))
    check_gradient(grad, (int(padded[-1]), *data.shape[1:]))
    out = arrays.output(data.shape, dtype, out)
    copy_runs(grad, between(padded), offsets, out)
    return out
