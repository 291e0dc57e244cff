"""SelectedRows from and to sparse COO formats."""

from __future__ import annotations

from typing import Any, Self

from ..base.loading import module_above
from .exchange import Exchange


class Coordinates(Exchange):
    """Conversions to and from the sparse COO formats of PyTorch and SciPy."""

    __slots__ = ()

    def _export_values(self):
        raise BufferError(
            "DLPack carries one array, and SelectedRows are two; pass s.to_dense(), or s.rows and s.value; "
            "s.to_torch() shares them"
        )

    def to_torch(self) -> Any:
        """Return a sparse COO tensor of PyTorch, on the same device, which shares ``value``."""
        return module_above("interop.coo").to_torch(self)

    @classmethod
    def from_torch(cls, tensor: Any) -> Self:
        """Return SelectedRows of a sparse COO tensor with one sparse dimension; its values are shared, rows copied."""
        return module_above("interop.coo").from_torch(cls, tensor)

    def to_scipy(self) -> Any:
        """Return a SciPy ``coo_array`` with the elements of all entries, duplicates included; it shares ``value``.

        >>> from lodkit import SelectedRows
        >>> SelectedRows([2, 2], [[1., 2.], [3., 4.]], 3).to_scipy().toarray()
        array([[0., 0.],
               [0., 0.],
               [4., 6.]])
        """
        return module_above("interop.coo").to_scipy(self)

    @classmethod
    def from_scipy(cls, matrix: Any) -> Self:
        """Return SelectedRows of the rows in which a SciPy sparse matrix has elements.

        A COO matrix of whole rows, as ``to_scipy`` makes, shares its elements.
        """
        return module_above("interop.coo").from_scipy(cls, matrix)
