"""Running sums inside each sequence of a LoDTensor."""

from __future__ import annotations

import numpy as np

from ..arrays import SUMMED, check_values, is_floating, total_dtype
from ..lod import LoDTensor, values_of
from ..registry import inferred_level, op

DOCS_PAGE = "compute"
SEARCH_WORDS = {"sequence_cumsum": "cumulative sum, prefix sum, running total, segmented scan, cumsum by group"}


def sum_dtype(dtype):
    """Type of running sums: that of the values, int64 for integers, uint64 for unsigned ones."""
    dtype = check_values(dtype, "sequence_cumsum")
    return dtype if is_floating(dtype) else total_dtype(dtype)


@op(types=SUMMED)
def sequence_cumsum(x: LoDTensor, /, *, exclusive: bool = False, reverse: bool = False, level: int = -1) -> LoDTensor:
    """Return the running sum of rows within each sequence.

    Parameters
    ----------
    x : LoDTensor
        Items of any shape.
    exclusive : bool
        Leave out the row itself: the first one gets 0.
    reverse : bool
        Sum the rows from it on, instead of those up to it.
    level : int
        Level of the sequences; the innermost by default.

    Returns
    -------
    LoDTensor of the structure of x
        Integers and bool give int64, unsigned ones uint64.

    Examples
    --------
    >>> x = LoDTensor(np.array([1, 2, 3, 4, 5]), [[3, 0, 2]])
    >>> sequence_cumsum(x).values
    array([1, 3, 6, 4, 9])
    >>> sequence_cumsum(x, exclusive=True, reverse=True).values
    array([5, 3, 0, 5, 0])
    """
    dtype = sum_dtype(x.values.dtype)
    exact = x.values.astype(total_dtype(dtype))
    out = np.zeros_like(exact)
    offsets = x._row_offsets(level)
    for a, b in zip(offsets[:-1], offsets[1:], strict=True):
        rows, sums = (v[a:b][::-1] if reverse else v[a:b] for v in (exact, out))
        sums[int(exclusive) :] = np.cumsum(rows[: b - a - int(exclusive)], axis=0) if a < b else 0
    return x.with_values(out.astype(dtype))


@sequence_cumsum.infer_rule
def _(x, *, exclusive=False, reverse=False, level=-1):
    inferred_level(x, level)
    return x.but(dtype=sum_dtype(x.dtype))


@sequence_cumsum.gradient
def _(call, grad):
    x, attrs = call.inputs[0], call.attrs
    return sequence_cumsum(x.with_values(values_of(grad)), **{**attrs, "reverse": not attrs["reverse"]})


@sequence_cumsum.example
def _(dtype):
    return [((LoDTensor(np.ones((3, *item), dtype), [[1, 2]]),), {}) for item in ((), (4,), (16,), (64,))]
