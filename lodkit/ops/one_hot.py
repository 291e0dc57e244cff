"""One-hot and multi-hot rows of ids, and the ids of such rows."""

from __future__ import annotations

import numpy as np

from ..arrays import COMPUTED, INTEGERS, check_values
from ..base.errors import ShapeMismatchError
from ..lod import LoDTensor, check_bag, check_lod_level
from ..registry import Dense, VarDesc, VarType, op, pooled_desc
from .sequence_pool import with_outer_levels
from .shared import plain
from .shared.columns import cells_of, checked_columns

DOCS_PAGE = "convert"
SEARCH_WORDS = {
    "one_hot": "one-hot encoding, one hot, to_categorical, indicator",
    "segment_one_hot": "multi-hot, multi hot encoding, bag of words, CountVectorizer",
    "dense_to_id_lists": "nonzero columns, argwhere",
}


@op(rowwise=True, types=INTEGERS)
def one_hot(ids: Dense, /, *, size: int) -> Dense:
    """Return a row of ``size`` per id, float32: 1 at the id and 0 elsewhere.

    OneHot of Caffe2, which writes out of bounds for an id outside.

    Raises
    ------
    RowIndexError
        An id is negative or not below ``size``.

    Examples
    --------
    >>> one_hot([2, 0], size=3)
    array([[0., 0., 1.],
           [1., 0., 0.]], dtype=float32)
    """
    ids, size = checked_columns(plain, ids, size, "ids", "size")
    return (ids[..., None] == np.arange(size)).astype(np.float32)


@one_hot.infer_rule
def _(ids, *, size):
    return ids.but(dtype=np.dtype(np.float32), dims=(*ids.dims, size))


def prepare_segments(on, ids, size):
    """Check the ids of segment_one_hot on any device. Returns a LoDTensor of one id per row, its ids, and the size."""
    bags = check_bag(ids, "segment_one_hot")
    flat, size = checked_columns(on, bags.values, size, "ids", "size")
    return bags, flat, size


@op(types=INTEGERS)
def segment_one_hot(ids: LoDTensor, /, *, size: int) -> Dense | LoDTensor:
    """Return a row of ``size`` per sequence, float32: 1 at its ids and 0 elsewhere.

    SegmentOneHot of Caffe2, which writes out of bounds for an id outside. ``sparse_matrix`` counts equal ids.

    Raises
    ------
    RowIndexError
        An id is negative or not below ``size``.

    Examples
    --------
    >>> segment_one_hot(LoDTensor([2, 0, 2], [[1, 0, 2]]), size=3)
    array([[0., 0., 1.],
           [0., 0., 0.],
           [1., 0., 1.]], dtype=float32)
    """
    bags, _, size = prepare_segments(plain, ids, size)
    rows = len(bags._row_offsets()) - 1
    hot = np.zeros(rows * size, np.float32)
    hot[cells_of(bags, size)] = 1
    return with_outer_levels(bags, -1, hot.reshape(rows, size))


@segment_one_hot.infer_rule
def _(ids, *, size):
    check_lod_level(ids, "segment_one_hot")
    return pooled_desc(ids, -1, (size,), np.dtype(np.float32))


@op(types=COMPUTED)
def dense_to_id_lists(dense: Dense, /) -> LoDTensor:
    """Return the non-zero columns of each row of a matrix, as ids: int64.

    DenseVectorToIdList of Caffe2. ``batch_dense_to_sparse(ids, dense)`` returns their entries.

    >>> dense_to_id_lists(np.array([[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 0, 0]]))
    LoDTensor([[1, 3], [], [0]], recursive_sequence_lengths=[[2, 0, 1]], shape=(3,), dtype=int64)
    """
    check_two_axes(dense)
    lists = [np.flatnonzero(row) for row in dense]
    return LoDTensor(np.array([i for ids in lists for i in ids], np.int64), [[len(ids) for ids in lists]])


def check_two_axes(dense):
    check_values(dense.dtype, "dense_to_id_lists")
    if dense.ndim != 2:
        raise ShapeMismatchError(f"dense has shape {tuple(dense.shape)}; pass (sequences, columns)")


@dense_to_id_lists.infer_rule
def _(dense):
    return VarDesc("", VarType.LOD_TENSOR, np.dtype(np.int64), (-1,), 1)


one_hot.example(lambda dtype: [((np.array([0, 2]),), {"size": 3})])
segment_one_hot.example(lambda dtype: [((LoDTensor(np.array([0, 2, 1]), [[2, 1]]),), {"size": 3})])
dense_to_id_lists.example(lambda dtype: [((np.eye(3, dtype=dtype),), {})])
