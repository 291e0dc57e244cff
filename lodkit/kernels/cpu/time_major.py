"""CPU kernels of lodkit/ops/time_major.py: a map of rows, in front of the copy of rows by their numbers."""

from __future__ import annotations

import numpy as np

from ... import arrays
from ...arrays import check_rows, check_values, matrix
from ...jit import njit, settings
from ...lod.copy_runs import lengths_between
from ...ops import time_major as ops
from ...ops.padding import check_fit, check_width
from ...registry import Dense
from .conversions import lengths_to_offsets, to_offsets
from .primitives.gather import gather_kernel


@njit
def _steps(offsets, rows):
    """Which row stands at each step of each segment; -1 behind its end."""
    for t in range(rows.shape[0]):
        for s in range(rows.shape[1]):
            row = offsets[s] + t
            rows[t, s] = row if row < offsets[s + 1] else -1


@njit
def _places(offsets, rows):
    """Where in a time-major array each row stands."""
    count = len(offsets) - 1
    for s in range(count):
        for i in range(offsets[s], offsets[s + 1]):
            rows[i] = (i - offsets[s]) * count + s


@njit
def _reversed(lengths, rows):
    steps, count = rows.shape
    for t in range(steps):
        for s in range(count):
            rows[t, s] = (lengths[s] - 1 - t if t < lengths[s] else t) * count + s


def _copied(data, rows, out):
    """``out[i] = data[rows[i]]``, zeros for -1."""
    gather_kernel(out.size, matrix(data), rows.reshape(-1), -1, settings.chunk_rows, matrix(out))


def _flat(data):
    """A time-major array as rows."""
    return data.reshape(data.shape[0] * data.shape[1], *data.shape[2:])


@ops.pack_rnn_sequence.kernel("cpu")
def pack(data: Dense, lengths: Dense, /, *, num_steps, out=None):
    dtype = check_values(data.dtype, "pack_rnn_sequence")
    offsets = to_offsets(lengths, "lengths", len(check_rows(data, "data")), None)
    counts = lengths_between(offsets)
    if check_width(num_steps, "num_steps") is not None:
        check_fit(counts, num_steps, "pass a larger num_steps")
    rows = np.empty((counts.max(initial=0) if num_steps is None else num_steps, len(counts)), np.int64)
    _steps(offsets, rows)
    out = arrays.output((*rows.shape, *data.shape[1:]), dtype, out)
    _copied(data, rows, _flat(out))
    return out


@ops.unpack_rnn_sequence.kernel("cpu")
def unpack(data: Dense, lengths: Dense, /, *, out=None):
    dtype = check_values(data.dtype, "unpack_rnn_sequence")
    offsets = lengths_to_offsets(ops.check_steps(data, lengths))
    rows = np.empty(offsets[-1], np.int64)
    _places(offsets, rows)
    out = arrays.output((len(rows), *data.shape[2:]), dtype, out)
    _copied(_flat(data), rows, out)
    return out


@ops.reverse_packed_segs.kernel("cpu")
def reverse(data: Dense, lengths: Dense, /, *, out=None):
    dtype = check_values(data.dtype, "reverse_packed_segs")
    lengths = ops.check_steps(data, lengths)
    rows = np.empty(data.shape[:2], np.int64)
    _reversed(lengths, rows)
    out = arrays.output(data.shape, dtype, out)
    _copied(_flat(data), rows, _flat(out))
    return out
