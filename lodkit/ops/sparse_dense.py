"""Rows placed by their index: among the rows of a dense array, or in the columns of their example."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import COMPUTED, FLOATING, check_gradient, mixed_types, native
from ..base.errors import RowIndexError, ShapeMismatchError
from ..lod import LoDTensor, check_bag, values_of
from ..registry import Dense, VarDesc, VarType, op
from .gather_scatter import gather
from .selected_rows import added
from .sequence_pool import with_outer_levels
from .shared import plain
from .shared.columns import check_values_of, checked_columns, checked_vector

DOCS_PAGE = "convert"
SEARCH_WORDS = {
    "sparse_to_dense": "scatter to dense, tf.sparse.to_dense",
    "sparse_to_dense_mask": "ids to columns, feature ids to dense",
}


def prepare(on, indices, values, num_rows):
    """Check the inputs of sparse_to_dense on any device. Returns the indices, their values, and the number of rows."""
    indices = checked_vector(on, indices, "indices")
    values = check_values_of(values, indices, "values", "sparse_to_dense")
    indices, rows = checked_columns(on, indices, num_rows, "indices", "num_rows")
    return indices, values, rows


@op(types={"values": COMPUTED})
def sparse_to_dense(indices: Dense, values: Dense, /, *, num_rows: int | None = None) -> Dense:
    """Return an array with the rows of ``values`` at their indices, zeros elsewhere; rows of one index add up.

    SparseToDense of Caffe2. Its gradient is ``gather``.

    Parameters
    ----------
    indices : array of int32 or int64
    values : array of shape (number of indices, *item)
    num_rows : int, optional
        The largest index + 1 by default.

    Raises
    ------
    RowIndexError
        An index is negative or not below num_rows.

    Examples
    --------
    >>> sparse_to_dense([2, 0, 2], np.array([1., 5., 3.]), num_rows=4)
    array([5., 0., 4., 0.])
    """
    return added(*prepare(plain, indices, values, num_rows)).astype(native(values.dtype))


@sparse_to_dense.infer_rule
def _(indices, values, *, num_rows=None):
    return values.but(dims=(-1 if num_rows is None else num_rows, *values.dims[1:]))


@sparse_to_dense.gradient
def _(call, grad):
    return None, gather(grad, call.inputs[0])


def check_mask(mask):
    """Ids of the columns, int64: each once."""
    mask = checked_vector(plain, mask, "mask")
    first = {}
    for i, number in enumerate(mask.tolist()):
        if number < 0:
            raise RowIndexError(f"mask[{i}] = {number} is negative; negative ids are skipped, so no column is theirs")
        if first.setdefault(number, i) != i:
            raise ValueError(f"mask[{i}] = {number} is mask[{first[number]}] too; list every id once")
    return mask


def prepare_mask(on, ids, values, mask, what, floating=False):
    """Check the inputs of sparse_to_dense_mask and its gradient on any device.

    Returns
    -------
    ids, flat, values, mask, offsets, shape
        A LoDTensor of one id per row, or an array of one example's; its ids; their values; the ids of the columns;
        offsets of the examples; and the shape of the presence, without the first axis for one example.
    """
    many = isinstance(ids, LoDTensor) and ids.lod_level
    ids, mask = check_bag(ids, "sparse_to_dense_mask") if many else values_of(ids), check_mask(mask)
    values = check_values_of(values, ids, "values", what, floating)
    flat = checked_vector(on, values_of(ids), "ids")
    offsets = ids._row_offsets() if many else np.array([0, len(flat)])
    return ids, flat, values, mask, offsets, (len(offsets) - 1, len(mask)) if many else (len(mask),)


def check_default(default, item, dtype):
    """Check the row of absent ids: an item, of a type that converts to that of the values."""
    if tuple(default.shape) != tuple(item):
        raise ShapeMismatchError(f"default has shape {tuple(default.shape)}, an item of values {tuple(item)}")
    if default.dtype.kind not in ("fiu" if dtype.kind == "f" else "iu"):
        raise mixed_types("default", default.dtype, "values", dtype)


def check_skipped(on, ids, offsets, max_skipped):
    """Refuse ids that are negative in too many examples."""
    if max_skipped is not None:
        if max_skipped < 0:
            raise ValueError(f"max_skipped must be 0 or more, got {max_skipped}; None allows any number")
        ids = on.read(ids)
        bad = np.flatnonzero(ids < 0)
        rows = np.unique(np.searchsorted(offsets, bad, side="right"))
        if len(rows) > max_skipped:
            raise RowIndexError(
                f"ids[{bad[0]}] = {ids[bad[0]]} is negative, and {len(rows)} examples have such ids (max_skipped = "
                f"{max_skipped}); ids count from 0"
            )


@op(types={"values": COMPUTED})
def sparse_to_dense_mask(
    ids: Dense | LoDTensor,
    values: Dense | LoDTensor,
    default: Dense,
    /,
    *,
    mask: Sequence[int],
    max_skipped: int | None = None,
) -> tuple:
    """Return the values of the ids in ``mask`` for each example, one column per id, and whether the example has the id.

    Negative ids, and ids that ``mask`` does not list, are ignored. If an example repeats an id, only the last entry
    counts and gets the gradient. The operator corresponds to Caffe2's SparseToDenseMask.

    Parameters
    ----------
    ids : LoDTensor of int32 or int64, or array of the ids of one example
    values : array of shape (number of ids, *item), or LoDTensor of the structure of ids
    default : array of shape item
        The value of an id that an example does not have.
    mask : sequence of int
        The ids of the columns.
    max_skipped : int, optional
        Number of examples that may have negative ids; by default all examples may.

    Returns
    -------
    dense : array of shape (examples, len(mask), *item)
        For an array of ids the first axis is missing. A LoDTensor if ids have several levels.
    presence : array of bool of shape (examples, len(mask))

    Raises
    ------
    ValueError
        ``mask`` lists an id twice.
    RowIndexError
        ``mask`` lists a negative id, or more than ``max_skipped`` examples have negative ids.
    LoDMismatchError
        Ids and values have different structures.
    ShapeMismatchError
        Values do not have one row per id, or ``default`` does not have the shape of an item.
    DTypeError
        Ids are not integers, or the type of ``default`` does not convert to the type of the values.

    Examples
    --------
    >>> ids = LoDTensor([7, 4, 7, 9], [[3, 1]])
    >>> dense, presence = sparse_to_dense_mask(ids, np.array([1., 2., 3., 4.]), -1.0, mask=[4, 7])
    >>> dense
    array([[ 2.,  3.],
           [-1., -1.]])
    >>> presence
    array([[ True,  True],
           [False, False]])
    """
    ids, flat, values, mask, offsets, shape = prepare_mask(plain, ids, values, mask, "sparse_to_dense_mask")
    check_default(default, values.shape[1:], native(values.dtype))
    check_skipped(plain, flat, offsets, max_skipped)
    dense = np.empty((len(offsets) - 1, len(mask), *values.shape[1:]), native(values.dtype))
    dense[...] = default
    presence = np.zeros(dense.shape[:2], bool)
    for (row, column), i in _last_of_mask(offsets, flat, mask).items():
        dense[row, column], presence[row, column] = values[i], True
    dense, presence = dense.reshape(*shape, *values.shape[1:]), presence.reshape(shape)
    return with_example_levels(ids, dense), with_example_levels(ids, presence)


def with_example_levels(ids, rows):
    """Rows, one per example, under the levels above the examples."""
    return with_outer_levels(ids, -1, rows) if isinstance(ids, LoDTensor) else rows


def _last_of_mask(offsets, ids, mask):
    """(example, column) -> position of its last id."""
    column = {number: k for k, number in enumerate(mask.tolist())}
    last = {}
    for s, (a, b) in enumerate(zip(offsets[:-1], offsets[1:], strict=True)):
        for i in range(a, b):
            if int(ids[i]) in column:
                last[s, column[int(ids[i])]] = i
    return last


@sparse_to_dense_mask.infer_rule
def _(ids, values, default, *, mask, max_skipped=None):
    columns = len(check_mask(mask))
    rows = (-1, columns) if ids.lod_level else (columns,)
    dense = VarDesc("", VarType.LOD_TENSOR, values.dtype, (*rows, *values.dims[1:]), max(ids.lod_level - 1, 0))
    return dense, dense.but(dtype=np.dtype(bool), dims=rows)


@sparse_to_dense_mask.gradient
def _(call, grad, *_):
    if grad is None:
        return None
    ids, values, _ = call.inputs
    return None, *sparse_to_dense_mask_grad(ids, values_of(values), values_of(grad), mask=call.attrs["mask"])


@op(types={"values": FLOATING})
def sparse_to_dense_mask_grad(ids: Dense | LoDTensor, values: Dense, grad: Dense, /, *, mask: Sequence[int]) -> tuple:
    """Return the gradients of ``sparse_to_dense_mask`` by its values and by its default.

    >>> grad = np.array([10., 20., 30.])
    >>> by_values, by_default = sparse_to_dense_mask_grad(np.array([7, 7, 5]), np.zeros(3), grad, mask=[4, 7, 9])
    >>> by_values, by_default.item()
    (array([ 0., 20.,  0.]), 40.0)
    """
    _, flat, values, mask, offsets, shape = prepare_mask(plain, ids, values, mask, "the gradient", floating=True)
    check_gradient(grad, (*shape, *values.shape[1:]))
    left = np.array(grad, np.float64).reshape(len(offsets) - 1, len(mask), *values.shape[1:])
    by_values = np.zeros(values.shape, np.float64)
    for (row, column), i in _last_of_mask(offsets, flat, mask).items():
        by_values[i] = left[row, column]
        left[row, column] = 0
    dtype = native(values.dtype)
    return by_values.astype(dtype), np.asarray(left.sum(axis=(0, 1)).astype(dtype))


@sparse_to_dense_mask_grad.infer_rule
def _(ids, values, grad, *, mask):
    return values, values.but(dims=values.dims[1:])


sparse_to_dense.example(lambda dtype: [((np.array([0, 2, 2]), np.ones((3, 4), dtype)), {})])
sparse_to_dense_mask.example(
    lambda dtype: [((LoDTensor([0, 2, 1], [[2, 1]]), np.ones((3, 4), dtype), np.zeros(4, dtype)), {"mask": [1, 2]})]
)
