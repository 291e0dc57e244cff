"""CUDA kernels of lodkit/ops/edge_padding.py."""

from __future__ import annotations

import numpy as np

from ...arrays import check_gradient, check_rows, check_values
from ...arrays.cuda import vector
from ...arrays.cuda.elementwise import copied, fill
from ...arrays.cuda.launch import cuda, launch
from ...arrays.cuda.memory import output, view
from ...ops import edge_padding as ops
from ...ops.segments import check_rows as check_sum
from ...ops.segments import result_dtype
from ...registry import Dense
from .conversions import integers, lengths_of, summed
from .primitives.copy_runs import between, clipped, copy_runs, stretched
from .primitives.offsets import inspected, offsets_like
from .primitives.reduce import reduce_into


@cuda.jit
def _edges(offsets, segments, before, behind, n, rows):
    """The rows before all segments, segment by segment, then those behind them."""
    i = cuda.grid(1)
    while i < n:
        if i < segments * before:
            rows[i] = vector.number(offsets, i // before) + i % before
        else:
            k = i - segments * before
            rows[i] = vector.number(offsets, k // behind + 1) - behind + k % behind
        i += cuda.gridsize(1)


def _segments(data, lengths):
    """Views of data and of the offsets of its segments."""
    data = check_rows(view(data), "data")
    if lengths is None:
        return data, data.send(np.array([0, len(data)]))
    offsets, found = summed(lengths)
    check_sum("lengths", (found.last,), len(data))
    return data, offsets


def _shortened(offsets, before, behind):
    """Offsets of the segments without their padding. Waits for the device."""
    slots = stretched(offsets, -(before + behind))
    if inspected(slots).decrease >= 0:
        ops.check_removed(lengths_of(offsets).read(), before, behind)
    return slots


def _pads(data, start, end):
    """The rows of padding before and behind, one after the other; 0 where there are none."""
    if start is None and end is None:
        return 0
    pads = data.like((2, *data.shape[1:]))
    end = start if end is None else end
    for side, name, pad in ((0, "start_padding", start), (1, "end_padding", end)):
        place = pads.part(side, side + 1)
        if pad is None:
            fill(place, 0)
            continue
        ops.check_pad(view(pad), data.shape[1:], data.dtype, name)
        copied(view(pad), place)
    return pads


@ops.add_padding.kernel("cuda")
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
    before, behind = ops.check_widths(padding_width, end_padding_width)
    data, offsets = _segments(data, lengths)
    dtype = check_values(data.dtype, "add_padding")
    pads = _pads(data, start_padding, end_padding)
    slots = stretched(offsets, before + behind)
    rows = len(data) + (len(offsets) - 1) * (before + behind)
    out = output(data, (rows, *data.shape[1:]), dtype, out)
    copy_runs(data, between(offsets), slots, out, pads, before)
    return out.array, lengths_of(slots).array


@ops.remove_padding.kernel("cuda")
def remove(data: Dense, lengths: Dense | None = None, /, *, padding_width, end_padding_width, out=None):
    before, behind = ops.check_widths(padding_width, end_padding_width)
    data, offsets = _segments(data, lengths)
    dtype = check_values(data.dtype, "remove_padding")
    slots = _shortened(offsets, before, behind)
    rows = len(data) - (len(offsets) - 1) * (before + behind)
    out = output(data, (rows, *data.shape[1:]), dtype, out)
    copy_runs(data, between(offsets), slots, out, lead=-before)
    return out.array, lengths_of(slots).array


@ops.gather_padding.kernel("cuda")
def gather(data: Dense, lengths: Dense | None = None, /, *, padding_width, end_padding_width):
    before, behind = ops.check_widths(padding_width, end_padding_width)
    data, offsets = _segments(data, lengths)
    result_dtype(data.dtype, "sum")
    _shortened(offsets, before, behind)
    count = len(offsets) - 1
    rows = data.like((count * (before + behind),), np.int64)
    launch(_edges, rows.size, offsets, count, before, behind, rows.size, rows)
    sides = offsets_like(data, np.array([0, count * before, rows.size]))
    sums = reduce_into(data, rows, None, None, sides, "sum", 0.0)
    return tuple(sums.part(k, k + 1).reshape(*data.shape[1:]).array for k in (0, 1))


@ops.pad_empty_samples.kernel("cuda")
def pad_empty(data: Dense, lengths: Dense, /, *, out=None):
    data, offsets = _segments(data, lengths)
    dtype = check_values(data.dtype, "pad_empty_samples")
    padded = clipped(integers(lengths, "lengths"), 1, np.iinfo(np.int64).max)
    slots, found = summed(padded)
    out = output(data, (found.last, *data.shape[1:]), dtype, out)
    copy_runs(data, between(offsets), slots, out)
    return out.array, padded.array


@ops.pad_empty_samples_grad.kernel("cuda")
def pad_empty_grad(data: Dense, lengths: Dense, grad: Dense, /, *, out=None):
    data, offsets = _segments(data, lengths)
    dtype, grad = check_values(data.dtype, "the gradient", floating=True), view(grad)
    slots, found = summed(clipped(integers(lengths, "lengths"), 1, np.iinfo(np.int64).max))
    check_gradient(grad, (found.last, *data.shape[1:]))
    out = output(data, data.shape, dtype, out)
    copy_runs(grad, between(slots), offsets, out)
    return out.array
