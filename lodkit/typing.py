"""Types of what operators take and give, for annotations in code that uses lodkit.

They cost nothing at run time and need no library but NumPy: an array of CuPy, PyTorch or Numba is known by its attribute
``__cuda_array_interface__``, which PyTorch declares for tensors of every device.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from .lod import LoDTensor, SelectedRows

__all__ = ["Array", "ArrayLike", "DenseLike", "DeviceArray", "Integer", "Number", "Scalar", "Value"]


class DeviceArray(Protocol):
    """An array of another library: CuPy's, PyTorch's, on the CPU too, or Numba's CUDA arrays."""

    @property
    def __cuda_array_interface__(self) -> Any: ...


#: A NumPy array of any dtype and shape.
Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
#: What becomes a NumPy array: arrays, numbers and (nested) lists of numbers.
ArrayLike: TypeAlias = Array | np.generic | float | list[Any] | tuple[Any, ...]
#: What an operator takes for an input of the kind ``Dense``.
DenseLike: TypeAlias = ArrayLike | DeviceArray
#: Numbers of Python and NumPy, as attributes.
Number: TypeAlias = float | np.floating[Any] | np.integer[Any]
Integer: TypeAlias = int | np.integer[Any]
#: A number, or an array of one element (a learning rate).
Scalar: TypeAlias = Number | Array
#: What operators compute with.
Value: TypeAlias = Array | DeviceArray | LoDTensor | SelectedRows

#: The library of an operator's arrays: results are of the type of the inputs.
A = TypeVar("A", bound=DeviceArray)
