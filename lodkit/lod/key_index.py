"""The entries of features sorted by key: what is read of a batch once, however many of its keys are read."""

from __future__ import annotations

import numpy as np

from .levels import load_compiled


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
    entries : array of int64 of shape (entries, 3)
        By key, and in their order: the example of each entry, its first row, and the row behind its last. Side by side,
        so that of 4,096 examples 26 arrays that begin 32 KB apart do not share a set of the cache: to write three such
        arrays took 2.4 times as long (znver4).
    """

    __slots__ = ("bounds", "entries", "keys", "lod", "numbers")

    def __init__(self, keys, lod):
        compiled = load_compiled("key_entries")
        distinct = compiled.find_distinct(keys, lod[0])
        self.keys, self.lod = keys, lod
        self.numbers = {key: number for number, key in enumerate(distinct.tolist())}
        self.bounds, self.entries = np.zeros(len(distinct) + 1, np.int64), np.empty((len(keys), 3), np.int64)
        rows = lod[1] if len(lod) == 2 else np.arange(len(keys) + 1)
        compiled.sort_entries(keys, distinct, lod[0], rows, self.bounds, self.entries)

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
        return numbers, load_compiled("key_entries").lay_out(self, numbers, len(self.lod[0]) - 1)

    def copy_rows(self, numbers, offsets, source, out):
        """Copy the rows of keys as ``select`` has laid them out, of NumPy's arrays."""
        load_compiled("key_entries").copy_entries(self, numbers, offsets, source, out)

    def list_runs(self, numbers):
        """The runs of rows of keys: start and stop of each, and the row of the result that it begins at."""
        bounds = self.bounds
        parts = [self.entries[bounds[n] : bounds[n + 1], 1:] for n in numbers if n >= 0]
        starts, stops = np.concatenate([np.empty((0, 2), np.int64), *parts]).T.copy()
        return starts, stops, load_compiled().lengths_to_offsets(stops - starts)[:-1]
