"""DLPack: a LoDTensor without levels is an array to other libraries."""

from __future__ import annotations

import sys

import numpy as np

from ..arrays.recorded import refuse
from ..arrays.tensors import check_storage, is_tensor, tensor_of
from ..arrays.types import Array, Values
from ..base.bfloat16 import is_bfloat16


class Exchange:
    """``__dlpack__`` and ``__dlpack_device__``: ``np.from_dlpack(t)`` and ``torch.from_dlpack(t)`` share the values."""

    __slots__ = ()
    _lod: tuple[Array, ...]
    _values: Values

    def __dlpack__(self, **options):
        values = self._export_values()
        try:
            return values.__dlpack__(**options)
        except BufferError as error:
            if isinstance(values, np.ndarray) and not values.flags.writeable:
                raise BufferError(
                    "the values are read-only, which only takers of DLPack 1.0 and later are told; pass t.values.copy()"
                ) from error
            raise

    def __dlpack_device__(self):
        return self._export_values().__dlpack_device__()

    def _export_values(self):
        """The values, if there is no structure that would be lost."""
        if self._lod:
            raise BufferError(
                f"DLPack carries arrays, and this LoDTensor has lod_level {len(self._lod)}; pass t.values (all rows) "
                "or t.to_padded(); t.to_torch() and t.to_awkward() keep its sequences"
            )
        values = refuse(self._values, "DLPack")
        if not hasattr(values, "__dlpack__"):
            raise BufferError(f"{type(values).__name__} has no DLPack; pass t.to('cpu')")
        if is_tensor(values):
            check_storage(values, "values")
        if isinstance(values, np.ndarray) and is_bfloat16(values.dtype):
            # NumPy exports no bfloat16, a tensor over the same memory does.
            if "torch" not in sys.modules:
                raise BufferError(
                    "NumPy exports no bfloat16 by DLPack; import torch first, or pass t.astype('float32')"
                )
            return tensor_of(values)
        return values
