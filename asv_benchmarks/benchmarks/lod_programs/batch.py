"""One batch in every representation: offsets, lengths, absolute lengths."""

from __future__ import annotations

import numpy as np

PIECE = 8  # sequences in a slice of a batch of one level
QUERIES = 100


class Batch:
    """Values and structure, outermost level first.

    Attributes
    ----------
    values : array
        One per row.
    lengths, offsets : list of int64 arrays
        ``3 1 2 / 3 2 4 1 2 3`` and ``0 3 4 6 / 0 3 5 9 10 12 15``.
    absolute : int64 array
        Rows per outermost sequence, ``9 1 5``.
    scanned : list of int64 arrays
        Preallocated output for offsets scanned from lengths, which favours lengths.
    branches : int64 array
        ``(queries, 2)``: an outermost sequence, and the index of a sequence within it.
    parts : int64 array
        The same for all slices in order, each with its last sequence.
    """

    def __init__(self, values, *lengths, branches=()):
        self.values = values
        self.lengths = [np.asarray(n, np.int64) for n in lengths]
        self.offsets = [np.concatenate([[0], n.cumsum()]) for n in self.lengths]
        starts = self.offsets[0] if len(lengths) == 1 else self.offsets[1][self.offsets[0]]
        self.absolute = np.diff(starts)
        self.scanned = [np.empty_like(o) for o in self.offsets]
        self.branches = np.asarray(branches, np.int64).reshape(-1, 2)
        firsts = np.arange(0, len(self.lengths[0]), PIECE if self.levels == 1 else 1)
        self.parts = np.stack([firsts, np.full_like(firsts, 1 << 40)], axis=1)

    @property
    def levels(self):
        return len(self.lengths)


def draw(sequences, levels, width=None, seed=0):
    """Draw a batch of about ``sequences`` innermost sequences of 0 to 16 rows, 0 to 16 per outer one."""
    rng = np.random.default_rng(seed)
    lengths = [rng.integers(0, 17, sequences if levels == 1 else sequences // 8)]
    if levels == 2:
        lengths.append(rng.integers(0, 17, lengths[0].sum()))
    rows = int(lengths[-1].sum())
    values = rng.standard_normal(rows if width is None else (rows, width), dtype=np.float32)
    branches = np.stack([rng.integers(0, len(lengths[0]), QUERIES), rng.integers(0, PIECE, QUERIES)], axis=1)
    return Batch(values, *lengths, branches=branches)
