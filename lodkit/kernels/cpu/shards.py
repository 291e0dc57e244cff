"""CPU part of lodkit/ops/shards.py: the order of rows by shard."""

from __future__ import annotations

import numpy as np

from ...arrays import words
from ...jit import njit, parallel_kernel, prange, settings
from ...lod import check_vector as check_vector
from ...lod import offsets as _lod
from ...ops.shards import check_sum
from .conversions import lengths_to_offsets
from .primitives.gather import put_once


@parallel_kernel
def _shards(keys, count, chunk, shards):
    for c in prange((len(keys) + chunk - 1) // chunk):
        for i in range(c * chunk, min(len(keys), (c + 1) * chunk)):
            shards[i] = keys[i] % count


def sort_by_shard(keys, count):
    """Shard of each key, rows in the order of their shards, and offsets of the shards."""
    shards = np.empty(keys.size, np.int64)
    _shards(len(shards), keys.reshape(-1), count, settings.chunk_rows, shards)
    offsets, order = _lod.sort_by_segment(shards, count)
    return shards, order, offsets


def key_column(keys, shards, count, pack):
    """Keys, int64; divided by the number of shards to pack them."""
    return keys // count if pack else keys


def segment_offsets(lengths, rows):
    """Checked offsets of lengths of all rows."""
    offsets = lengths_to_offsets(lengths)
    check_sum(offsets[-1], rows)
    return offsets


@njit
def _count(shards, offsets, lengths):
    for s in range(len(offsets) - 1):
        for i in range(offsets[s], offsets[s + 1]):
            lengths[shards[i], s] += 1


def count_rows(shards, offsets, count):
    """Number of rows of each segment, per shard."""
    lengths = np.zeros((count, len(offsets) - 1), np.int64)
    _count(shards[0], offsets, lengths)
    return lengths


def put_shards(order, starts, data, out):
    """Put the rows of each shard where its keys are."""
    target = words(out)
    for p, x in enumerate(data):
        put_once(x.size, order[starts[p] : starts[p + 1]], words(x), target)
