"""Kernels of lodkit/ops/time_major.py: a map of rows, in front of the copy of rows by their numbers."""

from __future__ import annotations

from ...ops import time_major as ops
from .padded_runs import flat


@ops.pack_rnn_sequence.kernel("cpu", "cuda")
def pack_rnn_sequence(on, data, lengths, /, *, num_steps, out=None):
    dtype, offsets, steps = ops.prepare_packed(
        on, data, lengths, "pack_rnn_sequence", num_steps, "num_steps", ops.LARGER
    )
    out = on.output((steps, len(offsets) - 1, *data.shape[1:]), dtype, out, data)
    longest = steps if num_steps is None else on.sum_lengths(lengths, longest=True)[2]
    on.gather(data, on.time_major.packed_rows(offsets, longest), None, flat(on.part(out, 0, longest)))
    # Ids of all these rows would take more memory than small rows.
    on.fill(on.part(out, longest, steps), 0)
    return out


@ops.unpack_rnn_sequence.kernel("cpu", "cuda")
def unpack_rnn_sequence(on, data, lengths, /, *, out=None):
    dtype, offsets, rows = ops.prepare_unpacked(on, data, lengths, "unpack_rnn_sequence", axis=1)
    out = on.output((rows, *data.shape[2:]), dtype, out, data)
    on.gather(flat(data), on.time_major.unpacked_rows(offsets, rows), None, out)
    return out


@ops.reverse_packed_segs.kernel("cpu", "cuda")
def reverse_packed_segs(on, data, lengths, /, *, out=None):
    dtype, offsets, _ = ops.prepare_unpacked(on, data, lengths, "reverse_packed_segs", axis=1)
    out = on.output(data.shape, dtype, out, data)
    on.gather(flat(data), on.time_major.reversed_rows(offsets, len(data)), None, flat(out))
    return out
