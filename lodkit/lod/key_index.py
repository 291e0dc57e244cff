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
        The entries of key number n are ``bounds[n]:bounds[n + 1]`` of the next three.
    examples, starts, stops : arrays of int64
        By key, and in their order: the example of each entry, its first row, and the row behind its last.
    """

    __slots__ = ("bounds", "examples", "keys", "lod", "numbers", "starts", "stops")

    def __init__(self, keys, lod):
        compiled = load_compiled("key_entries")
        distinct = compiled.find_distinct(keys, lod[0])
        self.keys, self.lod = keys, lod
        self.numbers = {key: number for number, key in enumerate(distinct.tolist())}
        parts = self.bounds, self.examples, self.starts, self.stops = (
            np.zeros(len(distinct) + 1, np.int64),
            *np.empty((3, len(keys)), np.int64),
        )
        rows = lod[1] if len(lod) == 2 else np.arange(len(keys) + 1)
        compiled.sort_entries(keys, distinct, lod[0], rows, *parts)

    def is_of(self, lod):
        """Whether this is the index of values with such structure."""
        return len(lod) == len(self.lod) and all(
            x is y or np.array_equal(x, y) for x, y in zip(lod, self.lod, strict=True)
        )

    def select(self, keys):
        """Lay out the rows of some keys, one key after another.

        Returns
        -------
        offsets : array of int64
            Of ``len(keys) * examples`` sequences of rows.
        starts, stops, to : arrays of int64
            The runs of rows to copy, and the row of the result that each begins at.
        """
        wanted = np.array([self.numbers.get(key, -1) for key in keys], np.int64)
        return load_compiled("key_entries").lay_out(self, wanted, len(self.lod[0]) - 1)
