"""Reduce every sequence of a LoDTensor to one row (Paddle's sequence_pool, at any level)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..arrays import FLOATING, ORDERED, check_values
from ..lod import LoDTensor, values_of
from ..registry import Dense, keeps_bfloat16, op, pooled_desc, takes_bfloat16
from .shared.reductions import ResultType, argreduce_segments, reduce_segments, reduce_segments_grad, result_dtype

DOCS_PAGE = "pool"
SEARCH_WORDS = {
    "sequence_pool": (
        "max pooling, mean pooling, average pooling, sum pooling, global pooling, reduce, sum of each sequence, "
        "mean of each sequence, first token, last token, CLS, SequencePool, reduce_sum, nanmean, aggregate, "
        "logsumexp per segment"
    )
}

Pool = Literal["sum", "average", "mean", "sqrt", "max", "min", "prod", "logsumexp", "logmeanexp", "first", "last"]


def with_outer_levels(x, level, rows):
    """``rows``, one a sequence of ``level``, under the levels above it: a plain array when there are none."""
    level %= len(x._lod)
    return LoDTensor._wrap(rows, x._lod[:level]) if level else rows


@op(types=ORDERED)
def sequence_pool(
    x: LoDTensor,
    /,
    *,
    pool: Pool = "sum",
    pad_value: float = 0.0,
    level: int = -1,
    return_index: bool = False,
    dtype: ResultType | None = None,
) -> Dense | LoDTensor:
    """Reduce the rows of every sequence at one level to one row.

    The result keeps the outer levels. Sequences of an outer level are reduced directly, in one pass over the rows: for
    instance all words of an article.

    Parameters
    ----------
    x : LoDTensor
    pool : {"sum", "average", "mean", "sqrt", "max", "min", "prod", "logsumexp", "logmeanexp", "first", "last"}
        average and mean are the same; sqrt is the sum divided by the square root of the length.
    pad_value : float
        The result for an empty sequence.
    level : int
        Level of the sequences; the innermost by default.
    return_index : bool
        For max and min: also return the row number of the first extreme, as int64. Row numbers count from the start of
        the batch; an empty sequence gives -1.
    dtype : {"float32", "float64"}, optional
        The type of the result. By default the result has the type of the values, but sum and prod of integers and bool
        give int64, or uint64 for unsigned values. "float32" is for values of float16 or bfloat16. "float64" is for
        mean, sqrt, logsumexp and logmeanexp of integers; without "float64" these pools raise. No ``dtype`` changes the
        type of an integer sum: convert the result with ``astype``.

    Returns
    -------
    array, or LoDTensor if there are outer levels; with ``return_index`` a tuple of the result and the row numbers.

    Raises
    ------
    LoDLevelError
        x has no such level.
    DTypeError
        The pool is not defined for the type of the values, for instance the sum of times. Mean, sqrt, logsumexp and
        logmeanexp of integers need ``dtype="float64"``. Or ``dtype`` does not fit the pool and the values, for instance
        "float64" with a sum.
    ValueError
        ``return_index`` is passed with a pool other than max and min, or with ``dtype``. Or the values cannot hold
        ``pad_value``.

    Examples
    --------
    >>> x = LoDTensor(np.array([[1.], [2.], [3.], [4.]]), [[1, 0, 3]])
    >>> sequence_pool(x, pool="max")
    array([[1.],
           [0.],
           [4.]])
    """
    pool, offsets = reduction(pool, return_index, dtype), x._row_offsets(level)
    out = with_outer_levels(x, level, reduce_segments(x.values, offsets, None, pool, pad_value, dtype))
    return (out, with_outer_levels(x, level, argreduce_segments(x.values, offsets, pool))) if return_index else out


def reduction(pool, return_index=False, dtype=None):
    """The reduction that a pool is: average and mean are one."""
    if return_index and dtype is not None:
        raise ValueError("return_index gives extremes in the type of the values; leave dtype out")
    if return_index and pool not in ("max", "min"):
        raise ValueError(f"return_index has a meaning with max and min, not with {pool}")
    return "mean" if pool == "average" else pool


@sequence_pool.infer_rule
def _(x, *, pool="sum", pad_value=0.0, level=-1, return_index=False, dtype=None):
    pool = reduction(pool, return_index, dtype)
    out = pooled_desc(x, level, x.dims[1:], result_dtype(x.dtype, pool, dtype))
    return (out, out.but(dtype=np.dtype(np.int64))) if return_index else out


@sequence_pool.gradient(reads_outputs=True)
def _(call, grad, *_):
    if grad is None:
        return None
    keep = {k: call.attrs[k] for k in ("pool", "level")}
    out = call.outputs[0]
    return sequence_pool_grad(call.inputs[0], values_of(out), grad, **keep)


@op(like="x", types=FLOATING)
def sequence_pool_grad(x: LoDTensor, out: Dense, grad: Dense, /, *, pool: Pool = "sum", level: int = -1) -> LoDTensor:
    """Return the gradient of ``sequence_pool`` by its input, with the input's structure.

    Ties: the first of equal extremes gets the gradient. Empty sequences have no rows to get any.

    >>> x = LoDTensor(np.array([[1.], [2.], [3.], [4.]]), [[1, 0, 3]])
    >>> sequence_pool_grad(x, np.zeros((3, 1)), np.array([[1.], [2.], [3.]]), pool="average").values.ravel()
    array([1., 1., 1., 1.])
    """
    check_values(x.values.dtype, "the gradient", floating=True, bfloat16=True)
    pool = reduction(pool)
    return x.with_values(reduce_segments_grad(x.values, x._row_offsets(level), None, out, grad, pool))


@sequence_pool.example
def _(dtype):
    x = [LoDTensor(np.ones((3, d), dtype), [[1, 2]]) for d in (1, 4, 16, 64)]
    return [((one,), {"pool": pool}) for one in x for pool in ("sum", "mean", "max")]


takes_bfloat16(sequence_pool, sequence_pool_grad)
keeps_bfloat16(sequence_pool_grad)
