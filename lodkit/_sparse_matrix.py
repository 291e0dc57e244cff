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
        offsets = ids.row_offsets()
        # SciPy sorts and adds up in place, so the numbers are copies.
        matrix = sparse.csr_array((wide(scores), flat, offsets), shape=(len(offsets) - 1, columns), copy=True)
        matrix.sum_duplicates()
        return matrix.asformat(format)

    @classmethod
    def from_scipy(cls, matrix):
        """Return ids and scores of a sparse matrix of SciPy: two LoDTensors of one structure.

        The order and the duplicates of a CSR matrix stay, and so do zeros that it holds; other formats become CSR.

        Examples
        --------
        >>> ids, scores = LoDTensor.from_scipy(scipy.sparse.csr_array([[0, 4, 0], [1, 0, 2]]))  # doctest: +SKIP
        >>> ids.to_list(), scores.to_list()  # doctest: +SKIP
        ([[1], [0, 2]], [[4], [1, 2]])
        """
        if not hasattr(matrix, "tocsr"):
            raise TypeError(f"from_scipy takes a sparse matrix of SciPy, got {type(matrix).__name__}")
        if len(matrix.shape) != 2:
            raise ValueError(f"from_scipy takes a matrix, got shape {matrix.shape}")
        rows = matrix.tocsr()
        check_values(rows.dtype, "from_scipy")
        ids = cls.from_offsets(rows.indices.astype(np.int64), rows.indptr)
        return ids, ids.with_values(rows.data)
