"""LoDTensors of ids as sparse matrices, one row per sequence."""

from __future__ import annotations

import typing
from typing import Self

from ..arrays.types import DenseLike, Integer, Values
from ..base.loading import module_above
from .large import needs_memory


class SparseMatrices:
    """Conversions to and from matrices whose columns are ids."""

    __slots__ = ()

    def to_sparse_matrix(self, scores: DenseLike | Self | None = None, num_columns: Integer | None = None) -> Values:
        """Return the dense matrix of scores, one row per sequence, one column per id: ``sparse_matrix``.

        Parameters
        ----------
        scores : LoDTensor of the same structure, or array, optional
            Scores of equal ids in a sequence are summed. Default: 1, which counts ids.
        num_columns : int, optional
            Default: the largest id + 1.
        """
        return module_above("ops").sparse_matrix(self, scores, num_columns=num_columns)

    @classmethod
    def from_sparse_matrix(cls, dense: DenseLike) -> tuple[Self, Self]:
        """Return ids and scores of the nonzeros of a matrix: two LoDTensors of one structure.

        Examples
        --------
        >>> import numpy as np
        >>> from lodkit import LoDTensor
        >>> ids, scores = LoDTensor.from_sparse_matrix(np.array([[0, 0.4, 0, 0.7], [0, 0, 0.5, 0]]))
        >>> ids.to_list(), scores.to_list()
        ([[1, 3], [2]], [[0.4, 0.7], [0.5]])
        """
        ids = module_above("ops").dense_to_id_lists(dense)
        return ids, module_above("ops").batch_dense_to_sparse(ids, dense)

    @needs_memory
    def to_scipy(
        self,
        scores: DenseLike | Self | None = None,
        num_columns: Integer | None = None,
        *,
        format: typing.Literal["csr", "coo"] = "csr",
    ) -> typing.Any:
        """Return a SciPy sparse array, one row per innermost sequence; ``to_sparse_matrix`` returns a dense one.

        Parameters
        ----------
        scores : LoDTensor of the same structure, or array, optional
            Scores of equal ids in a sequence are summed. Default: 1, float32. float16 becomes float32.
        num_columns : int, optional
            Default: the largest id + 1.
        format : {"csr", "coo"}
        """
        return module_above("interop.scipy").to_scipy(self, scores, num_columns, format)

    @classmethod
    def from_scipy(cls, matrix: typing.Any) -> tuple[Self, Self]:
        """Return ids and scores of a SciPy sparse matrix: two LoDTensors of one structure.

        CSR keeps its order, duplicates and explicit zeros; other formats are converted to CSR; duplicates of COO are
        summed.

        Raises
        ------
        RowIndexError
            A row or column index is out of range.

        Examples
        --------
        >>> ids, scores = LoDTensor.from_scipy(scipy.sparse.csr_array([[0, 4, 0], [1, 0, 2]]))  # doctest: +SKIP
        >>> ids.to_list(), scores.to_list()  # doctest: +SKIP
        ([[1], [0, 2]], [[4], [1, 2]])
        """
        return module_above("interop.scipy").from_scipy(cls, matrix)
