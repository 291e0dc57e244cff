"""LoDTensors of ids from and to SciPy sparse arrays, one row per sequence."""

from __future__ import annotations

import numpy as np

from ..arrays import array_of, check_values, is_cpu_tensor, upcast
from ..base.errors import ShapeMismatchError
from ..kernels.cpu.primitives import device as cpu
from ..lod import LoDTensor, SelectedRows, check_bag
from ..lod.indexing import require_cpu
from ..ops.shared.columns import check_values_of, checked_columns


def to_scipy(ids, scores, num_columns, format):
    """``LoDTensor.to_scipy``."""
    from scipy import sparse

    if format not in ("csr", "coo"):
        raise ValueError(f"format must be 'csr' or 'coo', got {format!r}")
    ids = check_bag(ids, "to_scipy")
    ids, scores = _to_arrays(ids, "ids"), _to_arrays(scores, "scores")
    require_cpu(ids._need_values(), "to_scipy")
    scores = np.ones(len(ids.values), np.float32) if scores is None else scores
    scores = check_values_of(np.asarray(scores) if isinstance(scores, list) else scores, ids, "scores", "to_scipy")
    require_cpu(scores, "to_scipy")
    if scores.ndim != 1:
        raise ShapeMismatchError(f"scores have shape {scores.shape}; a SciPy matrix holds one number per id")
    flat, columns = checked_columns(cpu, ids.values, num_columns, "ids", "num_columns")
    parts = _sum_duplicates(ids._row_offsets(), flat, columns, upcast(scores))
    return sparse.csr_array(parts, shape=(len(ids._row_offsets()) - 1, columns)).asformat(format)


def _to_arrays(x, name):
    """A tensor of PyTorch's as an array, also in a LoDTensor."""
    if isinstance(x, LoDTensor):
        return x._like(_to_arrays(x.values, name))
    return array_of(x, name) if is_cpu_tensor(x) else x


def from_scipy(kind, matrix):
    """``LoDTensor.from_scipy``: ``kind`` is LoDTensor."""
    if not hasattr(matrix, "tocsr"):
        raise TypeError(f"from_scipy takes a SciPy sparse matrix, got {type(matrix).__name__}")
    if len(matrix.shape) != 2:
        raise ValueError(f"from_scipy takes a matrix, got shape {matrix.shape}")
    check_values(matrix.dtype, "from_scipy")
    if matrix.format == "coo":
        rows = checked_columns(cpu, matrix.row, matrix.shape[0], "matrix.row", "matrix.shape[0]")[0]
        where = kind.from_segment_ids(np.arange(len(rows)), rows, matrix.shape[0])
        columns = checked_columns(cpu, matrix.col[where.values], matrix.shape[1], "matrix.col", "matrix.shape[1]")[0]
        data, columns, offsets = _sum_duplicates(where.offsets(), columns, matrix.shape[1], matrix.data[where.values])
    else:
        csr = matrix.tocsr()
        columns, data, offsets = csr.indices, csr.data, csr.indptr
    columns, _ = checked_columns(cpu, columns, matrix.shape[1], "the matrix's columns", "matrix.shape[1]")
    ids = kind.from_offsets(columns, offsets)
    return ids, ids.with_values(data)


def _sum_duplicates(offsets, columns, width, scores):
    """Return values, columns and offsets of CSR, sorted, duplicates summed; SciPy would sum in the scores' dtype."""
    distinct = None
    # Cell numbers would overflow int64.
    if (len(offsets) - 1) * width >= 1 << 63:
        distinct, columns = np.unique(columns, return_inverse=True)
        width = len(distinct)
    cells = cpu.cells_of(offsets, columns, width)
    merged = SelectedRows._wrap(cells, scores, (len(offsets) - 1) * width).merge()
    starts = np.searchsorted(merged._rows, np.arange(len(offsets)) * width)
    columns = merged._rows % max(width, 1)
    return merged.value, columns if distinct is None else distinct[columns], starts
