"""PackedRows: rows of a table in few bits, which know how many."""

from __future__ import annotations

from typing import Any, Literal, NoReturn, Self

import numpy as np

from ..arrays import to_device
from ..base.errors import DTypeError, ShapeMismatchError
from ..base.loading import public
from .lod_tensor import LoDTensor

Bits = Literal[8, 4, 2]
#: The type of a row's scale and bias, by bits.
PARAMS: dict[int, np.dtype[Any]] = {8: np.dtype(np.float32), 4: np.dtype(np.float16), 2: np.dtype(np.float16)}
PARAMS_BYTES = {bits: 2 * kind.itemsize for bits, kind in PARAMS.items()}
_BYTES = np.dtype(np.uint8)


def are_packed(rows, bits):
    """Whether an array is a matrix of packed rows, in known bits."""
    shape = rows.shape
    return bits is not None and rows.dtype is _BYTES and len(shape) == 2 and shape[1] >= PARAMS_BYTES[bits]


def check_packed(rows, bits, name="rows"):
    """Check packed rows. Returns the number of columns that they hold, and their bits."""
    if bits is None:
        raise TypeError(
            f"{name} is an array of bytes, which does not tell in how many bits it is packed; pass bits=8, 4 or 2, or "
            f"PackedRows({name}, bits=...)"
        )
    if rows.dtype is not _BYTES and rows.dtype != np.uint8:
        raise DTypeError(f"{name} must be packed rows of uint8, not {rows.dtype}; make them with quantize_rows")
    return check_packed_dims(rows.shape, bits, name), bits


def check_packed_dims(dims, bits, name="rows"):
    """Check the shape of packed rows, whose sizes are -1 where they are unknown. Returns the number of columns."""
    params = PARAMS_BYTES[bits]
    if len(dims) < 2 or 0 <= dims[-1] < params:
        raise ShapeMismatchError(
            f"{name} has shape {tuple(dims)}; a packed row of {bits} bits ends with {params} bytes of scale and bias"
        )
    return -1 if dims[-1] < 0 else packed_columns(dims[-1], bits)


def packed_columns(size, bits):
    """Columns of a packed row of so many bytes."""
    return (size - PARAMS_BYTES[bits]) * 8 // bits


@public
class PackedRows:
    """Rows of 8-, 4- or 2-bit codes, each followed by its scale and bias: what ``quantize_rows`` returns.

    Operators that read them do it in the bits in which they are packed, and refuse others.

    Parameters
    ----------
    values : uint8 array of shape (rows, bytes), or of more axes, or LoDTensor of such
        Rows in the fused formats of Caffe2 and FBGEMM, as they are; not copied.
    bits : {8, 4, 2}

    Raises
    ------
    DTypeError
        The values are no bytes.
    ShapeMismatchError
        The rows have no room for a scale and a bias.

    Examples
    --------
    >>> import numpy as np, lodkit
    >>> rows = lodkit.quantize_rows(np.array([[0.0, 1.0, 2.0, 3.0]]), bits=2)
    >>> rows
    PackedRows(1 row of 4 columns in 2 bits)
    >>> lodkit.PackedRows(rows.values, bits=2)[:1].columns
    4
    """

    __slots__ = ("_bits", "_values")

    def __init__(self, values: Any, bits: Bits) -> None:
        if bits not in PARAMS:
            raise ValueError(f"bits must be one of 8, 4, 2, got {bits!r:.80}")
        if isinstance(values, list | tuple):
            values = np.asarray(values, np.uint8)
        dtype = getattr(values, "dtype", None)
        if dtype != np.uint8 and str(dtype) != "torch.uint8":
            kind = type(values).__name__ if dtype is None else dtype
            raise DTypeError(f"values must be bytes, an array of uint8, not {kind}; make them with quantize_rows")
        check_packed_dims(tuple(values.shape), bits, "values")
        self._values, self._bits = values, int(bits)

    @classmethod
    def _wrap(cls, values, bits):
        """Make packed rows unchecked, of what a kernel has packed."""
        self = object.__new__(cls)
        self._values, self._bits = values, bits
        return self

    @property
    def values(self) -> Any:
        """The bytes, as they were given."""
        return self._values

    @property
    def bits(self) -> int:
        """The bits of a code."""
        return self._bits

    @property
    def columns(self) -> int:
        """The numbers of a row."""
        return check_packed_dims(tuple(self._values.shape), self._bits)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the table that is packed."""
        return (*tuple(self._values.shape)[:-1], self.columns)

    @property
    def nbytes(self) -> int:
        """The size of the bytes."""
        return int(self._values.nbytes)

    def to(self, device: Literal["cpu", "cuda"]) -> Self:
        """Return the rows on a device."""
        values = self._values
        moved = values.to(device) if isinstance(values, LoDTensor) else to_device(values, device)
        return type(self)(moved, self.bits)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, rows: Any) -> Self:
        """Return some of the rows: a slice, a mask or an array of their numbers."""
        if isinstance(rows, tuple | int | np.integer) or rows is None or rows is Ellipsis:
            raise TypeError("packed rows are taken by a slice, a mask or an array of row numbers: rows[2:3], rows[[2]]")
        return type(self)(self._values[rows], self.bits)  # type: ignore[arg-type]

    def __reduce__(self):
        return PackedRows, (self._values, self._bits)

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            "PackedRows are no numbers: lodkit.dequantize_rows(rows) unpacks them, and rows.values are their bytes"
        )

    def __repr__(self) -> str:
        rows = self._values.shape[0]
        return f"PackedRows({rows} row{'s' * (rows != 1)} of {self.columns} columns in {self.bits} bits)"
