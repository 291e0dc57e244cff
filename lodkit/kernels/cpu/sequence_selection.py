"""CPU kernel of lodkit/ops/sequence_selection.py for a few sequences."""

from __future__ import annotations

import numpy as np

from ...lod import LoDTensor, freeze
from ...lod.copy_runs import as_bytes, move_few
from ...lod.selection import range_bounds
from ...ops import sequence_selection as ops
from ...registry import Dense
from ..common import sequence_selection as common
from .primitives import device
from .primitives.few import is_few, is_vector


def _is_each(numbers, count):
    """True of a number for each sequence, or None."""
    return numbers is None or is_vector(numbers, count)


@ops.sequence_slice.kernel("cpu")
def sequence_slice(x: LoDTensor, starts: Dense | None, stops: Dense | None, /, *, by, wrap, clip, level, out=None):
    # Read once: another thread may set other values and levels.
    values, levels = x._values, x._lod
    count = levels[0].size - 1 if levels else 0
    if out is None and is_few(values, levels, level) and _is_each(starts, count) and _is_each(stops, count):
        first, last, cut, bad = range_bounds(levels[0], None, starts, stops, by == "lengths", wrap, clip)
        rows = cut.item(-1)
        if bad < 0 < rows:
            dtype, made = values.dtype, np.empty((rows, *values.shape[1:]), values.dtype)
            move_few.code(as_bytes(values, dtype), first, last, cut, made.nbytes // rows, as_bytes(made, dtype))
            return LoDTensor._wrap(made, (freeze(cut),))
    return common.sequence_slice(device, x, starts, stops, by=by, wrap=wrap, clip=clip, level=level, out=out)
