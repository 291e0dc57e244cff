"""CPU kernels of lodkit/ops/chunk_eval.py: the rows in chunks, whatever the lengths."""

from __future__ import annotations

import numpy as np

from ...jit import advance, jitable, parallel_kernel, prange, segment_of, settings


@jitable(nrt=False)
def _is_boundary(table, labels, i, start, stop):
    """True if no chunk goes on from the step before ``i`` to ``i``."""
    if i == start or i == stop:
        return True
    before, after = labels[i - 1], labels[i]
    return table[before, 0] != table[after, 0] or table[before, 2] != 0 or table[after, 1] != 0


@jitable(nrt=False)
def _correct(table, inferred, labels, i, start, stop):
    """True if the chunks of both that start at ``i`` are of one type and end at the same step."""
    if table[inferred[i], 0] != table[labels[i], 0]:
        return False
    while True:
        i += 1
        ours, theirs = _is_boundary(table, inferred, i, start, stop), _is_boundary(table, labels, i, start, stop)
        if ours or theirs:
            return ours and theirs


@parallel_kernel
def _count_kernel(inferred, labels, offsets, table, chunk, counts):
    n = len(labels)
    for c in prange(len(counts)):
        s = segment_of(offsets, c * chunk)
        ours = theirs = both = 0
        for i in range(c * chunk, min((c + 1) * chunk, n)):
            s = advance(offsets, s, i)
            start, stop = offsets[s], offsets[s + 1]
            starts = table[inferred[i], 3] != 0 and _is_boundary(table, inferred, i, start, stop)
            labelled = table[labels[i], 3] != 0 and _is_boundary(table, labels, i, start, stop)
            ours, theirs = ours + starts, theirs + labelled
            both += starts and labelled and _correct(table, inferred, labels, i, start, stop)
        counts[c, 0], counts[c, 1], counts[c, 2] = ours, theirs, both


def count(inferred, labels, offsets, table):
    """Numbers of chunks: inferred, labelled, and correct."""
    chunk = settings.chunk_rows
    counts = np.empty((-(-len(labels) // chunk), 3), np.int64)
    _count_kernel(len(labels) * 8, inferred, labels, offsets, table, chunk, counts)
    return counts.sum(axis=0)
