"""Softmax along the last axis, by the array API that libraries share."""

from __future__ import annotations

import math


def softmax_of(xp, rows):
    """Shifted by the maximum; a row of -inf gives 0, k entries of +inf get 1/k each."""
    if 0 in rows.shape:
        return rows
    top, zeros = xp.max(rows, axis=-1, keepdims=True), xp.zeros_like(rows)
    shifted = rows - xp.where(xp.isfinite(top), top, zeros[..., :1])
    e = xp.where(top == math.inf, xp.where(rows == math.inf, zeros + 1, zeros), xp.exp(shifted))
    e = xp.where(top != top, top + zeros, e)
    total = xp.sum(e, axis=-1, keepdims=True)
    return e / xp.where(total == 0, zeros[..., :1] + 1, total)
