"""LoDTensors of ids as sparse matrices, with a row for every sequence: dense ones, and SciPy's."""

from __future__ import annotations

import typing

import numpy as np

from ._indexing import require_cpu
from .arrays import check_values, wide
from .errors import ShapeMismatchError


class SparseMatrices:
    """To and from the matrix whose columns the ids are."""

    __slots__ = ()

    def to_sparse_matrix(self, scores=None, num_columns=None):
        """Return the dense matrix with the scores of every sequence in the columns of its ids: ``sparse_matrix``.

        Parameters
        ----------
        scores : LoDTensor of the same structure, or array, optional
            Those of the same id in one sequence add up; without any the matrix counts ids.
        num_columns : int, optional
            The largest id + 1 by default.
        """
        from .ops import sparse_matrix

        return sparse_matrix(self, scores, num_columns=num_columns)

    @classmethod
    def from_sparse_matrix(cls, dense):
        """Return ids and scores of a matrix: two LoDTensors of one structure, of what is not zero.

        Examples
        --------
        >>> from lodkit import LoDTensor
        >>> ids, scores = LoDTensor.from_sparse_matrix(np.array([[0, 0.4, 0, 0.7], [0, 0, 0.5, 0]]))
        >>> ids.to_list(), scores.to_list()
        ([[1, 3], [2]], [[0.4, 0.7], [0.5]])
        """
        from .ops import batch_dense_to_sparse, dense_to_id_lists

        ids = dense_to_id_lists(dense)
        return ids, batch_dense_to_sparse(ids, dense)

    def to_scipy(self, scores=None, num_columns=None, *, format: typing.Literal["csr", "coo"] = "csr"):
        """Return a sparse array of SciPy, a row for every innermost sequence: what ``to_sparse_matrix`` is dense.

        Parameters
        ----------
        scores : LoDTensor of the same structure, or array, optional
            Those of the same id in one sequence add up; 1, float32, by default. float16 becomes float32.
        num_columns : int, optional
            The largest id + 1 by default.
        format : {"csr", "coo"}
        """
        from scipy import sparse

        from .cpu._cells import checked_columns
        from .ops._columns import check_values_of
        from .ops.embedding import check_bag

        if format not in ("csr", "coo"):
            raise ValueError(f"format must be 'csr' or 'coo', got {format!r}")
        ids = check_bag(self, "to_scipy")
        require_cpu(ids._need_values(), "to_scipy")
        scores = np.ones(len(ids.values), np.float32) if scores is None else scores
        scores = check_values_of(np.asarray(scores) if isinstance(scores, list) else scores, ids, "scores", "to_scipy")
        require_cpu(scores, "to_scipy")
        if scores.ndim != 1:
            raise ShapeMismatchError(f"scores have shape {scores.shape}; a matrix of SciPy holds one number an id")
        flat, columns = checked_columns(ids.values, num_columns, "ids", "num_columns")
        parts = _summed(ids.row_offsets(), flat, columns, wide(scores))
        return sparse.csr_array(parts, shape=(len(ids.row_offsets()) - 1, columns)).asformat(format)

    @classmethod
    def from_scipy(cls, matrix):
        """Return ids and scores of a sparse matrix of SciPy: two LoDTensors of one structure.

        Order and duplicates stay as a CSR matrix has them, and so do zeros that it holds; other formats become CSR, and
        the duplicates of a COO matrix add up.

        Raises
        ------
        RowIndexError
            The matrix names a column, or a row, that it has not.

        Examples
        --------
        >>> ids, scores = LoDTensor.from_scipy(scipy.sparse.csr_array([[0, 4, 0], [1, 0, 2]]))  # doctest: +SKIP
        >>> ids.to_list(), scores.to_list()  # doctest: +SKIP
        ([[1], [0, 2]], [[4], [1, 2]])
        """
        from .cpu._cells import checked_columns

        if not hasattr(matrix, "tocsr"):
            raise TypeError(f"from_scipy takes a sparse matrix of SciPy, got {type(matrix).__name__}")
        if len(matrix.shape) != 2:
            raise ValueError(f"from_scipy takes a matrix, got shape {matrix.shape}")
        check_values(matrix.dtype, "from_scipy")
        if matrix.format == "coo":
            rows = checked_columns(matrix.row, matrix.shape[0], "matrix.row", "matrix.shape[0]")[0]
            where = cls.from_segment_ids(np.arange(len(rows)), rows, matrix.shape[0])
            columns = checked_columns(matrix.col[where.values], matrix.shape[1], "matrix.col", "matrix.shape[1]")[0]
            data, columns, offsets = _summed(where.offsets(), columns, matrix.shape[1], matrix.data[where.values])
        else:
            csr = matrix.tocsr()
            columns, data, offsets = csr.indices, csr.data, csr.indptr
        columns, _ = checked_columns(columns, matrix.shape[1], "the matrix's columns", "matrix.shape[1]")
        ids = cls.from_offsets(columns, offsets)
        return ids, ids.with_values(data)


def _summed(offsets, columns, width, scores):
    """Numbers, columns and offsets of a CSR matrix, sorted, each cell once: SciPy would add up in the scores' type."""
    from .cpu._cells import cells_of
    from .selected_rows import SelectedRows

    names = None
    if (len(offsets) - 1) * width >= 1 << 63:  # too many cells to be numbered
        names, columns = np.unique(columns, return_inverse=True)
        width = len(names)
    cells = cells_of(offsets, columns, width)
    merged = SelectedRows._wrap(cells, scores, (len(offsets) - 1) * width).merge()
    starts = np.searchsorted(merged.rows, np.arange(len(offsets)) * width)
    columns = merged.rows % max(width, 1)
    return merged.value, columns if names is None else names[columns], starts
