"""Kernels of lodkit/ops/time_major.py: a map of rows, in front of the copy of rows by their numbers."""

from __future__ import annotations

from ...ops import time_major as ops
from ...registry import Dense
from .padded_runs import flat


def _copied(on, data, row_map, offsets, out):
    """Copy the rows of ``data`` that a map lists; zeros for -1."""
    on.gather(data, on.time_major.made(row_map, offsets, len(out)), None, out)


@ops.pack_rnn_sequence.kernel("cpu", "cuda")
def pack_rnn_sequence(on, data: Dense, lengths: Dense, /, *, num_steps, out=None):
    dtype, offsets, steps = ops.prepare_steps(on, data, lengths, num_steps)
    out = on.output((steps, len(offsets) - 1, *data.shape[1:]), dtype, out, data)
    _copied(on, data, on.time_major.packed, offsets, flat(out))
    return out


@ops.unpack_rnn_sequence.kernel("cpu", "cuda")
def unpack_rnn_sequence(on, data: Dense, lengths: Dense, /, *, out=None):
    dtype, offsets, rows = ops.prepare_time_major(on, data, lengths, "unpack_rnn_sequence")
    out = on.output((rows, *data.shape[2:]), dtype, out, data)
    _copied(on, flat(data), on.time_major.unpacked, offsets, out)
    return out


@ops.reverse_packed_segs.kernel("cpu", "cuda")
def reverse_packed_segs(on, data: Dense, lengths: Dense, /, *, out=None):
    dtype, offsets, _ = ops.prepare_time_major(on, data, lengths, "reverse_packed_segs")
    out = on.output(data.shape, dtype, out, data)
    _copied(on, flat(data), on.time_major.reversed_steps, offsets, flat(out))
    return out
