"""Which rank owns which row of a table, and where it keeps it: arithmetic, without a list of the rows."""

from __future__ import annotations

import zlib

import numpy as np

from ..arrays.checks import integer
from ..arrays.ids import ids_in_range
from ..arrays.types import Array, DenseLike
from ..base.errors import LodkitError
from ..base.loading import public

_HOME = "lodkit.distributed"


@public(home=_HOME)
class Dealing:
    """Rows of a table, dealt to ranks; the base of ``Ranges`` and ``Hashed``.

    A rank's local rows are the hot rows first, in increasing order, which every rank holds, and then the rows that it
    owns alone. Of these, ranks differ by one row at most.

    Parameters
    ----------
    height : int
        Rows of the table.
    ranks : int
    hot : sequence of int, optional
        Ids of rows that every rank holds: those which most batches read.

    Attributes
    ----------
    height, ranks : int
    hot : array of int64
        Sorted, without duplicates.
    counts : array of int64, of shape (ranks,)
        Local rows of each rank, hot ones included.
    """

    def __init__(self, height: int, ranks: int, hot: DenseLike | None = None) -> None:
        self.height, self.ranks = integer(height, "height"), integer(ranks, "ranks")
        if self.ranks < 1:
            raise ValueError(f"ranks must be at least 1, got {ranks}")
        if not 0 <= self.height * self.ranks < 2**62:
            raise ValueError(f"height must be from 0 to 2**62 / ranks, got {height}")
        hot = np.asarray([] if hot is None else hot)
        hot = hot if hot.size else np.zeros(0, np.int64)
        self.hot = np.unique(ids_in_range(hot, self.height, "hot"))
        # Hot id j stands before the other rows from hot[j] - j on.
        self._shift = self.hot - np.arange(len(self.hot))
        self._rest = self.height - len(self.hot)
        self._starts = np.arange(self.ranks + 1) * self._rest // self.ranks
        self.counts = np.diff(self._starts) + len(self.hot)

    def __repr__(self):
        hot = f", {len(self.hot)} hot" if len(self.hot) else ""
        return f"<{type(self).__name__}: {self.height} rows over {self.ranks} ranks{hot}>"

    def identity(self) -> str:
        """What must be equal for rows to be dealt alike, in words."""
        hot = f", hot rows {zlib.crc32(self.hot.tobytes()):08x}" if len(self.hot) else ""
        return f"{type(self).__name__}{getattr(self, 'seed', '')} over {self.ranks} ranks{hot}"

    def owners(self, ids: DenseLike) -> Array:
        """Return the rank that owns each id; -1 for a hot row, which every rank holds.

        Parameters
        ----------
        ids : array of int32 or int64, or list

        Returns
        -------
        array of int64, of the shape of ids

        Raises
        ------
        RowIndexError
            An id is negative or not below the height.
        """
        return self._locate_part(ids, 0)

    def local(self, ids: DenseLike) -> Array:
        """Return the local row of each id at the rank that owns it; of a hot row, at every rank.

        Parameters
        ----------
        ids : array of int32 or int64, or list

        Returns
        -------
        array of int64, of the shape of ids

        Raises
        ------
        RowIndexError
            An id is negative or not below the height.
        """
        return self._locate_part(ids, 1)

    def rows(self, rank: int, start: int = 0, stop: int | None = None) -> Array:
        """Return the ids of the local rows of a rank from ``start`` to ``stop``, in local order, int64.

        Parameters
        ----------
        rank : int
        start, stop : int, optional
            A range of local rows, all by default: a tall table is walked in blocks.
        """
        if not 0 <= integer(rank, "rank") < self.ranks:
            raise ValueError(f"rank must be from 0 to {self.ranks - 1}, got {rank}")
        start, stop, _ = slice(start, stop).indices(int(self.counts[rank]))
        return self.ids(rank, np.arange(start, max(start, stop)))

    def ids(self, rank: int, local: Array) -> Array:
        """Return the ids of some local rows of a rank, 1-D int64: the inverse of ``local``."""
        hot = len(self.hot)
        rest = self._original(local[local >= hot] - hot + self._starts[rank])
        found = np.empty(len(local), np.int64)
        found[local >= hot] = rest + np.searchsorted(self._shift, rest, side="right")
        found[local < hot] = self.hot[local[local < hot]]
        return found

    def _locate_part(self, ids, part):
        ids = ids_in_range(np.asarray(ids), self.height)
        return self.locate(ids.reshape(-1))[part].reshape(ids.shape)

    def locate(self, ids: Array) -> tuple[Array, Array]:
        """Return owner and local row of ids, 1-D int64, that were checked before."""
        hot = self.hot
        if not len(hot):
            return self._deal(ids)
        place = np.searchsorted(hot, ids)
        is_hot = hot[np.minimum(place, len(hot) - 1)] == ids
        owners, local = self._deal(np.where(is_hot, 0, ids - place))
        return np.where(is_hot, -1, owners), np.where(is_hot, place, local + len(hot))

    def checked_locate(self, ids: Array) -> tuple[Array, Array]:
        """``locate``, of a class of the user's own too: compiled code counts by what it says."""
        owners, local = self.locate(ids)
        if not owners.shape == local.shape == ids.shape or owners.dtype.kind != "i" or local.dtype.kind != "i":
            raise LodkitError(
                f"{type(self).__name__}.locate gave {owners.dtype} of shape {owners.shape} and {local.dtype} of shape "
                f"{local.shape} for {len(ids)} ids; return the owner and the local row of each, integers"
            )
        if len(ids) and not (owners.min() >= -1 and owners.max() < self.ranks and local.min() >= 0):
            i = int(np.argmax((owners < -1) | (owners >= self.ranks) | (local < 0)))
            raise LodkitError(
                f"{type(self).__name__}.locate gave rank {owners[i]}, row {local[i]} for id {ids[i]}; ranks are from 0 "
                f"to {self.ranks - 1}, -1 for hot rows, and rows are from 0 on"
            )
        return owners, local

    def _deal(self, ids):
        """Owner and row, of ids counted without the hot ones."""
        places = self._permute(ids)
        # The inverse of starts, exactly.
        owners = ((places + 1) * self.ranks - 1) // max(self._rest, 1)
        return owners, places - self._starts[owners]

    def _permute(self, ids):
        return ids

    def _original(self, places):
        return places


@public(home=_HOME)
class Ranges(Dealing):
    """Rows dealt by ranges: those of a rank follow each other.

    For ids that are hashes already, or to read neighbours together. Ids that are sorted by how often they come give
    rank 0 most of the work: take ``Hashed``, or replicate the first ones by ``hot``.

    Parameters
    ----------
    height, ranks, hot
        As in ``Dealing``.

    Examples
    --------
    >>> dealing = Ranges(10, 3, hot=[0])
    >>> dealing.counts.tolist(), dealing.owners([0, 1, 4, 9]).tolist(), dealing.local([0, 1, 4, 9]).tolist()
    ([4, 4, 4], [-1, 0, 1, 2], [0, 1, 1, 3])
    >>> dealing.rows(1).tolist()
    [0, 4, 5, 6]
    """


@public(home=_HOME)
class Hashed(Dealing):
    """Rows dealt by a hash of their ids: any pattern of ids spreads over all ranks.

    The hash permutes the ids, so no two share a place, and finds an id from its place as fast: a rank's rows are a
    range of places.

    Parameters
    ----------
    height, ranks, hot
        As in ``Dealing``.
    seed : int, default 0
        Another one gives another permutation: the first ids of several tables then go to different ranks.

    Examples
    --------
    >>> dealing = Hashed(10**9, 64)
    >>> dealing.owners([0, 1, 2, 3, 1000, 2000]).tolist()
    [0, 58, 0, 12, 8, 17]
    >>> rank, row = dealing.owners(7), dealing.local(7)
    >>> dealing.rows(rank, row, row + 1)
    array([7])
    """

    def __init__(self, height: int, ranks: int, hot: DenseLike | None = None, *, seed: int = 0) -> None:
        super().__init__(height, ranks, hot)
        self.seed = integer(seed, "seed")
        bits = max(self._rest - 1, 1).bit_length()
        self._half, self._mask = np.uint64((bits + 1) // 2), np.uint64(2**bits - 1)
        factors = [int(x) | 1 for x in np.random.SeedSequence(self.seed).generate_state(3, np.uint64)]
        self._factors = np.array(factors, np.uint64)
        self._inverses = np.array([pow(x, -1, 2**64) for x in reversed(factors)], np.uint64)

    def _permute(self, ids):
        return self._walk(ids, self._factors)

    def _original(self, places):
        return self._walk(places, self._inverses)

    def _walk(self, numbers, factors):
        """Permute all numbers of so many bits, again and again until the result is one of the table's."""
        x = self._mix(numbers.astype(np.uint64), factors)
        while (outside := np.flatnonzero(x >= self._rest)).size and self._rest:
            x[outside] = self._mix(x[outside], factors)
        return x.astype(np.int64)

    def _mix(self, x, factors):
        """Multiply by odd numbers, between xors of the upper half of the bits into the lower: each can be undone."""
        for factor in factors:
            x = x ^ (x >> self._half)
            x = (x * factor) & self._mask
        return x ^ (x >> self._half)


DEALINGS = {"ranges": Ranges, "hash": Hashed}


def as_dealing(dealing: str | Dealing, height: int, ranks: int, hot: DenseLike | None = None) -> Dealing:
    """Return the dealing of a name, or one that was given, checked to be of this height and so many ranks."""
    if isinstance(dealing, Dealing):
        if hot is not None:
            raise ValueError(f"hot stands in the dealing that was given, {dealing!r}; leave it out here")
        if (dealing.height, dealing.ranks) != (height, ranks):
            raise ValueError(f"{dealing!r} is not for {height} rows over {ranks} ranks")
        return dealing
    if dealing not in DEALINGS:
        raise ValueError(f"dealing must be one of {sorted(DEALINGS)} or a Dealing, got {dealing!r}")
    return DEALINGS[dealing](height, ranks, hot)
