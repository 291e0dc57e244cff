"""Kernels of lodkit/ops/hashing.py, and XXH64 of 64-bit numbers as a plain function, for both devices."""

from __future__ import annotations

import numpy as np

from ...jit import jitable
from ...ops import hashing as ops

P1, P2, P3 = np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9)
P4, P5 = np.uint64(0x85EBCA77C2B2AE63), np.uint64(0x27D4EB2F165667C5)


@jitable
def rotated(x, by):
    return (x << np.uint64(by)) | (x >> np.uint64(64 - by))


@jitable
def mixed(total, number):
    return rotated(total + number * P2, 31) * P1


@jitable
def lane_of(x, row, columns, lane, stripes, total):
    """One of the four running totals of a row, over its whole stripes of four numbers."""
    for s in range(stripes):
        total = mixed(total, np.uint64(x[row * columns + 4 * s + lane]))
    return total


@jitable
def xxh64(x, row, columns, seed):
    """XXH64 of a row of a flat array of int64."""
    stripes, total = columns // 4, seed + P5
    if stripes:
        one = lane_of(x, row, columns, 0, stripes, seed + P1 + P2)
        two = lane_of(x, row, columns, 1, stripes, seed + P2)
        three = lane_of(x, row, columns, 2, stripes, seed)
        four = lane_of(x, row, columns, 3, stripes, seed - P1)
        total = rotated(one, 1) + rotated(two, 7) + rotated(three, 12) + rotated(four, 18)
        for lane in (one, two, three, four):
            total = (total ^ mixed(np.uint64(0), lane)) * P1 + P4
    total += np.uint64(8 * columns)
    for i in range(4 * stripes, columns):
        total = rotated(total ^ mixed(np.uint64(0), np.uint64(x[row * columns + i])), 27) * P1 + P4
    total = (total ^ (total >> np.uint64(33))) * P2
    total = (total ^ (total >> np.uint64(29))) * P3
    return total ^ (total >> np.uint64(32))


@ops.hash_rows.kernel("cpu", "cuda")
def hash_rows(on, x, /, *, num_hash, mod_by, out=None):
    shape = ops.check_hash(x.shape, num_hash, mod_by)
    x = on.integers(x, "x")
    out = on.output(shape, np.dtype(np.int64), out, x)
    if out.size:
        on.hashing.fill(x.reshape(-1), x.shape[1], num_hash, mod_by, out.reshape(-1))
    return out
