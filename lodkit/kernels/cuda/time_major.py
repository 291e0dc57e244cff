"""CUDA kernels of lodkit/ops/time_major.py: a map of rows, in front of the copy of rows by their numbers."""

from __future__ import annotations

import numpy as np

from ...arrays import check_rows, check_values
from ...arrays.cuda import vector
from ...arrays.cuda.launch import cuda, launch
from ...arrays.cuda.memory import output, view
from ...ops import time_major as ops
from ...ops.padding import check_fit, check_padded, check_width
from ...ops.segments import check_rows as check_sum
from ...registry import Dense
from .conversions import integers, summed
from .padding import fitted
from .primitives.gather import gather
from .primitives.row_kernels import segment_of


@cuda.jit
def _steps(offsets, count, n, rows):
    """Which row stands at each step of each segment; -1 behind its end."""
    i = cuda.grid(1)
    while i < n:
        s = i % count
        row = vector.number(offsets, s) + i // count
        rows[i] = row if row < vector.number(offsets, s + 1) else -1
        i += cuda.gridsize(1)


@cuda.jit
def _places(offsets, count, n, rows):
    """Where in a time-major array each row stands."""
    i = cuda.grid(1)
    while i < n:
        s = segment_of(offsets, count, i)
        rows[i] = (i - vector.number(offsets, s)) * count + s
        i += cuda.gridsize(1)


@cuda.jit
def _reversed(lengths, count, n, rows):
    i = cuda.grid(1)
    while i < n:
        t, s = i // count, i % count
        length = vector.number(lengths, s)
        rows[i] = (length - 1 - t if t < length else t) * count + s
        i += cuda.gridsize(1)


def _copied(kernel, segments, count, n, data, out):
    """Rows of ``data`` by the map that a kernel makes, zeros for -1."""
    rows = data.like((n,), np.int64)
    launch(kernel, n, segments, count, n, rows)
    gather(data, rows, None, out)
    return out.array


def _flat(data):
    """A time-major array as rows."""
    return data.reshape(data.shape[0] * data.shape[1], *data.shape[2:])


@ops.pack_rnn_sequence.kernel("cuda")
def pack(data: Dense, lengths: Dense, /, *, num_steps, out=None):
    data, lengths = check_rows(view(data), "data"), integers(lengths, "lengths")
    dtype = check_values(data.dtype, "pack_rnn_sequence")
    offsets, found = summed(lengths, 0)
    check_sum("lengths", (found.last,), len(data))
    steps = found.longest if check_width(num_steps, "num_steps") is None else num_steps
    if found.longest > steps:
        check_fit(lengths.read(), steps, "pass a larger num_steps")
    out = output(data, (steps, lengths.size, *data.shape[1:]), dtype, out)
    return _copied(_steps, offsets, lengths.size, steps * lengths.size, data, out)


@ops.unpack_rnn_sequence.kernel("cuda")
def unpack(data: Dense, lengths: Dense, /, *, out=None):
    data, lengths = view(data), integers(lengths, "lengths")
    dtype = check_values(data.dtype, "unpack_rnn_sequence")
    check_padded(data, lengths.size, axis=1)
    offsets, rows = fitted(lengths, data.shape[0], ops.STEPS)
    out = output(data, (rows, *data.shape[2:]), dtype, out)
    return _copied(_places, offsets, lengths.size, rows, _flat(data), out)


@ops.reverse_packed_segs.kernel("cuda")
def reverse(data: Dense, lengths: Dense, /, *, out=None):
    data, lengths = view(data), integers(lengths, "lengths")
    dtype = check_values(data.dtype, "reverse_packed_segs")
    check_padded(data, lengths.size, axis=1)
    fitted(lengths, data.shape[0], ops.STEPS)
    out = output(data, data.shape, dtype, out)
    return _copied(_reversed, lengths, lengths.size, data.shape[0] * lengths.size, _flat(data), out)
