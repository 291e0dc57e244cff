"""CPU kernel of lodkit/ops/sequence_selection.py for a few sequences."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...jit import Numbers
from ...lod import LoDTensor, freeze
from ...lod.copy_runs import as_bytes, move_few
from ...lod.selection import range_bounds
from ...ops import sequence_selection as ops
from ...registry import FewSequences


@ops.sequence_slice.kernel("cpu")
def slice_few_sequences(
    x: FewSequences, starts: Numbers | None, stops: Numbers | None, /, *, by, wrap, clip, level: Literal[-1, 0]
):
    values, offsets = x
    count, dtype = offsets.size - 1, values.dtype
    if not ((starts is None or starts.size == count) and (stops is None or stops.size == count)):
        return NotImplemented
    first, last, cut, bad = range_bounds(offsets, None, starts, stops, by == "lengths", wrap, clip)
    rows = cut.item(-1)
    if bad >= 0 or not rows:
        return NotImplemented
    out = np.empty((rows, *values.shape[1:]), dtype)
    move_few.code(as_bytes(values, dtype), first, last, cut, out.nbytes // rows, as_bytes(out, dtype))
    return LoDTensor._wrap(out, (freeze(cut),))
