"""The loop of ``rowwise_counter``."""

from __future__ import annotations

import math

from ...jit import njit


@njit
def count(prev_iter, counter, rows, now, least, rate):
    """Count every use of the rows, one after another."""
    for row in rows:
        passed = now - min(max(prev_iter[row], least), now)
        counter[row] = 1 + math.exp(-passed * rate) * counter[row]
        prev_iter[row] = max(now, prev_iter[row])
