"""Subtract from each row the mean of its sequence."""

from __future__ import annotations

import itertools

import numpy as np

from ..arrays import FLOATING, check_values
from ..lod import LoDTensor, values_of
from ..registry import op

DOCS_PAGE = "compute"
SEARCH_WORDS = {"sequence_center": "subtract the mean, demean, zero mean"}


def prepare(x, level):
    """Check the input. Returns rows, offsets and dtype."""
    rows, offsets = x.values, x._row_offsets(level)
    return rows, offsets, check_values(rows.dtype, "sequence_center")


@op(like="x", types=FLOATING)
def sequence_center(x: LoDTensor, /, *, level: int = -1) -> LoDTensor:
    """Subtract from each row the mean of its sequence at a level, column by column.

    The gradient is the gradient, centered. Means of float16 are computed in float32.

    Parameters
    ----------
    x : LoDTensor of float16, float32 or float64
    level : int
        The innermost by default.

    Examples
    --------
    >>> sequence_center(LoDTensor([1., 3., 5.], [[2, 1]])).values
    array([-1.,  1.,  0.])
    >>> sequence_center(LoDTensor([1., 3., 5.], [[2], [2, 1]]), level=0).values
    array([-2.,  0.,  2.])
    """
    rows, offsets, dtype = prepare(x, level)
    out = rows.astype(np.float64)
    for start, stop in itertools.pairwise(offsets):
        out[start:stop] -= out[start:stop].sum(axis=0) / max(stop - start, 1)
    return x.with_values(out.astype(dtype))


@sequence_center.gradient
def _(call, grad):
    return sequence_center(call.inputs[0].with_values(values_of(grad)), **call.attrs)


@sequence_center.example
def _(dtype):
    dtype = np.dtype(np.float32) if dtype.kind == "i" else dtype
    return [((LoDTensor(np.ones((3, width), dtype), [[1, 2]]),), {}) for width in (1, 4, 16, 64)]
