"""Rows of ids as numbers below a bound, by xxHash."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..arrays import INTEGERS, cast_to, integers
from ..base.errors import DTypeError, LoDError
from ..registry import Dense, op

DOCS_PAGE = "look-up"
SEARCH_WORDS = {"hash_rows": "hash, feature hashing, hashing trick, xxhash, hash buckets"}

_P1, _P2, _P3, _P4, _P5 = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_UINT64_MASK = (1 << 64) - 1
_TYPES = {"int64": np.dtype(np.int64), "int32": np.dtype(np.int32)}


def _rotate_left(x, by):
    return ((x << by) | (x >> (64 - by))) & _UINT64_MASK


def _mix_word(total, number):
    return _rotate_left((total + number * _P2) & _UINT64_MASK, 31) * _P1 & _UINT64_MASK


def _xxh64(numbers, seed, tail=None):
    """XXH64 of 64-bit numbers, behind which there may be one of 32 bits."""
    done = len(numbers) - len(numbers) % 4
    total = (seed + _P5) & _UINT64_MASK
    if done:
        lanes = [(seed + _P1 + _P2) & _UINT64_MASK, (seed + _P2) & _UINT64_MASK, seed, (seed - _P1) & _UINT64_MASK]
        for i in range(done):
            lanes[i % 4] = _mix_word(lanes[i % 4], numbers[i])
        total = sum(_rotate_left(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _UINT64_MASK
        for lane in lanes:
            total = ((total ^ _mix_word(0, lane)) * _P1 + _P4) & _UINT64_MASK
    total = (total + 8 * len(numbers) + (0 if tail is None else 4)) & _UINT64_MASK
    for number in numbers[done:]:
        total = (_rotate_left(total ^ _mix_word(0, number), 27) * _P1 + _P4) & _UINT64_MASK
    if tail is not None:
        total = (_rotate_left(total ^ (tail * _P1 & _UINT64_MASK), 23) * _P2 + _P3) & _UINT64_MASK
    total = (total ^ (total >> 33)) * _P2 & _UINT64_MASK
    total = (total ^ (total >> 29)) * _P3 & _UINT64_MASK
    return total ^ (total >> 32)


def check_hash(dims, num_hash, mod_by, dtype="int64"):
    """Check ids to hash, one row at a time. Returns the shape and the type of the result."""
    if len(dims) != 2:
        raise LoDError(f"x has shape {tuple(dims)}; a row of ids is hashed, pass (rows, ids)")
    if num_hash < 1 or mod_by < 1:
        raise ValueError(f"num_hash and mod_by must be at least 1, got {num_hash} and {mod_by}")
    if dtype == "int32" and mod_by > 1 << 31:
        raise ValueError(f"mod_by must be at most 2**31, got {mod_by}: the results are int32, as the ids")
    return (dims[0], num_hash, 1), _TYPES[dtype]


def check_ids(x, dtype):
    """Refuse ids whose bytes are hashed in a type that does not hold all of theirs."""
    if dtype == "int32" and not np.can_cast(x.dtype, np.int32):
        raise DTypeError(f"x is {x.dtype}, and ids are hashed as int32; {cast_to(np.int32, of=x.dtype)}")


def _words(row):
    """The 64-bit numbers that 32-bit ones make in memory, two each, and the last one where it is left alone."""
    row = [number & 0xFFFFFFFF for number in row]
    pairs = [low | high << 32 for low, high in zip(row[::2], row[1::2], strict=False)]
    return pairs, row[-1] if len(row) % 2 else None


@op(rowwise=True, types=INTEGERS)
def hash_rows(x: Dense, /, *, num_hash: int = 1, mod_by: int, dtype: Literal["int64", "int32"] = "int64") -> Dense:
    """Hash every row of ids to ``num_hash`` numbers below ``mod_by``, by XXH64 with seeds 0, 1 ...

    The operator corresponds to Paddle's hash.

    Parameters
    ----------
    x : array of int32 or int64 of shape (rows, ids), or LoDTensor
    num_hash : int
        Hashes per row.
    mod_by : int
        At least 1, and at most 2**31 if ``dtype`` is "int32".
    dtype : {"int64", "int32"}
        The type in which ids are hashed. The same id has different hashes as int32 and as int64, because its bytes
        differ. Paddle hashes ids in the type of the input.

    Returns
    -------
    array of type ``dtype`` and shape (rows, num_hash, 1), or LoDTensor with such values

    Raises
    ------
    ValueError
        ``num_hash`` or ``mod_by`` is less than 1, or ``mod_by`` is too large for ``dtype``.
    DTypeError
        Ids are not integers, or are int64 with ``dtype="int32"``.
    LoDError
        x does not have two dimensions.

    Examples
    --------
    >>> hash_rows([[1, 2], [3, 4]], num_hash=2, mod_by=1000).reshape(2, 2)
    array([[524, 896],
           [640, 562]])
    """
    shape, result = check_hash(x.shape, num_hash, mod_by, dtype)
    check_ids(x, dtype)
    ids = integers(x, "x").tolist()
    rows = [([number & _UINT64_MASK for number in row], None) if dtype == "int64" else _words(row) for row in ids]
    found = [_xxh64(words, seed, tail) % mod_by for words, tail in rows for seed in range(num_hash)]
    return np.array(found, result).reshape(shape)


@hash_rows.infer_rule
def _(x, *, num_hash=1, mod_by, dtype="int64"):
    check_ids(x, dtype)
    dims, dtype = check_hash(x.dims, num_hash, mod_by, dtype)
    return x.but(dims=dims, dtype=dtype)


hash_rows.example(lambda dtype: [((np.array([[1, 2]]),), {"mod_by": 1000})])
