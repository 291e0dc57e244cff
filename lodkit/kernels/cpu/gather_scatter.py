"""CPU part of lodkit/ops/gather_scatter.py."""

from __future__ import annotations

import math

import numpy as np


def source_rows(shape, ids, axis, match_outer):
    """The row of ``as_rows(shape, axis)`` that every gathered one comes from."""
    outer, count = math.prod(shape[:axis]), math.prod(ids.shape[axis if match_outer else 0 :])
    starts = np.arange(outer).reshape(-1, 1) * shape[axis]
    return (starts + ids.reshape(outer if match_outer else 1, count)).reshape(-1)
