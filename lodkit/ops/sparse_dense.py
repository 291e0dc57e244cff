"""Rows put where their index says: among the rows of a dense array, or in the columns of their example."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import check_gradient, native
from ..errors import DTypeError, RowIndexError, ShapeMismatchError
from ..lod.levels import check_vector
from ..lod.lod_tensor import LoDTensor, values_of
from ..registry import Dense, op
from ..registry.desc import VarDesc, VarType
from .embedding import check_bag
from .gather_scatter import gather
from .selected_rows import added
from .sequence_pool import above
from .shared.columns import check_inside, check_values_of


@op
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
    indices = check_vector(indices, "indices")
    check_values_of(values, indices, "values", "sparse_to_dense")
    indices, rows = check_inside(indices, num_rows, "indices", "num_rows")
    return added(indices, values, rows).astype(native(values.dtype))


@sparse_to_dense.infer_rule
def _(indices, values, *, num_rows=None):
    return values.but(dims=(-1 if num_rows is None else num_rows, *values.dims[1:]))


@sparse_to_dense.gradient
def _(call, grad):
    return None, gather(grad, call.inputs[0])


def check_mask(mask):
    """The ids of the columns, int64: each once."""
    mask = check_vector(mask, "mask")
    first = {}
    for i, number in enumerate(mask.tolist()):
        if number < 0:
            raise RowIndexError(f"mask[{i}] = {number} is negative; negative ids are skipped, so no column is theirs")
        if first.setdefault(number, i) != i:
            raise ValueError(f"mask[{i}] = {number} is mask[{first[number]}] too; list every id once")
    return mask


def mask_offsets(ids):
    """The structure of ids as offsets: a plain array is one example."""
    return ids.row_offsets() if isinstance(ids, LoDTensor) else np.array([0, len(ids)])


def mask_ids(ids):
    """Ids of one or of many examples, one a row."""
    if isinstance(ids, LoDTensor) and ids.lod_level:
        return check_bag(ids, "sparse_to_dense_mask")
    return values_of(ids)


def mask_shape(ids, mask, item):
    """The shape of the result: without its first axis for one example."""
    return (len(mask), *item) if not isinstance(ids, LoDTensor) else (len(ids.row_offsets()) - 1, len(mask), *item)


def check_default(default, item, dtype):
    """The row that stands where there is no id: an item, of a type that goes into that of the values."""
    if tuple(default.shape) != tuple(item):
        raise ShapeMismatchError(f"default has shape {tuple(default.shape)}, an item of values {tuple(item)}")
    if default.dtype.kind not in ("fiu" if dtype.kind == "f" else "iu"):
        raise DTypeError(f"default is {default.dtype}, values are {dtype}; convert it with .astype(...)")


def check_skipped(ids, offsets, max_skipped):
    """Refuse ids that are negative in too many examples."""
    if max_skipped is not None:
        if max_skipped < 0:
            raise ValueError(f"max_skipped must be 0 or more, got {max_skipped}; None allows any number")
        bad = np.flatnonzero(np.asarray(ids) < 0)
        rows = np.unique(np.searchsorted(offsets, bad, side="right"))
        if len(rows) > max_skipped:
            raise RowIndexError(
                f"ids[{bad[0]}] = {ids[bad[0]]} is negative, and {len(rows)} examples have such ids (max_skipped = "
                f"{max_skipped}); ids count from 0"
            )


@op
def sparse_to_dense_mask(
    ids: Dense | LoDTensor,
    values: Dense | LoDTensor,
    default: Dense,
    /,
    *,
    mask: Sequence[int],
    max_skipped: int | None = None,
) -> tuple:
    """Return for every example the values of the ids that ``mask`` lists, in its order, and which of them it has.

    Ids that mask does not list are passed over, and so are negative ones. The last of equal ids in an example wins,
    and alone gets the gradient. SparseToDenseMask of Caffe2.

    Parameters
    ----------
    ids : LoDTensor of int32 or int64, or an array of one example's
    values : array of shape (number of ids, *item), or LoDTensor of the structure of ids
    default : array of shape item
        What stands for an id that an example does not have.
    mask : sequence of int
        The ids of the columns.
    max_skipped : int, optional
        How many examples may have negative ids; any number by default.

    Returns
    -------
    dense : array of shape (examples, len(mask), *item)
        Without the first axis for the ids of one example. A LoDTensor when there are levels above.
    presence : array of bool of shape (examples, len(mask))

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
    ids, mask = mask_ids(ids), check_mask(mask)
    values = check_values_of(values, ids, "values", "sparse_to_dense_mask")
    check_default(default, values.shape[1:], native(values.dtype))
    offsets, flat = mask_offsets(ids), check_vector(values_of(ids), "ids")
    check_skipped(flat, offsets, max_skipped)
    shape = mask_shape(ids, mask, values.shape[1:])
    dense = np.empty((len(offsets) - 1, len(mask), *values.shape[1:]), native(values.dtype))
    dense[...] = default
    presence = np.zeros(dense.shape[:2], bool)
    for (row, column), i in last_of_mask(offsets, flat, mask).items():
        dense[row, column], presence[row, column] = values[i], True
    return under(ids, dense.reshape(shape)), under(ids, presence.reshape(shape[: 1 + isinstance(ids, LoDTensor)]))


def under(ids, rows):
    """Rows, one an example, under the levels above the examples."""
    return above(ids, -1, rows) if isinstance(ids, LoDTensor) else rows


def last_of_mask(offsets, ids, mask):
    """(example, column) -> the last id that belongs there."""
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


@op
def sparse_to_dense_mask_grad(ids: Dense | LoDTensor, values: Dense, grad: Dense, /, *, mask: Sequence[int]) -> tuple:
    """Return the gradients of ``sparse_to_dense_mask`` by its values and by its default.

    >>> grad = np.array([10., 20., 30.])
    >>> by_values, by_default = sparse_to_dense_mask_grad(np.array([7, 7, 5]), np.zeros(3), grad, mask=[4, 7, 9])
    >>> by_values, by_default.item()
    (array([ 0., 20.,  0.]), 40.0)
    """
    ids, mask = mask_ids(ids), check_mask(mask)
    check_values_of(values, ids, "values", "the gradient", floating=True)
    check_gradient(grad, mask_shape(ids, mask, values.shape[1:]))
    offsets, flat = mask_offsets(ids), check_vector(values_of(ids), "ids")
    left = np.array(grad, np.float64).reshape(len(offsets) - 1, len(mask), *values.shape[1:])
    by_values = np.zeros(values.shape, np.float64)
    for (row, column), i in last_of_mask(offsets, flat, mask).items():
        by_values[i] = left[row, column]
        left[row, column] = 0
    dtype = native(values.dtype)
    return by_values.astype(dtype), np.asarray(left.sum(axis=(0, 1)).astype(dtype))


@sparse_to_dense_mask_grad.infer_rule
def _(ids, values, grad, *, mask):
    return values, values.but(dims=values.dims[1:])


@sparse_to_dense.example
def _(dtype):
    return [((np.array([0, 2, 2]), np.ones((3, 4), dtype)), {})]


@sparse_to_dense_mask.example
def _(dtype):
    ids = LoDTensor(np.array([0, 2, 1]), [[2, 1]])
    return [((ids, np.ones((3, 4), dtype), np.zeros(4, dtype)), {"mask": [1, 2]})]
