"""What a step of a sharded table would exchange over any number of ranks, counted from recorded ids by one process."""

from __future__ import annotations

import dataclasses
import math
from typing import Literal, get_args

import numpy as np

from ..arrays.checks import integer, is_number
from ..arrays.ids import ids_in_range
from ..arrays.types import Array, DTypeLike
from ..base.loading import public
from ..base.tracebacks import surface
from ..lod import LoDTensor
from .calls import BYTES
from .dealing import Dealing
from .hot import counts_of
from .plan import row_type

What = Literal["lookup", "partial", "update", "partial update"]
LENGTH = 4  # bytes of the number of a bag's ids


@public(home="lodkit.distributed")
@dataclasses.dataclass(frozen=True, repr=False)
class Simulation:
    """What one step exchanges, as ``simulate`` counted it. In matrices rows stand for who asks, columns for who owns.

    Attributes
    ----------
    ids : array of int64, of shape (ranks, ranks)
        Ids of each rank's bags at each owner, duplicates counted; hot ones not.
    unique : array of int64, of shape (ranks, ranks)
        The same without the duplicates in a rank's batch: the rows that a lookup sends.
    parts : array of int64, of shape (ranks, ranks)
        Bags of each rank with an id at that owner: what owners pool where pooling is partial.
    grads : array of int64, of shape (ranks, ranks)
        The same, with hot ids: the gradients that an update sends.
    hot : array of int64, of shape (ranks, ranks)
        Hot ids of each rank's bags, by the rank that updates them; each rank has their rows.
    hot_rows : array of int64, of shape (ranks,)
        Hot rows that each rank updates, and sends to all others.
    bags : array of int64, of shape (ranks,)
        Bags of each rank.
    row_bytes, id_bytes, factor_bytes : int
        Of a row, of an id, and of the factor of a bag's gradient, which sums do not need.
    """

    ids: Array
    unique: Array
    parts: Array
    grads: Array
    hot: Array
    hot_rows: Array
    bags: Array
    row_bytes: int
    id_bytes: int
    factor_bytes: int

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return len(self.ids)

    @property
    def rows_read(self) -> Array:
        """Rows that each rank gathers for other ranks and itself in a lookup; hot ones not counted."""
        return self.unique.sum(axis=0)

    @property
    def ids_updated(self) -> Array:
        """Ids that each rank's update goes through."""
        return (self.ids + self.hot).sum(axis=0)

    def sent(self, what: What) -> Array:
        """Return the bytes that each rank sends to others.

        Parameters
        ----------
        what : {"lookup", "partial", "update", "partial update"}
            ``lookup``: distinct ids, and rows back. ``partial``: a lookup with ``exchange="partial"``: ids and lengths
            of bags, and pooled parts back. ``update``: ids, lengths and gradients of bags, and hot rows
            to all. ``partial update``: that after a partial lookup without hot rows, whose ids the owners know.

        Returns
        -------
        array of int64, of shape (ranks,)
        """
        return _sums_of_others(self._bytes(what)) + BYTES * (self.ranks - 1)

    def received(self, what: What) -> Array:
        """Return the bytes that each rank gets from others: most at the owner of the most frequent id, in an update.

        Parameters
        ----------
        what : {"lookup", "partial", "update", "partial update"}
            As in ``sent``.

        Returns
        -------
        array of int64, of shape (ranks,)
        """
        return _sums_of_others(self._bytes(what).T) + BYTES * (self.ranks - 1)

    def messages(self, what: What) -> Array:
        """Return how many messages each rank sends, one to each other rank that needs any, and one with counts to all.

        Parameters
        ----------
        what : {"lookup", "partial", "update", "partial update"}
            As in ``sent``.

        Returns
        -------
        array of int64, of shape (ranks,)
        """
        none = np.zeros_like(self.ids)
        there, back = {
            "lookup": (self.unique, self.unique),
            "partial": (self.parts, self.parts),
            "update": (self.grads, np.repeat(self.hot_rows[None], self.ranks, 0)),
            "partial update": (self.parts, none),
        }[what]
        return _sums_of_others((there > 0).astype(np.int64) + (back > 0).T) + self.ranks - 1

    def _bytes(self, what):
        """Bytes from each rank to each."""
        if what == "lookup":
            return self.id_bytes * self.unique + self.row_bytes * self.unique.T
        if what == "partial":
            there = self.id_bytes * self.ids + (LENGTH + self.factor_bytes) * self.parts
            return there + self.row_bytes * self.parts.T
        if what == "partial update":
            return self.row_bytes * self.parts
        if what != "update":
            raise ValueError(f"what must be one of {get_args(What)}, got {what!r}")
        each = LENGTH + self.factor_bytes + self.row_bytes
        bags = self.id_bytes * (self.ids + self.hot) + each * self.grads
        return bags + self.row_bytes * self.hot_rows[:, None]

    def __repr__(self):
        sizes = ", ".join(f"{what} {self.sent(what).mean():,.0f}" for what in ("lookup", "partial", "update"))
        return (
            f"<Simulation of {self.ranks} ranks, {len(self.bags)} x {self.bags.max()} bags: the busiest reads "
            f"{imbalance(self.rows_read):.2f} times the mean; mean bytes sent by a rank: {sizes}>"
        )


def _sums_of_others(matrix):
    """Sums by rank without what it sends to itself."""
    return matrix.sum(axis=1) - matrix.diagonal()


def imbalance(counts: Array) -> float:
    """Return the largest of some counts over their mean: 1 where all ranks have the same work.

    Examples
    --------
    >>> imbalance(np.array([3, 1, 1, 1]))
    2.0
    """
    return float(counts.max() / counts.mean()) if counts.any() else 1.0


@surface
def simulate(
    bags: LoDTensor,
    dealing: Dealing,
    width: int,
    *,
    dtype: DTypeLike = np.float32,
    pool: Literal["sum", "mean", "sqrt"] = "sum",
) -> Simulation:
    """Count what one step with a sharded table would exchange: ids and rows between ranks, and each rank's load.

    Nothing is sent, and no table is needed. The batch of all ranks is cut into as many parts of consecutive bags, and
    dealt by what deals the real table. Call it for each batch of a recorded stream, with as many ranks as you think of.

    Parameters
    ----------
    bags : LoDTensor of int32 or int64
        The ids of the bags of all ranks, one level.
    dealing : Dealing
        ``Ranges`` or ``Hashed``, with the table's height, the number of ranks, and hot rows if there are to be any.
    width : int
        Numbers of a row.
    dtype : data-type, default float32
    pool : {"sum", "mean", "sqrt"}
        Of the bags; without weights.

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
    >>> by_range, by_hash = (simulate(bags, kind(10**6, 16), width=64) for kind in (Ranges, Hashed))
    >>> imbalance(by_range.rows_read).__round__(), imbalance(by_hash.rows_read).__round__()
    (12, 1)
    >>> bool(by_hash.sent("lookup").mean() < by_hash.sent("partial").mean())
    True
    """
    if not isinstance(dealing, Dealing):
        raise TypeError(f"dealing must be a Ranges or a Hashed, got {dealing!r}")
    ranks, height = dealing.ranks, dealing.height
    if not isinstance(bags, LoDTensor) or bags.lod_level != 1:
        raise TypeError(f"bags must be a LoDTensor of one level, got {bags!r:.60}")
    flat, offsets = ids_in_range(np.asarray(bags.values), height), bags.offsets()
    cuts = np.arange(ranks + 1) * (len(offsets) - 1) // ranks
    ids, unique, parts, grads, hot = (np.zeros((ranks, ranks), np.int64) for _ in range(5))
    for rank in range(ranks):
        bounds = offsets[cuts[rank] : cuts[rank + 1] + 1]
        mine = flat[bounds[0] : bounds[-1]]
        owners, local = dealing.checked_locate(mine)
        bag, cold = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds)), owners >= 0
        hot[rank] = np.bincount(local[~cold] % ranks, minlength=ranks)
        homes = np.unique(bag * ranks + np.where(cold, owners, local % ranks))
        grads[rank] = np.bincount(homes % ranks, minlength=ranks)
        mine, owners, bag = mine[cold], owners[cold], bag[cold]
        ids[rank] = np.bincount(owners, minlength=ranks)
        unique[rank] = np.bincount(owners[np.unique(mine, return_index=True)[1]], minlength=ranks)
        pairs = np.unique(bag * ranks + owners)
        parts[rank] = np.bincount(pairs % ranks, minlength=ranks)
    dtype = np.dtype(dtype)
    factor = 0 if pool == "sum" else np.promote_types(dtype, np.float32).itemsize
    sizes = integer(width, "width") * dtype.itemsize, np.dtype(row_type(dealing)).itemsize, factor
    hot_rows = counts_of(len(dealing.hot), ranks)
    return Simulation(ids, unique, parts, grads, hot, hot_rows, np.diff(cuts), *sizes)


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
    if integer(count, "count") < 0:
        raise ValueError(f"count must not be negative, got {count}")
    if integer(height, "height") < 1:
        raise ValueError(f"height must be at least 1, got {height}: there are no ids below it")
    if not (is_number(exponent) and math.isfinite(exponent) and exponent >= 0):
        raise ValueError(f"exponent must be a number from 0 on, got {exponent!r}")
    u = np.random.default_rng(seed).random(count)
    # Density x ** -exponent from 1/2 to height + 1/2, by the inverse of its integral; the nearest integers are ids + 1.
    low, high, power = 0.5, height + 0.5, 1 - exponent
    x = low * (high / low) ** u if power == 0 else (low**power + u * (high**power - low**power)) ** (1 / power)
    return np.clip((x + 0.5).astype(np.int64) - 1, 0, height - 1)
