"""Types of arrays and numbers, for annotations; ``lodkit.typing`` has them all.

An array of CuPy, PyTorch or Numba is known by its attribute ``__cuda_array_interface__``, which PyTorch declares for
tensors of every device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike as DTypeLike
else:
    DTypeLike = Any  # the module takes a while to import


class DeviceArray(Protocol):
    """An array of another library: CuPy's, PyTorch's (on the CPU too), or Numba's on a GPU."""

    @property
    def __cuda_array_interface__(self) -> Any: ...


#: A NumPy array of any dtype and shape.
Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
#: What becomes a NumPy array: arrays, numbers and (nested) lists of numbers.
ArrayLike: TypeAlias = Array | np.generic | float | list[Any] | tuple[Any, ...]
#: What an operator takes for an input of the kind ``Dense``.
DenseLike: TypeAlias = ArrayLike | DeviceArray
#: Values of a LoDTensor or SelectedRows: NumPy's as a rule; a checker takes them for any other library's too.
Values: TypeAlias = Array | Any
#: Numbers of Python and NumPy, as attributes.
Number: TypeAlias = float | np.floating[Any] | np.integer[Any]
Integer: TypeAlias = int | np.integer[Any]
#: What fills padding and results for empty sequences: one of the values' numbers or times.
PadValue: TypeAlias = Number | np.datetime64 | np.timedelta64
#: A number, or an array of one element (a learning rate).
Scalar: TypeAlias = Number | Array | DeviceArray
#: Lengths or offsets per level, outermost first.
Levels: TypeAlias = Sequence[ArrayLike] | Array
Device: TypeAlias = Literal["cpu", "cuda"]
