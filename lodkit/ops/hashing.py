"""Rows of ids as numbers below a bound, by xxHash."""

from __future__ import annotations

import numpy as np

from ..arrays import integers
from ..errors import LoDError
from ..registry import Dense, op

_P1, _P2, _P3, _P4, _P5 = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_ALL = (1 << 64) - 1


def _rotated(x, by):
    return ((x << by) | (x >> (64 - by))) & _ALL


def _mixed(total, number):
    return _rotated((total + number * _P2) & _ALL, 31) * _P1 & _ALL


def _xxh64(numbers, seed):
    """XXH64 of 64-bit numbers."""
    done = len(numbers) - len(numbers) % 4
    total = (seed + _P5) & _ALL
    if done:
        lanes = [(seed + _P1 + _P2) & _ALL, (seed + _P2) & _ALL, seed, (seed - _P1) & _ALL]
        for i in range(done):
            lanes[i % 4] = _mixed(lanes[i % 4], numbers[i])
        total = sum(_rotated(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _ALL
        for lane in lanes:
            total = ((total ^ _mixed(0, lane)) * _P1 + _P4) & _ALL
    total = (total + 8 * len(numbers)) & _ALL
    for number in numbers[done:]:
        total = (_rotated(total ^ _mixed(0, number), 27) * _P1 + _P4) & _ALL
    total = (total ^ (total >> 33)) * _P2 & _ALL
    total = (total ^ (total >> 29)) * _P3 & _ALL
    return total ^ (total >> 32)


def check_hash(dims, num_hash, mod_by):
    """Check ids to hash, one row at a time. Returns the shape of the result."""
    if len(dims) != 2:
        raise LoDError(f"x has shape {tuple(dims)}; a row of ids is hashed, pass (rows, ids)")
    if num_hash < 1 or mod_by < 1:
        raise ValueError(f"num_hash and mod_by must be at least 1, got {num_hash} and {mod_by}")
    return (dims[0], num_hash, 1)


@op(rowwise=True)
def hash_rows(x: Dense, /, *, num_hash: int = 1, mod_by: int) -> Dense:
    """Hash every row of ids to ``num_hash`` numbers below ``mod_by``, by XXH64 with seeds 0, 1 ... Paddle's hash.

    Parameters
    ----------
    x : array of int32 or int64 of shape (rows, ids), or LoDTensor
        Hashed as int64.
    num_hash : int
    mod_by : int

    Returns
    -------
    int64 array of shape (rows, num_hash, 1), or LoDTensor

    Examples
    --------
    >>> hash_rows([[1, 2], [3, 4]], num_hash=2, mod_by=1000).reshape(2, 2)
    array([[524, 896],
           [640, 562]])
    """
    shape = check_hash(x.shape, num_hash, mod_by)
    rows = [[number & _ALL for number in row] for row in integers(x, "x").tolist()]
    found = [_xxh64(row, seed) % mod_by for row in rows for seed in range(num_hash)]
    return np.array(found, np.int64).reshape(shape)


@hash_rows.infer_rule
def _(x, *, num_hash=1, mod_by):
    return x.but(dims=check_hash(x.dims, num_hash, mod_by), dtype=np.dtype(np.int64))


hash_rows.example(lambda dtype: [((np.array([[1, 2]]),), {"mod_by": 1000})])
