"""CPU part of lodkit/ops/padding.py."""

from __future__ import annotations

import numpy as np

from ...lod.levels import lengths_between


def presence_mask(offsets, width):
    """Mask of the rows of padded segments that are data."""
    return np.arange(width) < lengths_between(offsets)[:, None]
