"""Kernels of lodkit/ops/hashing.py, and XXH64 of 64-bit numbers as a plain function, for both devices."""

from __future__ import annotations

import numpy as np

from ...jit import jitable
from ...ops import hashing as ops
from .loops import number_cells

P1, P2, P3 = np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9)
P4, P5 = np.uint64(0x85EBCA77C2B2AE63), np.uint64(0x27D4EB2F165667C5)


@jitable
def rotate_left(x, by):
    return (x << np.uint64(by)) | (x >> np.uint64(64 - by))


@jitable
def mix_word(total, number):
    return rotate_left(total + number * P2, 31) * P1


@jitable
def word_of(x, first, i, small):
    """64-bit number ``i`` of a row that starts at ``first``: two elements if they are ``small``, of 32 bits."""
    if small:
        low, high = np.uint64(x[first + 2 * i]), np.uint64(x[first + 2 * i + 1])
        return (low & np.uint64(0xFFFFFFFF)) | (high << np.uint64(32))
    return np.uint64(x[first + i])


@jitable
def lane_of(x, first, small, lane, stripes, total):
    """One of the four running totals of a row, over its whole stripes of four numbers."""
    for s in range(stripes):
        total = mix_word(total, word_of(x, first, 4 * s + lane, small))
    return total


@jitable
def xxh64(x, row, columns, small, seed):
    """XXH64 of a row of a flat array of int64, which has numbers of 32 bits if they are ``small``."""
    first, words = row * columns, columns // 2 if small else columns
    stripes, total = words // 4, seed + P5
    if stripes:
        one = lane_of(x, first, small, 0, stripes, seed + P1 + P2)
        two = lane_of(x, first, small, 1, stripes, seed + P2)
        three = lane_of(x, first, small, 2, stripes, seed)
        four = lane_of(x, first, small, 3, stripes, seed - P1)
        total = rotate_left(one, 1) + rotate_left(two, 7) + rotate_left(three, 12) + rotate_left(four, 18)
        for lane in (one, two, three, four):
            total = (total ^ mix_word(np.uint64(0), lane)) * P1 + P4
    total += np.uint64(4 * columns if small else 8 * columns)
    for i in range(4 * stripes, words):
        total = rotate_left(total ^ mix_word(np.uint64(0), word_of(x, first, i, small)), 27) * P1 + P4
    if small and columns % 2:
        number = np.uint64(x[first + columns - 1]) & np.uint64(0xFFFFFFFF)
        total = rotate_left(total ^ (number * P1), 23) * P2 + P3
    total = (total ^ (total >> np.uint64(33))) * P2
    total = (total ^ (total >> np.uint64(29))) * P3
    return total ^ (total >> np.uint64(32))


@number_cells
def _hash_by_seed(row, seed, x, columns, small, bound):
    """The hash by a seed, below ``bound``, of a row of ids, ``small`` ones as int32."""
    return np.int64(xxh64(x, row, columns, small, np.uint64(seed)) % np.uint64(bound))


@ops.hash_rows.kernel("cpu", "cuda")
def hash_rows(on, x, /, *, num_hash, mod_by, dtype, out=None):
    shape, result = ops.check_hash(x.shape, num_hash, mod_by, dtype)
    small = dtype == "int32"
    if small:
        ops.check_ids(x, dtype)
    x = on.integers(x, "x")
    out = on.output(shape, result, out, x)
    if out.size:
        ids, columns = x.reshape(x.size), x.shape[1]
        # Uncompiled, products are taken modulo 2**64.
        with np.errstate(over="ignore"):
            args = ids, columns, int(small), mod_by
            _hash_by_seed(on)(x, out.size, num_hash, *args, out=out, work=columns + 8)
    return out
