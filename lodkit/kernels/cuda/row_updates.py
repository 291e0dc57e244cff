"""The kernel of ``rowwise_counter``."""

from __future__ import annotations

from ...arrays.cuda import elementwise, vector
from ...jit import simd
from .primitives.merge import sort_rows


@elementwise
def _count(u, prev_iter, counter, rows, starts, now, least, rate):
    """Count the uses of a row: the delay fades what was counted before, all uses of this call count in full."""
    row, uses = vector.number(rows, u), vector.number(starts, u + 1) - vector.number(starts, u)
    last, before = prev_iter[row], vector.load_written(counter, row, 1)
    passed = simd.like(before, now - min(max(last, least), now))
    faded = simd.mul(before, simd.exp(simd.mul(passed, simd.like(before, -rate))))
    vector.store(counter, row, simd.add(faded, simd.like(before, uses)))
    prev_iter[row] = max(now, last)


def count(prev_iter, counter, rows, now, least, rate):
    """Count every use of the rows. Synchronises with the device."""
    _, starts, rows = sort_rows(rows, len(counter))
    _count(len(rows), prev_iter, counter, rows, starts.offsets, now, least, counter.dtype.type(rate))
