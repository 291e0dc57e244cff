"""PackedRows: rows of a table in few bits or in float8, which know their format."""

from __future__ import annotations

import sys
from typing import Any, Literal, NoReturn, Self

import numpy as np

from ..arrays import check_values, device_of, dtype_of, holds_rows, is_number, to_device
from ..base.errors import DTypeError, ShapeMismatchError
from ..base.float8 import FLOAT8, float8_of
from ..base.loading import public
from .lod_tensor import LoDTensor

Bits = Literal[8, 4, 2, "float8_e4m3fn", "float8_e5m2"]
#: The type of a row's scale and bias, by bits.
PARAMS: dict[Any, np.dtype[Any]] = {8: np.dtype(np.float32), 4: np.dtype(np.float16), 2: np.dtype(np.float16)}
#: The bytes of scale and bias behind the codes of a row; the scale of float8 is an array of its own.
PARAMS_BYTES = {bits: 2 * kind.itemsize for bits, kind in PARAMS.items()} | dict.fromkeys(FLOAT8, 0)
CODE_BITS: dict[Any, int] = {8: 8, 4: 4, 2: 2} | dict.fromkeys(FLOAT8, 8)
CHOICES = "8, 4, 2, 'float8_e4m3fn' or 'float8_e5m2'"
_BYTES = np.dtype(np.uint8)


def are_packed(rows, bits):
    """Whether an array is a matrix of packed rows, in known bits."""
    shape = rows.shape
    return bits is not None and rows.dtype is _BYTES and len(shape) == 2 and shape[1] >= PARAMS_BYTES[bits]


def check_packed(rows, bits, name="rows"):
    """Check packed rows. Returns the number of columns that they hold, and their bits."""
    if bits is None:
        raise TypeError(
            f"{name} is an array of bytes, which does not tell in how many bits it is packed; pass bits={CHOICES}, or "
            f"PackedRows({name}, bits=...)"
        )
    if rows.dtype is not _BYTES and rows.dtype != np.uint8:
        raise DTypeError(f"{name} must be packed rows of uint8, not {rows.dtype}; make them with quantize_rows")
    return check_packed_dims(rows.shape, bits, name), bits


def check_packed_dims(dims, bits, name="rows"):
    """Check the shape of packed rows, whose sizes are -1 where they are unknown. Returns the number of columns."""
    params = PARAMS_BYTES[bits]
    if len(dims) < 2 and bits in FLOAT8:
        raise ShapeMismatchError(f"{name} has shape {tuple(dims)}; pass rows of a table, of shape (rows, columns)")
    if len(dims) < 2 or 0 <= dims[-1] < params:
        raise ShapeMismatchError(
            f"{name} has shape {tuple(dims)}; a packed row of {bits} bits ends with {params} bytes of scale and bias"
        )
    return -1 if dims[-1] < 0 else packed_columns(dims[-1], bits)


def packed_columns(size, bits):
    """Columns of a packed row of so many bytes."""
    return (size - PARAMS_BYTES[bits]) * 8 // CODE_BITS[bits]


def check_scale(scale, rows_shape, bits):
    """Check the scale of rows, None or an array; ``rows_shape`` is that of the table without its columns."""
    if scale is None:
        return
    if bits not in FLOAT8:
        raise ValueError(f"scale is for float8; rows of {bits} bits have scale and bias in their bytes, leave it out")
    shape, rows_shape = tuple(scale.shape), tuple(rows_shape)
    if shape not in (rows_shape, (*rows_shape, 1)) and any(size != 1 for size in shape):
        raise ShapeMismatchError(
            f"scale has shape {shape}; pass one number for the table, or one for each row, of shape {rows_shape}"
        )


def bytes_of_float8(values, bits):
    """Return values, those in float8 as their bytes over the same memory, and their bits, which these tell."""
    if isinstance(values, LoDTensor):
        rows, bits = bytes_of_float8(values.values, bits)
        return (values if rows is values.values else values.with_values(rows)), bits
    name = float8_of(getattr(values, "dtype", None))
    if name is None:
        return values, bits
    if bits not in (None, name):
        raise ValueError(f"values are of {name}, and bits={bits!r:.80}; leave bits out")
    kind = np.uint8 if isinstance(values.dtype, np.dtype) else sys.modules["torch"].uint8
    return values.view(kind), name


@public
class PackedRows:
    """A compressed table: what ``quantize_rows`` returns, or an array in float8.

    Rows of 8-, 4- or 2-bit codes are each followed by a scale and a bias. Rows of float8 have one scale each, one scale
    for all, or none. Operators read the rows in the format in which they are packed, and refuse another one.

    Parameters
    ----------
    values : array of shape (rows, bytes), or of more axes, or LoDTensor of such
        uint8: rows in the fused formats of Caffe2 and FBGEMM, or the bytes of float8. Or an array of
        ``ml_dtypes.float8_e4m3fn`` or ``float8_e5m2``, or a tensor of ``torch.float8_e4m3fn`` or ``float8_e5m2``.
        Shared, not copied.
    bits : {8, 4, 2, "float8_e4m3fn", "float8_e5m2"}
        Needed for uint8; arrays in float8 tell it.
    scale : number, or array of one number or of one for each row, optional
        The scale of float8, 1 by default: a number of the table is ``scale * float8``.

    Raises
    ------
    DTypeError
        The values are no bytes, or the scale is an array of integers.
    ShapeMismatchError
        The rows have no room for a scale and a bias, or the scale fits neither the table nor its rows.

    Examples
    --------
    >>> import numpy as np, lodkit
    >>> rows = lodkit.quantize_rows(np.array([[0.0, 1.0, 2.0, 3.0]]), bits=2)
    >>> rows
    PackedRows(1 row of 4 columns in 2 bits)
    >>> lodkit.PackedRows(rows.values, bits=2)[:1].columns
    4
    >>> table = lodkit.PackedRows(np.array([[0x38, 0x40]], np.uint8), bits="float8_e4m3fn", scale=0.5)
    >>> lodkit.dequantize_rows(table)
    array([[0.5, 1. ]], dtype=float32)
    """

    __slots__ = ("_bits", "_scale", "_values")

    def __init__(self, values: Any, bits: Bits | None = None, scale: Any = None) -> None:
        if isinstance(values, list | tuple):
            values = np.asarray(values, np.uint8)
        values, bits = bytes_of_float8(values, float8_of(bits) or bits)
        dtype = getattr(values, "dtype", None)
        if dtype != np.uint8 and str(dtype) != "torch.uint8":
            kind = type(values).__name__ if dtype is None else dtype
            raise DTypeError(
                f"values must be bytes, an array of uint8, or float8_e4m3fn or float8_e5m2, not {kind}; make them "
                "with quantize_rows"
            )
        if bits is None:
            raise TypeError(f"values are bytes, which do not tell their format; pass bits={CHOICES}")
        if not isinstance(bits, int | str | np.integer) or bits not in CODE_BITS:
            raise ValueError(f"bits must be one of {CHOICES}, got {bits!r:.80}")
        shape = tuple(values.shape)
        check_packed_dims(shape, bits, "values")
        if is_number(scale) or isinstance(scale, list | tuple):
            numbers = values.values if isinstance(values, LoDTensor) else values
            scale = np.asarray(scale, np.float32).reshape(np.shape(scale) or (1,))
            scale = to_device(scale, device_of(numbers))
        elif scale is not None and not holds_rows(scale):
            raise TypeError(f"scale must be a number or an array of numbers, got {type(scale).__name__}")
        elif scale is not None:
            check_values(dtype_of(scale), "scale", floating=True, bfloat16=True)
        check_scale(scale, shape[:-1], bits)
        self._values, self._bits, self._scale = values, bits if bits in FLOAT8 else int(bits), scale

    @classmethod
    def _wrap(cls, values, bits, scale=None):
        """Make packed rows unchecked, of what a kernel has packed."""
        self = object.__new__(cls)
        self._values, self._bits, self._scale = values, bits, scale
        return self

    @property
    def values(self) -> Any:
        """The bytes, as they were given."""
        return self._values

    @property
    def bits(self) -> Any:
        """The bits of a code, or the name of the format of float8."""
        return self._bits

    @property
    def scale(self) -> Any:
        """The scale of the table or of each row, as it was given; None of none, and where rows hold their own."""
        return self._scale

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
        """The size of the bytes and of the scale."""
        return int(self._values.nbytes) + (0 if self._scale is None else int(self._scale.nbytes))

    def to(self, device: Literal["cpu", "cuda"]) -> Self:
        """Return the rows on a device."""
        values = self._values
        moved = values.to(device) if isinstance(values, LoDTensor) else to_device(values, device)
        return type(self)(moved, self.bits, None if self._scale is None else to_device(self._scale, device))

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, rows: Any) -> Self:
        """Return some of the rows: a slice, a mask or an array of their numbers."""
        if isinstance(rows, tuple | int | np.integer) or rows is None or rows is Ellipsis:
            raise TypeError("packed rows are taken by a slice, a mask or an array of row numbers: rows[2:3], rows[[2]]")
        values, scale = self._values, self._scale
        if scale is not None and any(size != 1 for size in scale.shape):
            # A LoDTensor is indexed by sequences.
            scale = values.with_values(scale)[rows].values if isinstance(values, LoDTensor) else scale[rows]
        return type(self)(values[rows], self.bits, scale)

    def __reduce__(self):
        return PackedRows, (self._values, self._bits, self._scale)

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            "PackedRows are no numbers: lodkit.dequantize_rows(rows) unpacks them, and rows.values are their bytes"
        )

    def __repr__(self) -> str:
        rows = self._values.shape[0]
        form = self._bits if self._bits in FLOAT8 else f"{self._bits} bits"
        return f"PackedRows({rows} row{'s' * (rows != 1)} of {self.columns} columns in {form})"
