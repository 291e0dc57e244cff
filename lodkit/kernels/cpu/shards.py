"""CPU kernels of lodkit/ops/shards.py: the order of rows by shard, in front of the shared copy of rows."""

from __future__ import annotations

import numpy as np

from ... import arrays
from ...arrays import matrix, native
from ...jit import njit, parallel_kernel, prange, settings
from ...lod import offsets as _lod
from ...lod.levels import check_vector
from ...ops import shards as ops
from ...registry import Dense
from .conversions import lengths_to_offsets
from .primitives.gather import gather_kernel


@parallel_kernel
def _shards(keys, count, chunk, shards):
    for c in prange((len(keys) + chunk - 1) // chunk):
        for i in range(c * chunk, min(len(keys), (c + 1) * chunk)):
            shards[i] = keys[i] % count


def shards_of(keys, count):
    """The shard of every key."""
    shards = np.empty(len(keys), np.int64)
    _shards(len(keys), keys, count, settings.chunk_rows, shards)
    return shards


def _cut(rows, order, offsets):
    """The rows of every shard: consecutive parts of one array."""
    out = arrays.output((len(order), *rows.shape[1:]), native(rows.dtype))
    gather_kernel(out.size, matrix(rows), order, -1, settings.chunk_rows, matrix(out))
    return [out[a:b] for a, b in zip(offsets[:-1], offsets[1:], strict=True)]


def split(keys, shards, data, count, pack_first_input):
    """For every shard its keys, then its rows of each of the data."""
    offsets, order = _lod.sort_by_segment(shards, count)
    rows = [x.reshape(keys.size, *x.shape[keys.ndim :]) for x in data]
    flat = keys.reshape(-1)
    columns = [_cut(x, order, offsets) for x in (flat // count if pack_first_input else flat, *rows)]
    return list(zip(*columns, strict=True))


@ops.partition.kernel("cpu")
def partition(keys: Dense, /, *data: Dense, num_outputs, pack_first_input):
    count = ops.shards_of("partition", num_outputs, 1 + len(data))
    keys = ops.check_keys(keys)
    ops.check_data(data, keys.shape)
    parts = split(keys, shards_of(keys.reshape(-1), count), data, count, pack_first_input)
    return tuple(x for shard in parts for x in shard)


@njit
def _count(shards, offsets, lengths):
    for s in range(len(offsets) - 1):
        for i in range(offsets[s], offsets[s + 1]):
            lengths[shards[i], s] += 1


@ops.lengths_partition.kernel("cpu")
def lengths_partition(lengths: Dense, keys: Dense, /, *data: Dense, num_outputs, pack_first_input):
    count = ops.shards_of("lengths_partition", num_outputs, 2 + len(data))
    keys, offsets = check_vector(keys, "keys"), lengths_to_offsets(lengths)
    ops.check_sum(offsets[-1], len(keys))
    ops.check_data(data, keys.shape)
    shards, inside = shards_of(keys, count), np.zeros((count, len(offsets) - 1), np.int64)
    _count(shards, offsets, inside)
    parts = split(keys, shards, data, count, pack_first_input)
    return tuple(x for n, shard in zip(inside, parts, strict=True) for x in (n, *shard))


@parallel_kernel
def _put(rows, value, out):
    """``out[rows[i]] = value[i]``; rows are listed once each."""
    for i in prange(len(rows)):
        for d in range(out.shape[1]):
            out[rows[i], d] = value[i, d]


@ops.gather_by_key.kernel("cpu")
def gather_by_key(keys: Dense, /, *data: Dense, out=None):
    keys = ops.check_keys(keys)
    ops.check_shards(data)
    offsets, order = _lod.sort_by_segment(shards_of(keys.reshape(-1), len(data)), len(data))
    ops.check_counts(np.diff(offsets), data)
    item = data[0].shape[1:]
    out = arrays.output(keys.shape + item, native(data[0].dtype), out)
    rows = matrix(out.reshape(keys.size, *item))
    for p, x in enumerate(data):
        _put(x.size, order[offsets[p] : offsets[p + 1]], matrix(x), rows)
    return out
