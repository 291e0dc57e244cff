"""SelectedRows from and to the sparse COO formats of PyTorch and SciPy; values are shared, rows checked and copied."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import array_of, check_values, is_cpu_tensor, tensor_of
from ..arrays.recorded import plain_view
from ..arrays.tensors import check_storage
from ..base.errors import DTypeError, ShapeMismatchError
from ..lod.indexing import require_cpu


def to_torch(x):
    """``SelectedRows.to_torch``."""
    import torch

    value = x._whole()
    rows = torch.from_numpy(x._rows.copy()) if isinstance(x._rows, np.ndarray) else torch.as_tensor(x._rows).clone()
    value = tensor_of(value) if isinstance(value, np.ndarray) else torch.as_tensor(value)
    return torch.sparse_coo_tensor(
        rows[None], value, tuple(x.shape), is_coalesced=True if x.is_merged else None, check_invariants=False
    )


def from_torch(kind, tensor):
    """``SelectedRows.from_torch``: ``kind`` is SelectedRows."""
    import torch

    if not isinstance(tensor, torch.Tensor):
        raise TypeError(
            f"from_torch takes a sparse COO tensor, got {type(tensor).__name__}; make SelectedRows(rows, value, height)"
        )
    if tensor.layout is not torch.sparse_coo:
        # Compressed tensors would give 2 sparse dimensions.
        first = "" if tensor.layout is torch.strided else ".to_dense()"
        raise TypeError(f"from_torch takes a sparse COO tensor, got {tensor.layout}; call {first}.to_sparse(1)")
    if tensor.sparse_dim() != 1:
        raise ShapeMismatchError(f"the tensor has {tensor.sparse_dim()} sparse dimensions, not 1; call .to_sparse(1)")
    if tensor.requires_grad:
        raise TypeError("the tensor requires grad; pass tensor.detach()")
    # Public names refuse tensors that are not coalesced.
    rows, value = tensor._indices(), tensor._values()
    check_storage(rows, "the indices of the tensor")
    made = kind(rows[0], value, tensor.shape[0])
    # PyTorch takes the word of who made the tensor.
    if tensor.is_coalesced() and tensor.is_cpu and (np.diff(made._rows) > 0).all():
        made = kind._wrap(made._rows, made._value, made.height, merged=True)
    return made


def to_scipy(x):
    """``SelectedRows.to_scipy``."""
    from scipy import sparse

    x._whole()
    if is_cpu_tensor(x._value):
        x = x._with_value(array_of(x._value, "value"))
    require_cpu(x._value, "to_scipy")
    if x.dtype == np.float16:
        raise DTypeError("SciPy has no sparse float16; convert with lodkit.cast(x, dtype='float32')")
    columns = math.prod(x.shape[1:])
    where = np.repeat(x._rows, columns), np.tile(np.arange(columns), len(x._rows))
    return sparse.coo_array((plain_view(x._value).reshape(-1), where), shape=(x.height, columns))


def from_scipy(kind, matrix):
    """``SelectedRows.from_scipy``: ``kind`` is SelectedRows."""
    if not hasattr(matrix, "tocoo") or len(matrix.shape) != 2:
        raise TypeError(f"from_scipy takes a SciPy sparse matrix, got {type(matrix).__name__}")
    coo, (height, columns) = matrix.tocoo(copy=False), matrix.shape
    check_values(coo.dtype, "from_scipy")
    first = coo.row[:: max(columns, 1)]
    if len(coo.data) == len(first) * columns:
        whole = np.array_equal(coo.row, np.repeat(first, columns))
        if whole and np.array_equal(coo.col, np.tile(np.arange(columns), len(first))):
            return kind(first, coo.data.reshape(len(first), columns), height)
    elements = kind(coo.row.astype(np.int64) * columns + coo.col, coo.data, height * columns).merge()
    rows, at = np.unique(elements._rows // max(columns, 1), return_inverse=True)
    value = np.zeros((len(rows), columns), coo.dtype)
    value[at, elements._rows % max(columns, 1)] = elements._value
    return kind._wrap(rows, value, height, merged=True)
