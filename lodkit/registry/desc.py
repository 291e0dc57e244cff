"""Descriptions of values: input and output of ``infer``, and their protobuf wire form."""

from __future__ import annotations

import dataclasses
import enum
import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np

from ..arrays import (
    bfloat16_dtype,
    device_of,
    dtype_named,
    dtype_of,
    holds_rows,
    is_bfloat16,
    is_cpu_tensor,
    name_of_dtype,
    native,
)
from ..arrays.types import DTypeLike
from ..base.errors import LoDLevelError
from ..base.loading import public
from ..lod import LoDTensor, RankTable, SelectedRows
from .wire import BYTES, VARINT, DescError, message, number, numbers, put, read, text, to_signed

#: Paddle's DataType numbers.
DATA_TYPES = {
    "bool": 0,
    "int16": 1,
    "int32": 2,
    "int64": 3,
    "float16": 4,
    "float32": 5,
    "float64": 6,
    "uint8": 20,
    "int8": 21,
    "bfloat16": 22,
}
_NAMES = {code: name for name, code in DATA_TYPES.items()}


@public
class VarType(enum.IntEnum):
    """The kinds of variable in PaddlePaddle's messages; and two that Paddle's recurrence adds, without a wire form."""

    LOD_TENSOR = 0
    SELECTED_ROWS = 1
    LOD_RANK_TABLE = 12
    LOD_TENSOR_ARRAY = 13


@public
@dataclasses.dataclass(frozen=True)
class TensorDesc:
    """``message TensorDesc``: a data type and dims, -1 where one is unknown."""

    dtype: np.dtype[Any]
    dims: tuple[int, ...]

    if TYPE_CHECKING:

        def __init__(self, dtype: DTypeLike, dims: Iterable[int]) -> None: ...

    def __post_init__(self):
        dtype = dtype_named(self.dtype) if isinstance(self.dtype, str) else np.dtype(self.dtype)
        dtype = bfloat16_dtype() if is_bfloat16(dtype) else native(dtype)
        object.__setattr__(self, "dtype", dtype)
        object.__setattr__(self, "dims", tuple(operator.index(d) for d in self.dims))
        if not all(-1 <= d < 1 << 63 for d in self.dims):
            raise DescError(f"dims {self.dims} have an entry outside 0 .. 2^63 - 1 that is not -1 (unknown)")

    def to_bytes(self) -> bytes:
        """Serialise, byte for byte as protobuf does."""
        name = name_of_dtype(self.dtype)
        if name not in DATA_TYPES:
            raise DescError(f"{self.dtype} has no DataType number; there are {', '.join(DATA_TYPES)}")
        dims = b"".join(put(2, VARINT, d) for d in self.dims)
        return put(1, VARINT, DATA_TYPES[name]) + dims

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Parse a message."""
        found = read(data, {1: ("data_type", number), 2: ("dims", numbers)}, "TensorDesc", "data_type")
        code = found["data_type"]
        if code not in _NAMES:
            raise DescError(f"data_type {code} is unknown; there are {', '.join(map(str, _NAMES))}")
        return cls(dtype_named(_NAMES[code]), tuple(to_signed(d) for d in found.get("dims", ())))


@public
@dataclasses.dataclass(frozen=True)
class LodTensorDesc:
    """``message LodTensorDesc``: a TensorDesc and the number of levels."""

    tensor: TensorDesc
    lod_level: int = 0

    def __post_init__(self):
        object.__setattr__(self, "lod_level", operator.index(self.lod_level))
        if not 0 <= self.lod_level < 1 << 31:
            raise DescError(f"lod_level {self.lod_level} is outside 0 .. 2^31 - 1")

    def to_bytes(self) -> bytes:
        """Serialise, byte for byte as protobuf does."""
        return put(1, BYTES, self.tensor.to_bytes()) + put(2, VARINT, self.lod_level)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Parse a message."""
        found = read(data, {1: ("tensor", message), 2: ("lod_level", number)}, "LodTensorDesc", "tensor")
        return cls(TensorDesc.from_bytes(found["tensor"]), to_signed(found.get("lod_level", 0), 32))


@public
@dataclasses.dataclass(frozen=True)
class VarDesc:
    """``message VarDesc``: name, kind, data type, dims and levels of a variable.

    Parameters
    ----------
    name : str
    type : VarType
    dtype : data-type
    dims : tuple of int
        -1 where a dimension is unknown. Dimensions of SelectedRows are ``(height, *item)``, never the rows. A
        LOD_TENSOR_ARRAY has the dimensions of its elements, which all have its dtype and its lod_level.
    lod_level : int
    persistable : bool
        True if it outlives a batch, as a parameter does.
    sequences : tuple of int
        Number of sequences of each level, outermost first; empty if unknown, as where the rows are. The number is no
        part of the message, and does not count when descriptions are compared.

    Examples
    --------
    >>> desc = VarDesc.of(LoDTensor(np.zeros((3, 4), np.float32), [[1, 2]]), "x")
    >>> desc.unknown_batch().dims, desc.lod_level
    ((-1, 4), 1)
    >>> VarDesc.from_bytes(desc.to_bytes()) == desc
    True
    """

    name: str
    type: VarType
    dtype: np.dtype[Any]
    dims: tuple[int, ...]
    lod_level: int = 0
    persistable: bool = False
    sequences: tuple[int, ...] = dataclasses.field(default=(), compare=False, repr=False)

    if TYPE_CHECKING:

        def __init__(
            self,
            name: str,
            type: VarType,
            dtype: DTypeLike,
            dims: Iterable[int],
            lod_level: int = 0,
            persistable: bool = False,
            sequences: Iterable[int] = (),
        ) -> None: ...

    def __post_init__(self):
        desc = LodTensorDesc(TensorDesc(self.dtype, self.dims), self.lod_level)
        object.__setattr__(self, "dtype", desc.tensor.dtype)
        object.__setattr__(self, "dims", desc.tensor.dims)
        object.__setattr__(self, "lod_level", desc.lod_level)
        object.__setattr__(self, "type", VarType(self.type))
        sequences = tuple(self.sequences)
        is_known = len(sequences) == self.lod_level and -1 not in (*self.dims[:1], *sequences)
        object.__setattr__(self, "sequences", sequences if is_known else ())
        if self.type is VarType.SELECTED_ROWS and self.lod_level:
            raise DescError(f"SELECTED_ROWS has no levels, got lod_level {self.lod_level}")

    @overload
    @classmethod
    def of(cls, value: None, name: str = "") -> None: ...
    @overload
    @classmethod
    def of(cls, value: Any, name: str = "") -> Self: ...
    @classmethod
    def of(cls, value, name=""):
        """Describe an array, a list, a number, a LoDTensor, SelectedRows or a RankTable; None stays None.

        A list of arrays or of LoDTensors is a LOD_TENSOR_ARRAY.
        """
        if value is None:
            return None
        if isinstance(value, SelectedRows):
            return cls(name, VarType.SELECTED_ROWS, _dtype(value.value), value.shape)
        if isinstance(value, RankTable):
            return cls(name, VarType.LOD_RANK_TABLE, np.dtype(np.int64), (len(value), 2), value.level)
        if isinstance(value, list | tuple) and value and all(isinstance(x, LoDTensor) or holds_rows(x) for x in value):
            return array_desc([cls.of(x) for x in value]).but(name=name)
        if not isinstance(value, LoDTensor):
            array = value if hasattr(value, "dtype") else np.asarray(value)
            return cls(name, VarType.LOD_TENSOR, _dtype(array), array.shape)
        if value.values is None:
            raise DescError("a LoDTensor without values has no dtype and no dims; call set_values(...) first")
        sequences = [len(offsets) - 1 for offsets in value._lod]
        return cls(name, VarType.LOD_TENSOR, _dtype(value.values), value.values.shape, len(sequences), False, sequences)

    def but(self, **changes: Any) -> Self:
        """Copy with some fields changed."""
        return dataclasses.replace(self, **changes)

    def unknown_batch(self) -> Self:
        """Copy with dim 0 unknown; SelectedRows and persistable variables stay as they are."""
        if self.type is VarType.SELECTED_ROWS or self.persistable or not self.dims:
            return self
        return self.but(dims=(-1, *self.dims[1:]))

    def covers(self, other: VarDesc) -> bool:
        """Return whether ``other`` matches this description: -1 matches any dimension, unknown sequences any number."""
        same = (self.type, self.dtype, self.lod_level) == (other.type, other.dtype, other.lod_level)
        same = same and (self.sequences == other.sequences or () in (self.sequences, other.sequences))
        dims = zip(self.dims, other.dims, strict=False)
        return same and len(self.dims) == len(other.dims) and all(a in (-1, b) for a, b in dims)

    def _repr_html_(self) -> str:
        from ..base.markup import box, table

        dims = " x ".join("any" if d < 0 else str(d) for d in self.dims) or "none"
        row = (self.name, self.type.name, self.dtype, dims, self.lod_level, "yes" if self.persistable else "no")
        return box(table("VarDesc", ("name", "type", "dtype", "dims", "lod_level", "persistable"), [row]))

    def to_bytes(self) -> bytes:
        """Serialise, byte for byte as protobuf does."""
        tensor = TensorDesc(self.dtype, self.dims)
        if self.type not in (VarType.LOD_TENSOR, VarType.SELECTED_ROWS):
            raise DescError(f"{self.type.name} has no wire form; LOD_TENSOR and SELECTED_ROWS have one")
        out = put(1, BYTES, self.name.encode()) + put(2, VARINT, self.type)
        if self.type is VarType.LOD_TENSOR:
            out += put(3, BYTES, LodTensorDesc(tensor, self.lod_level).to_bytes())
        else:
            out += put(4, BYTES, tensor.to_bytes())
        return out + (put(5, VARINT, 1) if self.persistable else b"")

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Parse a message; unknown fields are skipped, missing and contradictory ones raise DescError."""
        found = read(data, _FIELDS, "VarDesc", "name", "type")
        if found["type"] not in (0, 1):
            raise DescError(f"type {found['type']} is unknown; 0 is LOD_TENSOR, 1 SELECTED_ROWS")
        kind = VarType(found["type"])
        wanted, other = ("lod_desc", "selected_rows_desc")[:: 1 if kind is VarType.LOD_TENSOR else -1]
        if wanted not in found or other in found:
            raise DescError(f"type {kind.name} needs {wanted}, and no {other}")
        if kind is VarType.LOD_TENSOR:
            desc = LodTensorDesc.from_bytes(found[wanted])
        else:
            desc = LodTensorDesc(TensorDesc.from_bytes(found[wanted]))
        tensor, persistable = desc.tensor, bool(found.get("persistable", 0))
        return cls(found["name"], kind, tensor.dtype, tensor.dims, desc.lod_level, persistable)


_FIELDS = {
    1: ("name", text),
    2: ("type", number),
    3: ("lod_desc", message),
    4: ("selected_rows_desc", message),
    5: ("persistable", number),
}


def _dtype(array):
    """NumPy dtype of an array; PyTorch's CUDA tensors have dtypes of their own."""
    if is_cpu_tensor(array):
        return bfloat16_dtype() if str(array.dtype) == "torch.bfloat16" else dtype_of(array)
    interface = {} if device_of(array) == "cpu" else array.__cuda_array_interface__
    return np.dtype(interface.get("typestr", array.dtype))


def is_mixture(descs):
    """Whether bfloat16 stands beside wider floating numbers."""
    dtypes = [d.dtype for d in descs if d is not None]
    return any(map(is_bfloat16, dtypes)) and any(map(is_wide, dtypes))


def is_wide(dtype):
    """Whether numbers of a type are floating, and take more than two bytes."""
    return dtype.kind == "f" and dtype.itemsize > 2


def wide_descs(descs):
    """Descriptions of the float32 copies that an operator gets of bfloat16 that it does not take; None without any."""
    if not any(d is not None and is_bfloat16(d.dtype) for d in descs):
        return None
    return [d if d is None or not is_bfloat16(d.dtype) else d.but(dtype=np.float32) for d in descs]


def rounded_descs(found, descs):
    """Descriptions of results in float32, which are rounded to bfloat16 where no input was wider."""
    if isinstance(found, tuple):
        return tuple(rounded_descs(d, descs) for d in found)
    beside_wide = any(d is not None and is_wide(d.dtype) for d in descs)
    return found if beside_wide or found.dtype != np.float32 else found.but(dtype=bfloat16_dtype())


def array_desc(descs):
    """The LOD_TENSOR_ARRAY of elements that these describe; dims in which they differ become unknown."""
    first = descs[0]
    for i, d in enumerate(descs[1:], 1):
        if (d.dtype, d.lod_level, len(d.dims)) != (first.dtype, first.lod_level, len(first.dims)):
            raise DescError(
                f"element {i} of an array has dtype {d.dtype}, lod_level {d.lod_level} and {len(d.dims)} dimensions, "
                f"element 0 {first.dtype}, {first.lod_level} and {len(first.dims)}; all of an array are alike"
            )
    dims = (sizes[0] if len(set(sizes)) == 1 else -1 for sizes in zip(*(d.dims for d in descs), strict=True))
    return first.but(type=VarType.LOD_TENSOR_ARRAY, dims=tuple(dims), sequences=())


def inferred_level(desc, level):
    """The level counted from the outermost, or an error if the described LoDTensor has no such level."""
    if not -desc.lod_level <= level < desc.lod_level:
        raise LoDLevelError(f"level {level} does not exist: the tensor has lod_level {desc.lod_level}")
    return level % desc.lod_level


def pooled_desc(desc, level, item, dtype=None):
    """Describe a row for each sequence of a level, under the levels above it."""
    level = inferred_level(desc, level)
    rows = desc.sequences[level] if desc.sequences else -1
    return desc.but(
        dims=(rows, *item),
        lod_level=level,
        sequences=desc.sequences[:level],
        dtype=desc.dtype if dtype is None else dtype,
    )
