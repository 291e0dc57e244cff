"""LoDTensors of ids as sparse matrices, with a row for every sequence: the methods, computed above this room."""

from __future__ import annotations

import typing


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
        from ..ops import sparse_matrix

        return sparse_matrix(self, scores, num_columns=num_columns)

    @classmethod
    def from_sparse_matrix(cls, dense):
        """Return ids and scores of a matrix: two LoDTensors of one structure, of what is not zero.

        Examples
        --------
        >>> import numpy as np
        >>> from lodkit import LoDTensor
        >>> ids, scores = LoDTensor.from_sparse_matrix(np.array([[0, 0.4, 0, 0.7], [0, 0, 0.5, 0]]))
        >>> ids.to_list(), scores.to_list()
        ([[1, 3], [2]], [[0.4, 0.7], [0.5]])
        """
        from ..ops import batch_dense_to_sparse, dense_to_id_lists

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
        from ..interop.scipy import to_scipy

        return to_scipy(self, scores, num_columns, format)

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
        from ..interop.scipy import from_scipy

        return from_scipy(cls, matrix)
