"""Kernels of lodkit/ops/edge_padding.py: checked segments in front of the shared copy of runs."""

from __future__ import annotations

from ...ops import edge_padding as ops


@ops.add_padding.kernel("cpu", "cuda")
def add_padding(on, data, lengths, start_padding, end_padding, /, *, padding_width, end_padding_width, out=None):
    dtype, offsets, before, behind = ops.prepare_edges(
        on, data, lengths, "add_padding", padding_width, end_padding_width
    )
    rows = ops.padded_rows(len(data), len(offsets) - 1, before, behind)
    pads = on.edge_padding.pads(data, start_padding, end_padding)
    slots = on.edge_padding.stretch_offsets(offsets, before + behind)
    out = on.output((rows, *data.shape[1:]), dtype, out, data)
    on.copy_runs(data, offsets, slots, out, pads, before)
    return out, on.edge_padding.lengths_of(slots)


@ops.remove_padding.kernel("cpu", "cuda")
def remove_padding(on, data, lengths, /, *, padding_width, end_padding_width, out=None):
    dtype, offsets, before, behind = ops.prepare_edges(
        on, data, lengths, "remove_padding", padding_width, end_padding_width
    )
    ops.check_room(on, data, offsets, before, behind)
    slots = on.edge_padding.shorten_offsets(offsets, before, behind)
    rows = len(data) - (len(offsets) - 1) * (before + behind)
    out = on.output((rows, *data.shape[1:]), dtype, out, data)
    on.copy_runs(data, offsets, slots, out, lead=-before)
    return out, on.edge_padding.lengths_of(slots)


@ops.gather_padding.kernel("cpu", "cuda")
def gather_padding(on, data, lengths, /, *, padding_width, end_padding_width):
    _, offsets, before, behind = ops.prepare_edges(
        on, data, lengths, "gather_padding", padding_width, end_padding_width
    )
    ops.check_room(on, data, offsets, before, behind)
    return on.edge_padding.edge_sums(data, offsets, before, behind)


@ops.pad_empty_samples.kernel("cpu", "cuda")
def pad_empty_samples(on, data, lengths, /, *, out=None):
    dtype, offsets, padded, slots, rows = ops.prepare_samples(on, data, lengths, "pad_empty_samples")
    out = on.output((rows, *data.shape[1:]), dtype, out, data)
    on.copy_runs(data, offsets, slots, out)
    return out, padded


@ops.pad_empty_samples_grad.kernel("cpu", "cuda")
def pad_empty_samples_grad(on, data, lengths, grad, /, *, out=None):
    dtype, offsets, _, slots, _ = ops.prepare_samples(on, data, lengths, "the gradient", grad)
    out = on.output(data.shape, dtype, out, data)
    on.copy_runs(grad, slots, offsets, out)
    return out
