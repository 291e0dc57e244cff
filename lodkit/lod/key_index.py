"""The entries of features grouped by key: what is read of a batch once, however many of its keys are read."""

from __future__ import annotations

import numpy as np

from .levels import load_compiled

_NONE = np.empty(0, np.int64)


class KeyIndex:
    """Which entries each key has. Structure alone: it holds no values, and nobody writes to it.

    Attributes
    ----------
    keys : array of int64
        The key of each entry, as it was given.
    lod : tuple of arrays of int64
        Offsets of the entries of each example, and of the rows of each entry unless it has one.
    numbers : dict of int to int
        The number of each key.
    bounds : array of int64
        The entries of key number n are ``entries[bounds[n]:bounds[n + 1]]``.
    entries : array of int64
        Numbers of the entries, by key, and in their order.
    """

    __slots__ = ("bounds", "entries", "keys", "lod", "numbers")

    def __init__(self, keys, lod):
        compiled = load_compiled("key_entries")
        self.keys, self.lod = keys, lod
        distinct, self.bounds, self.entries = compiled.group_entries(keys, lod[0])
        self.numbers = {key: number for number, key in enumerate(distinct.tolist())}

    @property
    def rows(self):
        """Offsets of the rows of each entry; empty where each has one row."""
        return self.lod[1] if len(self.lod) == 2 else _NONE

    def is_of(self, lod):
        """Whether this is the index of values with such structure."""
        return len(lod) == len(self.lod) and all(
            x is y or np.array_equal(x, y) for x, y in zip(lod, self.lod, strict=True)
        )

    def select(self, keys):
        """Lay out the rows of some keys, one key after another.

        Returns
        -------
        numbers : array of int64
            The number of each key; -1 of one that no entry has.
        offsets : array of int64
            Of ``len(keys) * examples`` sequences of rows.
        """
        numbers = np.array([self.numbers.get(key, -1) for key in keys], np.int64)
        return numbers, load_compiled("key_entries").lay_out(self, numbers)

    def copy_rows(self, numbers, offsets, source, out):
        """Copy the rows of keys as ``select`` has laid them out, of NumPy's arrays, where entries have any number."""
        load_compiled("key_entries").copy_entries(self, numbers, offsets, source, out)

    def list_entries(self, numbers):
        """The entries of keys, one key after another."""
        bounds = self.bounds
        return np.concatenate([_NONE, *(self.entries[bounds[n] : bounds[n + 1]] for n in numbers if n >= 0)])

    def list_runs(self, numbers):
        """The runs of rows of keys: start and stop of each, and the row of the result that it begins at."""
        rows, entries = self.rows, self.list_entries(numbers)
        starts, stops = (rows[entries], rows[entries + 1]) if len(rows) else (entries, entries + 1)
        return starts, stops, load_compiled().lengths_to_offsets(stops - starts)[:-1]
