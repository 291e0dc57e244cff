"""What a step of a sharded table would exchange over any number of ranks, counted from recorded ids by one process."""

from __future__ import annotations

import dataclasses
import math
import operator
from typing import Literal

import numpy as np

from ..arrays.ids import ids_in_range
from ..arrays.types import Array
from ..lod import LoDTensor
from ..public import public
from ..tracebacks import surface
from .dealing import Dealing

NUMBER = 8  # bytes of an id, a length and a count on the wire


@public(home="lodkit.distributed")
@dataclasses.dataclass(frozen=True, repr=False)
class Simulation:
    """What one step exchanges, as ``simulate`` counted it. In matrices rows stand for who asks, columns for who owns.

    Attributes
    ----------
    ids : array of int64, of shape (ranks, ranks)
        Ids of each rank's bags at each owner, duplicates counted: what an update sends, and what owners pool.
    unique : array of int64, of shape (ranks, ranks)
        The same without the duplicates in a rank's batch: the rows that a lookup sends.
    parts : array of int64, of shape (ranks, ranks)
        Bags of each rank with an id at that owner: bag gradients that an update sends, parts that owners pool.
    hot : array of int64, of shape (ranks,)
        Ids of hot rows in each rank's bags, which it reads from its own copy.
    bags : array of int64, of shape (ranks,)
        Bags of each rank.
    row_bytes : int
        Bytes of a row, of a bag and of its gradient.
    """

    ids: Array
    unique: Array
    parts: Array
    hot: Array
    bags: Array
    row_bytes: int

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return len(self.ids)

    @property
    def rows_read(self) -> Array:
        """Rows that each rank gathers from its part of the table for a lookup of all ranks; hot ones not counted."""
        return self.unique.sum(axis=0)

    @property
    def ids_updated(self) -> Array:
        """Ids that each rank's fused update goes through."""
        return self.ids.sum(axis=0)

    def sent(self, what: Literal["lookup", "partial", "update"]) -> Array:
        """Return the bytes that each rank sends to others in one step.

        Parameters
        ----------
        what : str
            ``"lookup"``: exact pooling, where the bags are: unique ids to their owners, rows back. ``"partial"``:
            pooling at the owners: all ids and the lengths of the parts of bags, pooled parts back. ``"update"``: all
            ids, lengths, and the gradients of bags, to the owners.
        """
        asked = {"lookup": self.unique, "partial": self.ids, "update": self.ids}[what]
        rows = self.unique if what == "lookup" else self.parts
        back = rows if what == "update" else rows.T
        sent = NUMBER * (asked + (0 if what == "lookup" else self.parts)) + self.row_bytes * back
        return sent.sum(axis=1) - sent.diagonal()

    def __repr__(self):
        sizes = ", ".join(f"{what} {self.sent(what).mean():,.0f}" for what in ("lookup", "partial", "update"))
        return (
            f"<Simulation of {self.ranks} ranks, {self.bags.sum()} bags: the busiest reads "
            f"{imbalance(self.rows_read):.2f} times the mean; mean bytes sent by a rank: {sizes}>"
        )


def imbalance(counts: Array) -> float:
    """Return the largest of some counts over their mean: 1 where all ranks have the same work.

    Examples
    --------
    >>> imbalance(np.array([3, 1, 1, 1]))
    2.0
    """
    return float(counts.max() / counts.mean()) if counts.any() else 1.0


@surface
def simulate(bags: LoDTensor, dealing: Dealing, row_bytes: int) -> Simulation:
    """Count what one step with a sharded table would exchange: ids and rows between ranks, and each rank's load.

    Nothing is sent, and no table is needed. The batch of all ranks is cut into as many parts of consecutive bags, and
    dealt by what deals the real table. Call it for each batch of a recorded stream, with as many ranks as you think of.

    Parameters
    ----------
    bags : LoDTensor of int32 or int64
        The ids of the bags of all ranks, one level.
    dealing : Dealing
        ``Ranges`` or ``Hashed``, with the table's height, the number of ranks, and hot rows if there are to be any.
    row_bytes : int
        Width of the table times the bytes of a number.

    Returns
    -------
    Simulation

    Raises
    ------
    RowIndexError
        An id is negative or not below the height.

    Examples
    --------
    >>> from lodkit.distributed import Hashed, Ranges, imbalance, simulate, zipf
    >>> ids = zipf(20 * 4096, height=10**6, exponent=1.1, seed=0)
    >>> bags = LoDTensor(ids, [np.full(4096, 20)])
    >>> by_range, by_hash = (simulate(bags, kind(10**6, 16), row_bytes=256) for kind in (Ranges, Hashed))
    >>> imbalance(by_range.rows_read).__round__(), imbalance(by_hash.rows_read).__round__()
    (12, 1)
    >>> bool(by_hash.sent("lookup").mean() < by_hash.sent("partial").mean())
    True
    """
    ranks, height = dealing.ranks, dealing.height
    if not isinstance(bags, LoDTensor) or bags.lod_level != 1:
        raise TypeError(f"bags must be a LoDTensor of one level, got {bags!r:.60}")
    flat, offsets = ids_in_range(np.asarray(bags.values), height), bags.offsets()
    cuts = np.arange(ranks + 1) * (len(offsets) - 1) // ranks
    ids, unique, parts = (np.zeros((ranks, ranks), np.int64) for _ in range(3))
    hot = np.zeros(ranks, np.int64)
    for rank in range(ranks):
        bounds = offsets[cuts[rank] : cuts[rank + 1] + 1]
        mine = flat[bounds[0] : bounds[-1]]
        owners = dealing.locate(mine)[0]
        cold = owners >= 0
        mine, owners, bag = mine[cold], owners[cold], np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))[cold]
        hot[rank] = len(cold) - len(mine)
        ids[rank] = np.bincount(owners, minlength=ranks)
        unique[rank] = np.bincount(owners[np.unique(mine, return_index=True)[1]], minlength=ranks)
        parts[rank] = np.bincount(np.unique(bag * ranks + owners) % ranks, minlength=ranks)
    return Simulation(ids, unique, parts, hot, np.diff(cuts), operator.index(row_bytes))


def zipf(count: int, height: int, exponent: float, seed: int | None = None) -> Array:
    """Return ids of which id i comes about as often as ``1 / (i + 1) ** exponent``: words, items, users.

    Parameters
    ----------
    count : int
    height : int
        Ids are below it.
    exponent : float
        At least 0, where all ids are equally frequent; 1 is Zipf's law.
    seed : int, optional

    Returns
    -------
    array of int64, of shape (count,)

    Examples
    --------
    >>> ids = zipf(10_000, height=1000, exponent=1, seed=0)
    >>> np.bincount(ids)[:4].tolist()
    [1479, 667, 433, 301]
    """
    if not (math.isfinite(exponent) and exponent >= 0):
        raise ValueError(f"exponent must be a number from 0 on, got {exponent}")
    u = np.random.default_rng(seed).random(count)
    # Density x ** -exponent from 1/2 to height + 1/2, by the inverse of its integral; the nearest integers are ids + 1.
    low, high, power = 0.5, height + 0.5, 1 - exponent
    x = low * (high / low) ** u if power == 0 else (low**power + u * (high**power - low**power)) ** (1 / power)
    return np.clip((x + 0.5).astype(np.int64) - 1, 0, height - 1)
