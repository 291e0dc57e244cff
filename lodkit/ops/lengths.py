"""Segments by their lengths: the largest values of each, and lengths cut into parts."""

from __future__ import annotations

import numpy as np

from ..arrays import FLOATING, INTEGERS, ORDERED, check_gradient, check_values, integers
from ..base.errors import LoDError, RowIndexError, ShapeMismatchError
from ..lod import check_lengths
from ..registry import Dense, op
from .conversions import to_offsets, vector_desc
from .sequence_topk import top_positions

DOCS_PAGE = "convert"
SEARCH_WORDS = {"lengths_top_k": "k largest per segment", "lengths_split": "even parts"}


def check_top_k(values, k=1, what="lengths_top_k", floating=False):
    """The type of a vector of values, if ``what`` takes it; k is at least 1."""
    dtype = check_values(values.dtype, what, floating=floating)
    if values.ndim != 1:
        raise ShapeMismatchError(f"values have shape {tuple(values.shape)}, not one dimension; pass one column")
    if k < 1:
        raise ValueError(f"lengths_top_k: k must be at least 1, got {k}")
    return dtype


@op(types=ORDERED)
def lengths_top_k(values: Dense, lengths: Dense, /, *, k: int) -> tuple[Dense, Dense]:
    """Return the k largest values of every segment, the largest first, and their positions in the segment.

    LengthsTopK of Caffe2. NaN and NaT count as larger than every number, as in max; of equal values the
    first comes first.

    Parameters
    ----------
    values : vector of shape (rows,)
    lengths : vector of int32 or int64
        Their sum is the number of rows.
    k : int
        At least 1.

    Returns
    -------
    values : array of shape (segments, k)
        0 after the last value of a shorter segment.
    indices : int64 array of shape (segments, k)
        From 0 within the segment, -1 after the last value.

    Raises
    ------
    LoDError
        A length is negative, or the lengths do not add up to the rows.
    ShapeMismatchError
        The values are not a vector.
    ValueError
        k is less than 1.

    Examples
    --------
    >>> lengths_top_k(np.array([1., 3., 2., 3., 5.]), [4, 0, 1], k=2)
    (array([[3., 3.],
           [0., 0.],
           [5., 0.]]), array([[ 1,  3],
           [-1, -1],
           [ 0, -1]]))
    """
    dtype, offsets = check_top_k(values, k), to_offsets(lengths, "lengths", len(values)).tolist()
    top = np.zeros((len(offsets) - 1, k), dtype)
    indices = np.full(top.shape, -1, np.int64)
    for s, (start, stop) in enumerate(zip(offsets[:-1], offsets[1:], strict=True)):
        best = top_positions(values[start:stop], k)
        top[s, : len(best)], indices[s, : len(best)] = values[start:stop][best], best
    return top, indices


@lengths_top_k.infer_rule
def _(values, lengths, *, k):
    top = values.but(dims=(lengths.dims[0], k), lod_level=0)
    return top, top.but(dtype=np.dtype("int64"))


@lengths_top_k.gradient(reads_outputs=True)
def _(call, grad, _):
    values, lengths = call.inputs
    if grad is None:
        return None
    return lengths_top_k_grad(values, lengths, call.outputs[1], grad), None


def bad_index(indices, lengths, s, j):
    """The error for an index outside its segment."""
    return RowIndexError(
        f"indices[{s}, {j}] = {indices[s, j]} is outside [-1, {lengths[s]}) (segment {s} has {lengths[s]} rows); "
        "pass the indices that lengths_top_k returned for these lengths"
    )


def check_indices(indices, segments):
    """Refuse indices without one row per segment."""
    if indices.ndim != 2 or indices.shape[0] != segments:
        raise LoDError(f"indices have shape {tuple(indices.shape)}; there is a row for each of the {segments} segments")


@op(like="values", types=FLOATING)
def lengths_top_k_grad(values: Dense, lengths: Dense, indices: Dense, grad: Dense, /) -> Dense:
    """Return the gradient of ``lengths_top_k`` by its values: 0 except for the largest.

    >>> grad = np.array([[1., 2.], [3., 4.]])
    >>> lengths_top_k_grad(np.zeros(4), [3, 1], [[2, 0], [0, -1]], grad)
    array([2., 0., 1., 3.])
    """
    dtype = check_top_k(values, what="the gradient", floating=True)
    offsets, indices = to_offsets(lengths, "lengths", len(values)), integers(indices, "indices")
    check_indices(indices, len(offsets) - 1)
    for s, j in np.argwhere((indices < -1) | (indices >= np.diff(offsets)[:, None])):
        raise bad_index(indices, np.diff(offsets), s, j)
    check_gradient(grad, indices.shape)
    result = np.zeros(len(values), dtype)
    for s, j in np.argwhere(indices >= 0):
        result[offsets[s] + indices[s, j]] = grad[s, j]
    return result


@op(types=INTEGERS)
def lengths_split(lengths: Dense, /, *, n_split: int) -> Dense:
    """Cut every length into ``n_split`` parts as equal as can be, the longer ones first, int64.

    LengthsSplit of Caffe2.

    Parameters
    ----------
    lengths : vector of int32 or int64
    n_split : int
        At least 1.

    Raises
    ------
    LoDError
        A length is negative.
    ValueError
        ``n_split`` is less than 1.

    Examples
    --------
    >>> lengths_split([9, 5, 1], n_split=3)
    array([3, 3, 3, 2, 2, 1, 1, 0, 0])
    """
    check_split(n_split)
    lengths = check_lengths(lengths).tolist()
    return np.array([n // n_split + (j < n % n_split) for n in lengths for j in range(n_split)], np.int64)


def check_split(n_split):
    if n_split < 1:
        raise ValueError(f"lengths_split: n_split must be at least 1, got {n_split}")


@lengths_split.infer_rule
def _(lengths, *, n_split):
    return vector_desc(lengths, lengths.dims[0] * n_split if lengths.dims[0] >= 0 else -1)


lengths_top_k.example(lambda dtype: [((np.ones(3, dtype), np.array([2, 1])), {"k": 2})])
lengths_split.example(lambda dtype: [((np.array([3, 1]),), {"n_split": 2})])
