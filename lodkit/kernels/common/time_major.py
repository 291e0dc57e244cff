"""Kernels of lodkit/ops/time_major.py: a map of rows, in front of the copy of rows by their numbers."""

from __future__ import annotations

from ...ops import time_major as ops
from .loops import number_cells, number_rows
from .padded_runs import flat


@number_cells
def _number_packed(t, s, offsets):
    """Row at each step of each segment; -1 behind its end."""
    return offsets[s] + t if offsets[s] + t < offsets[s + 1] else -1


@number_rows
def _number_unpacked(i, s, offsets, segments):
    """Place of each row in a time-major array."""
    return (i - offsets[s]) * segments + s


@number_cells
def _number_reversed(t, s, offsets, segments):
    """Place of the row that comes to each step of each segment."""
    length = offsets[s + 1] - offsets[s]
    return (length - 1 - t if t < length else t) * segments + s


@ops.pack_rnn_sequence.kernel("cpu", "cuda")
def pack_rnn_sequence(on, data, lengths, /, *, num_steps, out=None):
    dtype, offsets, steps = ops.prepare_packed(
        on, data, lengths, "pack_rnn_sequence", num_steps, "num_steps", ops.LARGER
    )
    out = on.output((steps, len(offsets) - 1, *data.shape[1:]), dtype, out, data)
    longest = steps if num_steps is None else on.sum_lengths(lengths, longest=True)[2]
    segments, filled = len(offsets) - 1, out
    if longest < steps:
        # Ids of all these rows would take more memory than small rows.
        on.fill(on.part(out, longest, steps), 0)
        filled = on.part(out, 0, longest)
    on.gather(data, _number_packed(on)(data, longest * segments, segments, offsets), None, flat(filled))
    return out


@ops.unpack_rnn_sequence.kernel("cpu", "cuda")
def unpack_rnn_sequence(on, data, lengths, /, *, out=None):
    dtype, offsets, rows = ops.prepare_unpacked(on, data, lengths, "unpack_rnn_sequence", axis=1)
    out = on.output((rows, *data.shape[2:]), dtype, out, data)
    on.gather(flat(data), _number_unpacked(on)(data, rows, offsets, len(offsets) - 1), None, out)
    return out


@ops.reverse_packed_segs.kernel("cpu", "cuda")
def reverse_packed_segs(on, data, lengths, /, *, out=None):
    dtype, offsets, _ = ops.prepare_unpacked(on, data, lengths, "reverse_packed_segs", axis=1)
    out = on.output(data.shape, dtype, out, data)
    segments = len(offsets) - 1
    places = _number_reversed(on)(data, len(data) * segments, segments, offsets, segments)
    on.gather(flat(data), places, None, flat(out))
    return out
