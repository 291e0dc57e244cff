"""The counters of ``smart_decay_adam``."""

from __future__ import annotations

import numpy as np


def elapse(last_seen, rows, now, param):
    """Set the counters of rows, or all, to now. Returns positions 0, 1, ... and the steps that passed for each row."""
    rows = np.arange(len(last_seen)) if rows is None else rows
    passed = np.maximum(now - last_seen[rows], 0).astype(np.promote_types(param.dtype, np.float32))
    last_seen[rows] = now
    return np.arange(len(rows)), passed
