"""Ids as columns of a matrix with a row per sequence, and back (the sparse matrix of Caffe2's page)."""

from __future__ import annotations

import numpy as np

from ..arrays import COMPUTED, FLOATING, check_gradient, check_values, native
from ..lod import LoDTensor, check_bag, check_lod_level, values_of
from ..registry import Dense, op, pooled_desc
from .selected_rows import added
from .sequence_pool import with_outer_levels
from .shared import plain
from .shared.columns import cells_of, check_dense, check_values_of, checked_columns
from .shared.reductions import pad_of

DOCS_PAGE = "convert"
SEARCH_WORDS = {
    "sparse_matrix": "csr_matrix, scipy sparse, coo, document term matrix",
    "batch_sparse_to_dense": "csr to dense, toarray",
    "batch_dense_to_sparse": "dense to csr",
}


def _matrix_desc(ids, dtype, columns, item, what):
    check_lod_level(ids, what)
    return pooled_desc(ids, -1, (-1 if columns is None else columns, *item), dtype)


def prepare_matrix(on, ids, values, num_columns, name, what):
    """Check the inputs of a matrix of ids on any device.

    Returns
    -------
    bags, flat, values, columns
        A LoDTensor of one id per row, its ids, their values or None, and the number of columns.
    """
    bags = check_bag(ids, what)
    if values is not None:
        values = check_values_of(values, bags, name, what)
    flat, columns = checked_columns(on, bags.values, num_columns, "ids", "num_columns")
    return bags, flat, values, columns


@op(types={"scores": COMPUTED})
def sparse_matrix(
    ids: LoDTensor, scores: Dense | LoDTensor | None = None, /, *, num_columns: int | None = None
) -> Dense | LoDTensor:
    """Return the matrix with the scores of each sequence in the columns of its ids, and zeros elsewhere.

    Scores of the same id in one sequence add up; without scores the matrix counts ids. With a plain array of scores
    it is also the gradient of ``batch_dense_to_sparse``. The sparse_matrix of Caffe2's page.

    Parameters
    ----------
    ids : LoDTensor of int32 or int64
        The innermost sequences are the rows; the result keeps the levels above.
    scores : array of shape (number of ids, *item), or LoDTensor of the structure of ids, optional
        1, float32, for each id by default.
    num_columns : int, optional
        The largest id + 1 by default.

    Returns
    -------
    array of shape (sequences, num_columns, *item)

    Raises
    ------
    RowIndexError
        An id is negative or not below num_columns.

    Examples
    --------
    >>> ids = LoDTensor([1, 3, 2, 3, 3], [[2, 3]])
    >>> sparse_matrix(ids, np.array([0.4, 0.7, 0.5, 0.5, 0.1]))
    array([[0. , 0.4, 0. , 0.7],
           [0. , 0. , 0.5, 0.6]])
    """
    bags, flat, scores, columns = prepare_matrix(plain, ids, scores, num_columns, "scores", "sparse_matrix")
    scores = np.ones(len(flat), np.float32) if scores is None else scores
    rows = len(bags._row_offsets()) - 1
    dense = added(cells_of(bags, columns), scores, rows * columns).astype(native(scores.dtype))
    return with_outer_levels(bags, -1, dense.reshape(rows, columns, *scores.shape[1:]))


@sparse_matrix.infer_rule
def _(ids, scores=None, *, num_columns=None):
    dtype, item = (np.dtype("float32"), ()) if scores is None else (scores.dtype, scores.dims[1:])
    return _matrix_desc(ids, dtype, num_columns, item, "sparse_matrix")


@sparse_matrix.gradient
def _(call, grad):
    return None, batch_dense_to_sparse(call.inputs[0], grad)


def prepare_columns(on, ids, dense):
    """Check the inputs of batch_dense_to_sparse on any device. Returns a LoDTensor of one id per row, ids, dense."""
    bags = check_bag(ids, "batch_dense_to_sparse")
    dense = check_dense(dense, len(bags._row_offsets()) - 1)
    check_values(dense.dtype, "batch_dense_to_sparse")
    return bags, checked_columns(on, bags.values, dense.shape[1], "ids", "dense.shape[1]")[0], dense


@op(types={"dense": COMPUTED})
def batch_dense_to_sparse(ids: LoDTensor, dense: Dense | LoDTensor, /) -> LoDTensor:
    """Return the entries in the columns of each sequence's ids, in the structure of the ids.

    BatchDenseToSparse of Caffe2, whose gradient keeps only the last of equal ids; here they add up.

    Parameters
    ----------
    ids : LoDTensor of int32 or int64
    dense : array of shape (sequences, columns, *item)

    Returns
    -------
    LoDTensor
        A row per id.

    Raises
    ------
    RowIndexError
        An id is negative or not below the number of columns.

    Examples
    --------
    >>> batch_dense_to_sparse(LoDTensor([2, 0, 1], [[2, 1]]), np.array([[5., 6., 7.], [8., 9., 0.]]))
    LoDTensor([[7., 5.], [9.]], recursive_sequence_lengths=[[2, 1]], shape=(3,), dtype=float64)
    """
    bags, flat, dense = prepare_columns(plain, ids, dense)
    return bags.with_values(dense[bags.segment_ids(), flat].astype(native(dense.dtype)))


@batch_dense_to_sparse.infer_rule
def _(ids, dense):
    return ids.but(dtype=dense.dtype, dims=(ids.dims[0], *dense.dims[2:]))


@batch_dense_to_sparse.gradient
def _(call, grad):
    ids, dense = call.inputs
    return None, sparse_matrix(ids, grad, num_columns=values_of(dense).shape[1])


@op(types={"values": COMPUTED})
def batch_sparse_to_dense(
    ids: LoDTensor, values: Dense | LoDTensor, /, *, num_columns: int | None = None, pad_value: float = 0.0
) -> Dense | LoDTensor:
    """Return the matrix with the values of each sequence in the columns of its ids; the last of equal ids wins.

    BatchSparseToDense of Caffe2, whose gradient goes to all of equal ids; here to the last. ``sparse_matrix`` adds.

    Parameters
    ----------
    ids : LoDTensor of int32 or int64
        The innermost sequences are the rows; the result keeps the levels above.
    values : array of shape (number of ids, *item), or LoDTensor of the structure of ids
    num_columns : int, optional
        The largest id + 1 by default.
    pad_value : float
        The entry of columns without an id.

    Returns
    -------
    array of shape (sequences, num_columns, *item)

    Raises
    ------
    RowIndexError
        An id is negative or not below ``num_columns``.

    Examples
    --------
    >>> batch_sparse_to_dense(LoDTensor([1, 1, 0], [[2, 1]]), np.array([5., 6., 7.]), num_columns=3, pad_value=-1)
    array([[-1.,  6., -1.],
           [ 7., -1., -1.]])
    """
    bags, _, values, columns = prepare_matrix(plain, ids, values, num_columns, "values", "batch_sparse_to_dense")
    dtype, rows = native(values.dtype), len(bags._row_offsets()) - 1
    dense = np.full((rows * columns, *values.shape[1:]), pad_of(pad_value, dtype), dtype)
    for cell, value in zip(cells_of(bags, columns), values, strict=True):
        dense[cell] = value
    return with_outer_levels(bags, -1, dense.reshape(rows, columns, *values.shape[1:]))


@batch_sparse_to_dense.infer_rule
def _(ids, values, *, num_columns=None, pad_value=0.0):
    return _matrix_desc(ids, values.dtype, num_columns, values.dims[1:], "batch_sparse_to_dense")


@batch_sparse_to_dense.gradient
def _(call, grad):
    return None, batch_sparse_to_dense_grad(*call.inputs, values_of(grad))


def prepare_matrix_grad(on, ids, values, grad):
    """Check the inputs of the gradient on any device. Returns a LoDTensor of one id per row, its ids, their values."""
    bags = check_bag(ids, "batch_sparse_to_dense")
    values = check_values_of(values, bags, "values", "the gradient", floating=True)
    columns = grad.shape[1:2] or (0,)
    check_gradient(grad, (len(bags._row_offsets()) - 1, *columns, *values.shape[1:]))
    return bags, checked_columns(on, bags.values, grad.shape[1], "ids", "grad.shape[1]")[0], values


@op(types={"values": FLOATING})
def batch_sparse_to_dense_grad(ids: LoDTensor, values: Dense | LoDTensor, grad: Dense, /) -> LoDTensor:
    """Return the gradient of ``batch_sparse_to_dense`` by its values: only the last of equal ids gets any.

    >>> ids = LoDTensor([1, 1, 0], [[2, 1]])
    >>> batch_sparse_to_dense_grad(ids, np.zeros(3), np.array([[1., 2.], [3., 4.]])).values
    array([0., 2., 3.])
    """
    bags, _, values = prepare_matrix_grad(plain, ids, values, grad)
    flat, result = grad.reshape(-1, *values.shape[1:]), np.zeros(values.shape, native(values.dtype))
    for cell, i in {cell: i for i, cell in enumerate(cells_of(bags, grad.shape[1]).tolist())}.items():
        result[i] = flat[cell]
    return bags.with_values(result)


@batch_sparse_to_dense_grad.infer_rule
def _(ids, values, grad):
    return ids.but(dtype=values.dtype, dims=values.dims)


def _ids():
    return LoDTensor(np.array([0, 2, 1]), [[2, 1]])


sparse_matrix.example(lambda dtype: [((_ids(), np.ones(3, dtype)), {})])
batch_dense_to_sparse.example(lambda dtype: [((_ids(), np.ones((2, 3), dtype)), {})])
batch_sparse_to_dense.example(lambda dtype: [((_ids(), np.ones(3, dtype)), {})])
