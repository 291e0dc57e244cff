"""The counters of ``smart_decay_adam``."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import elementwise, iota, vector


@elementwise
def _elapse(i, rows, now, last_seen, passed):
    row = vector.number(rows, i)
    passed[i] = max(now - last_seen[row], 0)
    last_seen[row] = now


def elapse(last_seen, rows, now, param):
    """Set the counters of rows, or all, to now. Returns positions 0, 1, ... and the steps that passed for each row."""
    at = iota(last_seen, len(last_seen) if rows is None else len(rows))
    passed = last_seen.like((len(at),), np.promote_types(param.dtype, np.float32))
    if len(at):
        _elapse(len(at), at if rows is None else rows, now, last_seen, passed)
    return at, passed
