"""Look rows up in a table, one by one or pooled by bag; the table's gradient is SelectedRows by choice."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..arrays import FLOATING, FLOATS, MOVED, ORDERED, check_gradient, check_rows, check_values
from ..lod import LoDTensor, SelectedRows, check_bag, check_lod_level, values_of
from ..registry import Dense, VarType, aligned, keeps_bfloat16, op, pooled_desc, takes_bfloat16
from .sequence_pool import with_outer_levels
from .shared import plain
from .shared.reductions import (
    WEIGHTED,
    ResultType,
    check_weights,
    reduce_segments,
    reduce_segments_grad,
    result_dtype,
    weights_grad,
)
from .shared.tables import check_padding, table_grad

DOCS_PAGE = "look-up"
SEARCH_WORDS = {
    "embedding_bag": (
        "EmbeddingBag, nn.EmbeddingBag, embedding_lookup_sparse, safe_embedding_lookup_sparse, pooled embedding, "
        "bag of words, SparseLengthsSum, fused_embedding_seq_pool, sum of embeddings, TorchRec, "
        "per_sample_weights, offsets"
    ),
    "lookup_table": "embedding, Embedding, nn.Embedding, embedding_lookup, word vectors, table lookup",
}

BagPool = Literal["sum", "mean", "sqrt", "max", "min", "prod", "logsumexp", "logmeanexp"]


def _grad_desc(table, is_sparse):
    return table.but(type=VarType.SELECTED_ROWS if is_sparse else VarType.LOD_TENSOR)


def prepare_lookup(table, padding_idx):
    """Check the table of a lookup. Returns the type of its values."""
    if not table.ndim:
        check_rows(table, "table")
    if padding_idx is not None:
        check_padding(padding_idx, len(table))
    return check_values(table.dtype, "lookup_table", bfloat16=True)


def prepare_lookup_grad(on, table, ids, grad, padding_idx):
    """Check the inputs of its gradient on any device. Returns the ids and the gradient."""
    check_values(table.dtype, "the gradient", floating=True, bfloat16=True)
    check_padding(padding_idx, len(table))
    ids = on.checked_ids(ids, len(table))
    return ids, check_gradient(grad, ids.shape + table.shape[1:], bfloat16=True)


@op(rowwise=("ids",), types=MOVED)
def lookup_table(table: Dense, ids: Dense, /, *, padding_idx: int | None = None, is_sparse: bool = True) -> Dense:
    """Return ``table[ids]``: a row for every id, in the shape of an array of ids or the structure of a LoDTensor.

    The operator corresponds to Paddle's lookup_table and lookup_table_v2, and Caffe2's Gather.

    Parameters
    ----------
    table : array of shape (height, *item)
        Rows of int8, int16, uint8 and bool are accepted too, and are copied unchanged.
    ids : array of int32 or int64 of any shape, LoDTensor, or list
    padding_idx : int, optional
        The row with this number reads as zeros and gets no gradient.
    is_sparse : bool
        If True, the gradient of the table is SelectedRows; otherwise a dense array.

    Raises
    ------
    RowIndexError
        An id is negative or not below the height; the message gives position, id and bound.

    Examples
    --------
    >>> table = np.array([[0., 1.], [2., 3.], [4., 5.]])
    >>> lookup_table(table, [2, 0], padding_idx=0)
    array([[4., 5.],
           [0., 0.]])
    """
    dtype, ids = prepare_lookup(table, padding_idx), plain.checked_ids(ids, len(table))
    rows = np.stack([table[i] for i in ids.reshape(-1)]) if ids.size else np.zeros((0, *table.shape[1:]), dtype)
    rows[ids.reshape(-1) == padding_idx] = 0
    return rows.reshape(ids.shape + table.shape[1:]).astype(dtype)


@lookup_table.infer_rule
def _(table, ids, *, padding_idx=None, is_sparse=True):
    return table.but(type=VarType.LOD_TENSOR, dims=(*ids.dims, *table.dims[1:]), lod_level=ids.lod_level)


@op(gradient_of=lookup_table, types=FLOATING)
def lookup_table_grad(
    table: Dense, ids: Dense, grad: Dense, /, *, padding_idx: int | None = None, is_sparse: bool = True
) -> Dense | SelectedRows:
    """Return the gradient of the table: SelectedRows with a row for every id, or dense.

    ``infer`` says which, from ``is_sparse``. Rows for ``padding_idx`` are left out (Paddle keeps them, and so trains
    the padding row). The value of SelectedRows shares the memory of ``grad`` where it can.

    >>> lookup_table_grad(np.zeros((100, 2)), np.array([73, 84]), np.array([[1., 2.], [3., 4.]]))
    SelectedRows(rows=[73, 84], value=[[1., 2.], [3., 4.]], height=100)
    """
    ids, grad = prepare_lookup_grad(plain, table, ids, grad, padding_idx)
    return table_grad(table, ids, grad, padding_idx, is_sparse)


@lookup_table_grad.infer_rule
def _(table, ids, grad, *, padding_idx=None, is_sparse=True):
    return _grad_desc(table, is_sparse)


def prepare_bag(on, table, ids, weights, pool, padding_idx):
    """Check the inputs of embedding_bag and its gradients on any device.

    Returns
    -------
    bags, flat, weights
        A LoDTensor of one id a row, its ids, and their weights or None.
    """
    bags = check_bag(ids)
    flat = on.checked_ids(bags._values, len(check_rows(table, "table")))
    return bags, flat, prepare_weights(table, bags, flat, weights, pool, padding_idx)


def prepare_weights(table, bags, flat, weights, pool, padding_idx):
    """Check the inputs of embedding_bag beside its ids. Returns the weights, an array or None."""
    if not table.ndim:
        check_rows(table, "table")
    # What passes these tests, the functions that they spare return as it is.
    if weights is not None and (
        type(weights) is not np.ndarray
        or weights.shape != flat.shape
        or weights.dtype is not table.dtype
        or weights.dtype not in FLOATS
        or pool not in WEIGHTED
    ):
        weights = aligned(weights, bags, "weights")
        check_weights(weights, len(flat), table.dtype, pool)
    if padding_idx is not None and not 0 <= padding_idx < len(table):
        check_padding(padding_idx, len(table))
    return weights


@op(types=ORDERED)
def embedding_bag(
    table: Dense,
    ids: LoDTensor,
    weights: Dense | LoDTensor | None = None,
    /,
    *,
    pool: BagPool = "sum",
    pad_value: float = 0.0,
    padding_idx: int | None = None,
    is_sparse: bool = True,
    dtype: ResultType | None = None,
) -> Dense | LoDTensor:
    """Look up and pool in one pass: ``sequence_pool(lookup_table(table, ids))``, up to rounding.

    The operator corresponds to Caffe2's SparseLengths{Sum, WeightedSum, Mean}, PyTorch's EmbeddingBag and Paddle's
    fused_embedding_seq_pool.

    Parameters
    ----------
    table : array of shape (height, *item)
    ids : LoDTensor of int32 or int64
        The innermost sequences are the bags; the result keeps the outer levels.
    weights : array of shape (number of ids,), or LoDTensor of the structure of ids, optional
        Only for the pools sum and mean. The mean divides by the sum of the bag's weights. If the weights sum to 0, the
        mean is ``pad_value``, as for an empty bag, and has no gradient.
    pool : {"sum", "mean", "sqrt", "max", "min", "prod", "logsumexp", "logmeanexp"}
    pad_value : float
        The result for an empty bag.
    padding_idx : int, optional
        The row with this number reads as zeros and gets no gradient.
    is_sparse : bool
        If True, the gradient of the table is SelectedRows; otherwise a dense array.
    dtype : {"float32", "float64"}, optional
        The type of the result. By default the result has the table's type, but sum and prod of integers and bool give
        int64, or uint64 for an unsigned table. "float32" is for a table of float16 or bfloat16. "float64" is for mean,
        sqrt, logsumexp and logmeanexp of integers; without "float64" these pools raise. No ``dtype`` changes the type
        of an integer sum: convert the result with ``astype``.

    Returns
    -------
    array of shape (bags, *item), or LoDTensor with these rows as values if the ids have outer levels.

    Raises
    ------
    RowIndexError
        An id is negative or not below the height; the message gives the position of the id, and ``out=`` is not
        written.
    LoDMismatchError
        Weights are a LoDTensor with other lengths than the ids.
    LoDLevelError
        The ids have no lengths.
    DTypeError
        The ids are not integers. Or the pool is not defined for the type of the table, for instance the sum of times.
        Mean, sqrt, logsumexp and logmeanexp of integers need ``dtype="float64"``. Or ``dtype`` does not fit the pool
        and the table, for instance "float64" with a sum.
    ValueError
        Weights are passed with a pool other than sum and mean, or the table's type cannot hold ``pad_value``.

    Examples
    --------
    >>> table = np.array([[0., 1.], [2., 3.], [4., 5.]])
    >>> embedding_bag(table, LoDTensor([2, 2, 1], [[2, 0, 1]]))
    array([[ 8., 10.],
           [ 0.,  0.],
           [ 2.,  3.]])
    """
    bags, flat, weights = prepare_bag(plain, table, ids, weights, pool, padding_idx)
    rows = lookup_table.definition(table, flat, padding_idx=padding_idx)
    return with_outer_levels(bags, -1, reduce_segments(rows, bags._row_offsets(), weights, pool, pad_value, dtype))


@embedding_bag.infer_rule
def _(table, ids, weights=None, *, pool="sum", pad_value=0.0, padding_idx=None, is_sparse=True, dtype=None):
    check_lod_level(ids)
    dtype = result_dtype(table.dtype, pool, dtype)
    return pooled_desc(ids, -1, table.dims[1:], dtype)


@embedding_bag.gradient
def _(call, grad):
    table, ids, weights = (*call.inputs, None)[:3]
    grad, attrs = values_of(grad), call.attrs
    weights = None if weights is None else values_of(weights)
    pool, padding_idx, is_sparse = attrs["pool"], attrs["padding_idx"], attrs["is_sparse"]
    by_table = by_weights = None
    if call.wanted[0]:
        by_table = embedding_bag_grad(
            table, ids, grad, weights, pool=pool, padding_idx=padding_idx, is_sparse=is_sparse
        )
    if weights is not None and call.wanted[2]:
        by_weights = embedding_bag_weights_grad(table, ids, grad, weights, pool=pool, padding_idx=padding_idx)
    return by_table, None, by_weights


@op(types=FLOATING)
def embedding_bag_grad(
    table: Dense,
    ids: LoDTensor,
    grad: Dense,
    weights: Dense | None = None,
    /,
    *,
    pool: BagPool = "sum",
    padding_idx: int | None = None,
    is_sparse: bool = True,
) -> Dense | SelectedRows:
    """Return the gradient of ``embedding_bag`` by its table: SelectedRows with a row for every id, or dense.

    >>> ids = LoDTensor([2, 2, 1], [[2, 0, 1]])
    >>> embedding_bag_grad(np.zeros((3, 1)), ids, np.array([[1.], [5.], [4.]]), pool="mean")
    SelectedRows(rows=[2, 2, 1], value=[[0.5], [0.5], [4.]], height=3)
    """
    bags, flat, weights = prepare_bag(plain, table, ids, weights, pool, padding_idx)
    check_values(table.dtype, "the gradient", floating=True, bfloat16=True)
    rows = lookup_table.definition(table, flat, padding_idx=padding_idx)
    rows = reduce_segments_grad(rows, bags._row_offsets(), weights, None, grad, pool)
    return table_grad(table, flat, rows, padding_idx, is_sparse)


@embedding_bag_grad.infer_rule
def _(table, ids, grad, weights=None, *, pool="sum", padding_idx=None, is_sparse=True):
    return _grad_desc(table, is_sparse)


@op(like="weights", types=FLOATING)
def embedding_bag_weights_grad(
    table: Dense,
    ids: LoDTensor,
    grad: Dense,
    weights: Dense,
    /,
    *,
    pool: BagPool = "sum",
    padding_idx: int | None = None,
) -> Dense:
    """Return the gradient of ``embedding_bag`` by its weights.

    >>> ids = LoDTensor([2, 1], [[2]])
    >>> embedding_bag_weights_grad(np.array([[0.], [3.], [5.]]), ids, np.array([[2.]]), np.ones(2))
    array([10.,  6.])
    """
    bags, flat, weights = prepare_bag(plain, table, ids, weights, pool, padding_idx)
    rows = lookup_table.definition(table, flat, padding_idx=padding_idx)
    out = reduce_segments(rows, bags._row_offsets(), weights, pool, 0)
    return weights_grad(rows, bags._row_offsets(), weights, out, grad, pool)


@lookup_table.example
def _(dtype):
    tables = np.ones((3, 4), dtype), np.ones((3, 64), dtype)
    return [((table, np.array([0, 2])), {"is_sparse": s}) for table in tables for s in (True, False)]


@embedding_bag.example
def _(dtype):
    ids = LoDTensor(np.array([0, 2, 2]), [[1, 2]])
    tables = [np.ones((3, d), dtype) for d in (4, 16, 64)]
    weighted = [((table, ids, np.ones(3, dtype)), {}) for table in tables]
    return [((table, ids), {"pool": pool}) for table in tables for pool in ("sum", "mean")] + weighted


takes_bfloat16(lookup_table, lookup_table_grad, embedding_bag, embedding_bag_grad, embedding_bag_weights_grad)
keeps_bfloat16(lookup_table_grad, embedding_bag_grad)
