"""RankTable: the sequences of a level, longest first, and the time steps that a recurrence makes over them."""

from __future__ import annotations

import numpy as np

from ..arrays.types import Array, Levels
from ..base.errors import LoDLevelError
from ..base.loading import public
from .large import needs_memory
from .levels import from_offsets, lender, load_compiled, lock_array


@public
class RankTable:
    """The sequences of a level from the longest to the shortest: ``lodkit.lod_rank_table`` makes one (Paddle's).

    In this order, the sequences that run at a time step come first at every step: a batch shrinks to a prefix.
    The table is structure on the CPU, for values on every device.

    Parameters
    ----------
    lod : list of lists of int
        Offsets per level, outermost first; the last level is the one that is ranked.

    Attributes
    ----------
    index : int64 array
        The sequences in order of rank; of equal lengths the earlier one comes first.
    running : int64 array
        Per time step the number of sequences that are longer.

    Examples
    --------
    >>> import lodkit
    >>> table = lodkit.lod_rank_table(lodkit.LoDTensor([1, 2, 3, 4, 5, 6], [[2, 1, 3]]))
    >>> table.items, table.running
    ([(2, 3), (0, 2), (1, 1)], array([3, 2, 1]))
    """

    __slots__ = ("_index", "_kept", "_lod", "_running")
    device = "any"

    @needs_memory
    def __init__(self, lod: Levels) -> None:
        levels = from_offsets(lod)
        if not levels:
            raise LoDLevelError("a RankTable needs at least one level, whose sequences it ranks")
        self._set(levels, *load_compiled().rank_lengths(levels[-1]))

    @classmethod
    def _wrap(cls, levels, index, running):
        """Make a table unchecked, of read-only int64 offsets and what ``rank_lengths`` finds of the last ones."""
        self = object.__new__(cls)
        self._set(levels, index, running)
        return self

    def _set(self, levels, index, running):
        self._lod, self._index, self._running, self._kept = levels, lock_array(index), lock_array(running), {}

    @property
    def index(self) -> Array:
        """The sequences in order of rank."""
        return self._hand_out("index", self._index)

    @property
    def running(self) -> Array:
        """Per time step the number of sequences that are longer."""
        return self._hand_out("running", self._running)

    @property
    def level(self) -> int:
        """The level of the sequences, from 0; those above it are kept for ``array_to_lod_tensor``."""
        return len(self._lod) - 1

    @property
    def length(self) -> Array:
        """The lengths in order of rank."""
        return np.diff(self._lod[-1])[self._index]

    @property
    def items(self) -> list[tuple[int, int]]:
        """Index and length of each sequence, in order of rank."""
        return list(zip(self._index.tolist(), self.length.tolist(), strict=True))

    def lod(self) -> list[list[int]]:
        """Return the offsets of the levels down to the sequences' level, outermost first, as lists."""
        return [offsets.tolist() for offsets in self._lod]

    def __len__(self) -> int:
        return len(self._index)

    def __reduce__(self):
        return RankTable, (tuple(offsets.copy() for offsets in self._lod),)

    def __repr__(self):
        items = self.items
        shown = ", ".join(map(str, items[:8])) + (f", ... {len(items)} in all" if len(items) > 8 else "")
        return f"RankTable([{shown}], level={self.level})"

    # Maps for copies, each made once: tables serve several inputs and outputs. Not handed out: kernels trust them.

    @property
    def _ranks(self):
        """The rank of each sequence."""
        return self._make_once("_ranks", lambda: _inverse(self._index))

    @property
    def _steps(self):
        """Offsets of the time steps over the parts of all sequences; without any, of one that is empty."""
        return self._make_once("_steps", lambda: load_compiled().lengths_to_offsets(np.array(self.counts, np.int64)))

    @property
    def counts(self):
        """The sequences at each of these time steps, as a list."""
        return self._running.tolist() or [0]

    def _parts(self, reverse):
        """The numbers of all parts, step by step; with ``reverse`` each sequence runs from its end."""
        find = load_compiled().time_major
        return self._make_once(("_parts", reverse), lambda: find(self._lod[-1], self._index, self._running, reverse))

    def _places(self, reverse):
        """The place of each part in the order of ``parts``."""
        return self._make_once(("_places", reverse), lambda: _inverse(self._parts(reverse)))

    def _hand_out(self, name, numbers):
        found = self._kept.get(name)
        if found is None:
            found = self._kept[name] = lender(numbers)
        return found()

    def _make_once(self, name, make):
        found = self._kept.get(name)
        if found is None:
            found = self._kept[name] = lock_array(make())
        return found


def _inverse(numbers):
    places = np.empty_like(numbers)
    places[numbers] = np.arange(len(numbers))
    return places
