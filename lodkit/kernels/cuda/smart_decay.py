"""The counters of ``smart_decay_adam``."""

from __future__ import annotations

from ...arrays import compute_dtype
from ...arrays.cuda import elementwise, iota, vector
from ...ops.smart_decay import MAX_STEPS


@elementwise
def _elapse(i, rows, now, last_seen, passed, seen):
    passed[i] = max(now - max(last_seen[vector.number(rows, i)], now - MAX_STEPS), 0)
    seen[i] = now


def elapse(last_seen, rows, now, param):
    """Count the steps of rows, or all. Returns positions 0, 1, ..., the steps that passed, and the new counters."""
    at = iota(last_seen, len(last_seen) if rows is None else len(rows))
    passed = last_seen.like((len(at),), compute_dtype(param.dtype))
    seen = last_seen.like((len(at),))
    if len(at):
        _elapse(len(at), at if rows is None else rows, now, last_seen, passed, seen)
    return at, passed, seen
