"""The loop of ``rowwise_counter``."""

from __future__ import annotations

import math

from ...jit import njit
from ...ops.row_updates import LONGEST


@njit
def count(prev_iter, counter, rows, now, rate):
    """Count every use of the rows, one after another."""
    for row in rows:
        passed = max(0, now - max(prev_iter[row], now - LONGEST))
        counter[row] = 1 + math.exp(-passed * rate) * counter[row]
        prev_iter[row] = max(now, prev_iter[row])
