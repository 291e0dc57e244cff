"""CUDA part of lodkit/ops/gather_scatter.py."""

from __future__ import annotations

import math

import numpy as np

from ...arrays.cuda import elementwise, vector


@elementwise
def _source_rows(i, ids, height, count, own, rows):
    """The row that every gathered one comes from, -1 where the id is outside; ``own``: each batch has its ids."""
    row = vector.number(ids, i if own else i % count)
    rows[i] = i // count * height + row if 0 <= row < height else -1


def source_rows(shape, ids, axis, match_outer):
    """The row of ``as_rows(shape, axis)`` that every gathered one comes from."""
    outer, count = math.prod(shape[:axis]), math.prod(ids.shape[axis if match_outer else 0 :])
    return _source_rows.into(ids.like((outer * count,), np.int64), ids, shape[axis], count, int(match_outer))
