"""Sparse rows and features to and from dense arrays; one-hot and multi-hot rows."""

from __future__ import annotations

from .. import ops
from ..arrays import dtype_of, is_array
from ..base.errors import ShapeMismatchError
from ..lod import SelectedRows
from ._common import array, height, int32, lod_tensor, number


def sparse_to_dense(indices, values, like=None, *, output_first_dim=0):
    rows = output_first_dim or (None if like is None else height(like, "like"))
    return ops.sparse_to_dense(indices, values, num_rows=rows)


def sparse_to_dense_mask(
    indices, values, default, lengths=None, *, mask, return_presence_mask=False, max_skipped_indices=50
):
    ids = indices if lengths is None else lod_tensor(indices, lengths)
    found = ops.sparse_to_dense_mask(ids, values, default, mask=mask, max_skipped=max_skipped_indices)
    return found if return_presence_mask else found[0]


def batch_sparse_to_dense(lengths, indices, values, like=None, *, dense_last_dim=-1, default_value=0.0):
    columns = dense_last_dim if dense_last_dim > 0 else None
    if like is not None:
        if len(array(like).shape) < 2:
            raise ShapeMismatchError("BatchSparseToDense: like has no columns; pass an array of the result's shape")
        columns = array(like).shape[1]
    return ops.batch_sparse_to_dense(lod_tensor(indices, lengths), values, num_columns=columns, pad_value=default_value)


def batch_dense_to_sparse(lengths, indices, dense):
    return ops.batch_dense_to_sparse(lod_tensor(indices, lengths), dense).values


def dense_vector_to_id_list(dense):
    ids = ops.dense_to_id_lists(dense)
    return int32(ids.lengths()), int32(ids.values, below=array(dense).shape[1])


def segment_one_hot(lengths, indices, index_size):
    return ops.segment_one_hot(lod_tensor(indices, lengths), size=number(index_size, "index_size"))


def ensure_dense(input):
    """EnsureDense of Caffe2: the identity, with a dense gradient."""
    if isinstance(input, SelectedRows):
        return ops.selected_rows_to_dense(input)
    kind = dtype_of(input) if is_array(input) else None
    return ops.sum(input) if kind is None or kind.kind != "f" else ops.cast(input, dtype=kind.name)


OPERATORS = {
    "BatchDenseToSparse": batch_dense_to_sparse,
    "BatchSparseToDense": batch_sparse_to_dense,
    "DenseVectorToIdList": dense_vector_to_id_list,
    "EnsureDense": ensure_dense,
    "OneHot": lambda indices, index_size: ops.one_hot(indices, size=number(index_size, "index_size")),
    "SegmentOneHot": segment_one_hot,
    "SparseToDense": sparse_to_dense,
    "SparseToDenseMask": sparse_to_dense_mask,
}
