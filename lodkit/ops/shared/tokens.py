"""Checks of sequences of tokens, one integer a step, and of pairs of sequences."""

from __future__ import annotations

import numpy as np

from ...arrays import cast_to, native
from ...base.errors import DTypeError, LoDMismatchError, ShapeMismatchError


def check_tokens(name, values, what="x"):
    """Check that values are one integer per row. Returns the dtype: int64 where there are none."""
    if tuple(values.shape[1:]) not in ((), (1,)):
        raise ShapeMismatchError(f"{name}: {what} has rows of shape {tuple(values.shape[1:])}; a token is one number")
    dtype = native(values.dtype)
    if dtype not in (np.int32, np.int64):
        if not values.shape[0]:
            return np.dtype(np.int64)
        raise DTypeError(f"{name} takes int32 or int64, not {values.dtype}; {cast_to(np.int64, of=dtype)}")
    return dtype


def offsets_of_pairs(name, level, **pair):
    """The row offsets, at a level, of two LoDTensors whose sequences are pairs, under the same levels above."""
    (one, x), (other, y) = pair.items()
    a, b = x._row_offsets(level), y._row_offsets(level)
    if len(a) != len(b):
        raise LoDMismatchError(f"{name}: {one} has {len(a) - 1} sequences, {other} {len(b) - 1}; they are pairs")
    above = [t._lod[: level % t.lod_level] for t in (x, y)]
    if len(above[0]) != len(above[1]) or not all(map(np.array_equal, *above)):
        raise LoDMismatchError(
            f"{name}: {one} and {other} differ in the levels above their sequences: {x.lod()} and {y.lod()}"
        )
    return a, b
