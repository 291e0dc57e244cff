"""CUDA kernels of lodkit/ops/chunk_eval.py: a thread takes a row, and follows the chunk that starts there in both."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import convert, device, elementwise, vector
from .primitives.offsets import offsets_like
from .primitives.reduce import reduce_into
from .primitives.row_kernels import segment_of


@device
def _meaning(table, count, labels, i, what):
    """What the table says of a label; unchecked ones are clamped."""
    return vector.number(table, min(max(vector.number(labels, i), 0), count - 1) * 4 + what)


@device
def _is_boundary(table, count, labels, i, start, stop):
    """True if no chunk goes on from the step before ``i`` to ``i``."""
    if i == start or i == stop:
        return True
    if _meaning(table, count, labels, i - 1, 0) != _meaning(table, count, labels, i, 0):
        return True
    return _meaning(table, count, labels, i - 1, 2) != 0 or _meaning(table, count, labels, i, 1) != 0


@elementwise
def _note(i, inferred, labels, offsets, segments, table, count, out):
    """1 or 0: an inferred chunk that counts starts at a row, a labelled one, and a correct one."""
    s = segment_of(offsets, segments, i)
    start, stop = vector.number(offsets, s), vector.number(offsets, s + 1)
    ours = _meaning(table, count, inferred, i, 3) != 0 and _is_boundary(table, count, inferred, i, start, stop)
    theirs = _meaning(table, count, labels, i, 3) != 0 and _is_boundary(table, count, labels, i, start, stop)
    both = ours and theirs and _meaning(table, count, inferred, i, 0) == _meaning(table, count, labels, i, 0)
    at, inside = i + 1, both
    while inside:
        first = _is_boundary(table, count, inferred, at, start, stop)
        second = _is_boundary(table, count, labels, at, start, stop)
        inside, both, at = not (first or second), first == second, at + 1
    out[i * 3] = 1 if ours else 0
    out[i * 3 + 1] = 1 if theirs else 0
    out[i * 3 + 2] = 1 if both else 0


def count(inferred, labels, offsets, table):
    """Numbers of chunks: inferred, labelled, and correct. Synchronises."""
    inferred, labels = convert(inferred, np.int64), convert(labels, np.int64)
    offsets, noted = offsets_like(labels, offsets), labels.like((len(labels), 3), np.int64)
    _note(len(labels), inferred, labels, offsets.offsets, len(offsets), labels.send(table), len(table), noted)
    return reduce_into(noted, None, None, None, np.array([0, len(labels)]), "sum", 0).read()[0]
