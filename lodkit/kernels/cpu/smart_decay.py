"""The counters of ``smart_decay_adam``."""

from __future__ import annotations

import numpy as np

from ...arrays import compute_dtype
from ...ops.smart_decay import MAX_STEPS


def elapse(last_seen, rows, now, param):
    """Count the steps of rows, or all. Returns positions 0, 1, ..., the steps that passed, and the new counters."""
    before = last_seen if rows is None else last_seen[rows]
    passed = np.maximum(now - np.maximum(before, now - MAX_STEPS), 0).astype(compute_dtype(param.dtype))
    return np.arange(len(before)), passed, np.full(len(before), now, np.int64)
