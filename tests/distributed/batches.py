"""Batches that depend on a step alone, cut into the parts of ranks."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor


def batch(step, rank, size, height, bags, longest):
    """A rank's bags, of fewer than ``longest`` ids, of the batch of a step."""
    rng = np.random.default_rng(step)
    lengths = rng.integers(0, longest, bags)
    ids = np.minimum(rng.zipf(1.3, lengths.sum()), height) - 1
    cut = np.arange(size + 1) * bags // size
    bounds = np.concatenate([[0], np.cumsum(lengths)])[cut]
    return LoDTensor(ids[bounds[rank] : bounds[rank + 1]], [lengths[cut[rank] : cut[rank + 1]]])
