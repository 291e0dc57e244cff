"""First values of tables, by the ids of their rows: the same whoever owns a row, and whatever is made at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import empty, is_number
from ..arrays.types import Array
from ..base.errors import ShapeMismatchError
from ..ops.dropout import GOLDEN, mix_state
from .dealing import Dealing

BLOCK = 1 << 15  # numbers that are made at once: the first cache holds them
ROWS = 1 << 16  # of a table that are made at once
_SHARE = np.float32(2.0**-24)


def _bits(ids, width, seed):
    """64 random bits of each element of some rows, by its number in the table."""
    start = mix_state(np.full(1, seed % 2**64, np.uint64) + GOLDEN)
    numbers = ids.astype(np.uint64)[:, None] * np.uint64(width) + np.arange(width, dtype=np.uint64)
    return mix_state(start + numbers * GOLDEN)


def _uniform(bits, out, low, high):
    np.multiply(bits >> np.uint64(40), _SHARE * np.float32(high - low), out=out, casting="unsafe")
    out += np.float32(low)
    # The sum may round to high.
    np.minimum(out, np.nextafter(np.float32(high), np.float32(low)), out=out)


def _normal(bits, out, mean, deviation):
    """Box and Muller's: a radius and an angle, of 24 bits each."""
    radius = ((bits >> np.uint64(40)).astype(np.float32) + np.float32(1)) * _SHARE
    angle = (bits & np.uint64(0xFFFFFF)).astype(np.float32) * (_SHARE * np.float32(2 * math.pi))
    out[...] = np.float32(mean) + np.float32(deviation) * np.sqrt(-2 * np.log(radius)) * np.cos(angle)


class _Random:
    """Random rows by their ids."""

    def __init__(self, fill, first, second, seed):
        self._fill, self._numbers, self._seed = fill, (first, second), seed

    def __call__(self, ids: Array, width: int) -> Array:
        rows = np.empty((len(ids), width), np.float32)
        step = max(1, BLOCK // max(width, 1))
        for at in range(0, len(ids), step):
            self._fill(_bits(ids[at : at + step], width, self._seed), rows[at : at + step], *self._numbers)
        return rows


def uniform(low: float, high: float, seed: int = 0) -> Callable[[Array, int], Array]:
    """Make an ``init`` of float32 numbers spread evenly in ``[low, high)``, by the row's id and the seed.

    Examples
    --------
    >>> import numpy as np
    >>> init = uniform(-1, 1)
    >>> bool((init(np.array([7, 8]), 3)[1] == init(np.array([8]), 3)[0]).all())
    True
    """
    if not np.float32(low) <= np.float32(high):
        raise ValueError(f"low must not be above high, got {low} and {high}")
    return _Random(_uniform, low, high, seed)


def normal(mean: float = 0.0, deviation: float = 1.0, seed: int = 0) -> Callable[[Array, int], Array]:
    """Make an ``init`` of normally distributed numbers, by the row's id and the seed."""
    return _Random(_normal, mean, deviation, seed)


def as_init(init: Any, height: int, seed: int) -> Callable[[Array, int], Any]:
    """Return the function ``(ids, width) -> rows`` of an ``init``."""
    if callable(init):
        return init
    if isinstance(init, str):
        bound = 1 / math.sqrt(max(height, 1))
        made = {"uniform": uniform(-bound, bound, seed), "normal": normal(seed=seed)}
        if init not in made:
            raise ValueError(f"init must be one of {sorted(made)}, a number or a function, got {init!r}")
        return made[init]
    if not is_number(init):
        raise TypeError(f"init must be a name, a number or a function (ids, width) -> rows, got {type(init).__name__}")
    return lambda ids, width: init


def filled_rows(init: Callable[[Array, int], Any], dealing: Dealing, rank: int, width: int, dtype: Any) -> Array:
    """Make the first rows of a rank, in blocks."""
    values = empty((int(dealing.counts[rank]), width), dtype)
    for start in range(0, len(values), ROWS):
        ids = dealing.rows(rank, start, start + ROWS)
        rows = np.asarray(init(ids, width))
        if rows.ndim and rows.shape != (len(ids), width):
            raise ShapeMismatchError(f"init gave shape {rows.shape}, not {(len(ids), width)}")
        values[start : start + ROWS] = rows
    return values


def name_of(init):
    """What ranks compare of first values, which must be the same at all."""
    return getattr(init, "__qualname__", type(init).__qualname__) if callable(init) else init
