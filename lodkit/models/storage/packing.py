"""Values as JSON in which arrays stand by their names, and back."""

from __future__ import annotations

import enum
import sys
import typing

import numpy as np

from ...arrays import BFLOAT16, bfloat16_dtype, is_array, is_bfloat16, is_plain, native, to_device
from ...arrays.bfloat16 import widen
from ...arrays.tensors import check_storage, is_tensor, numbers_of
from ...base.errors import DTypeError
from ...base.float8 import is_float8
from ...lod import LoDTensor, SelectedRows
from ...lod.batching import Batch
from ...lod.packed_rows import PackedRows
from ...lod.vocabulary import Vocabulary
from ...registry.kinds import check_whole
from .checks import shorten_name
from .reading import StorageError

MOST_BITS = 14_000  # of an integer: Python reads texts of 4300 digits, unless it is told to read longer ones
NO_NUMBERS = {
    "c": "save real and imaginary parts, x.real and x.imag",
    **dict.fromkeys("mM", "save numbers, x.astype(np.int64)"),
}
FEATURES = ("lengths", "keys", "values_lengths", "values", "map_keys")


class BFloat16(typing.NamedTuple):
    """Numbers in bfloat16, which NumPy lacks, by their bits."""

    bits: np.ndarray

    def float32(self):
        """The same numbers in float32."""
        return widen(self.bits.view(BFLOAT16))

    def array(self):
        """The same numbers as an array of ml_dtypes.bfloat16, or without that package of float32."""
        return self.float32() if bfloat16_dtype() is BFLOAT16 else self.bits.view(bfloat16_dtype())


def pack(name, value, arrays):
    """A value as JSON; its arrays are put into a dictionary, by names that begin with ``name``."""
    if value is None or isinstance(value, bool | int | float | str):
        return _to_plain(name, value)
    if isinstance(value, dict):
        items = ((_key(name, key), item) for key, item in value.items())
        return {"dict": {key: pack(_child_key(name, key), item, arrays) for key, item in items}}
    if isinstance(value, list | tuple):
        return [pack(_child_key(name, i), item, arrays) for i, item in enumerate(value)]
    if isinstance(value, SelectedRows) or (isinstance(value, LoDTensor) and value.values is not None):
        check_whole("save", name or "the value", value)
    if isinstance(value, LoDTensor):
        values = pack(_child_key(name, "values"), value.values, arrays)
        lod = [pack(_child_key(name, f"lod{i}"), value.offsets(i), arrays) for i in range(value.lod_level)]
        return {"lod_tensor": values, "lod": lod}
    if isinstance(value, PackedRows):
        rows, scale = (
            pack(_child_key(name, part), x, arrays) for part, x in (("rows", value.values), ("scale", value.scale))
        )
        return {"packed_rows": rows, "bits": value.bits} | ({} if value.scale is None else {"scale": scale})
    if isinstance(value, SelectedRows):
        rows, numbers = (pack(_child_key(name, part), getattr(value, part), arrays) for part in ("rows", "value"))
        return {"selected_rows": rows, "value": numbers, "height": value.height, "merged": value.is_merged}
    if isinstance(value, Vocabulary):
        return {"vocabulary": [*value], **value.specials()}
    if isinstance(value, Batch):
        parts = ((part, getattr(value, part)) for part in FEATURES)
        parts = {part: x._whole() if isinstance(x, LoDTensor) else x for part, x in parts}
        names = value.names and [value.names.__name__, {k: int(v) for k, v in value.names.__members__.items()}]
        return {"features": {p: pack(_child_key(name, p), x, arrays) for p, x in parts.items()}, "names": names}
    if isinstance(value, np.generic) and is_plain(value.dtype):
        plain = value.item()
        # Python has no number that holds a longdouble.
        if isinstance(plain, np.generic):
            raise DTypeError(
                f"{name or 'the value'} is a number of type {value.dtype}, which JSON does not hold; save float(x), or "
                "np.asarray(x) in an .npz"
            )
        return plain
    if isinstance(value, np.generic) and is_bfloat16(value.dtype):
        value = np.asarray(value)
    arrays[name or "values"] = _array(name or "the value", value)
    return {"array": name or "values"}


def _child_key(name, key):
    return f"{name}/{key}" if name else str(key)


def _to_plain(name, value):
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise ValueError(
            f"{shorten_name(name or 'the value')} is an integer of {value.bit_length()} bits, too many for a file; "
            "save it as text, by hex(...)"
        )
    return value


def _key(name, key):
    """A key as a plain string: an Enum's member prints as another one than it is."""
    if not isinstance(key, str) or not key or "/" in key or "\0" in key or key.endswith(".npy"):
        where = name or "values"
        text = isinstance(key, str)
        remedy = "rename it, or nest dictionaries" if text else f"pass {{str(k): x for k, x in {where}.items()}}"
        raise TypeError(f"{where}: keys are strings without '/', NUL and '.npy', got {key!r:.80}; {remedy}")
    return str.__str__(key)


def _array(name, value):
    """An array of numbers on the CPU."""
    if is_tensor(value):
        torch = sys.modules["torch"]
        value = value.detach()
        if value.dtype is torch.bfloat16 and value.layout is torch.strided and not value.is_nested:
            check_storage(value, name)
            return BFloat16(numbers_of(value.contiguous().view(torch.int16), name).view(np.uint16))
        return numbers_of(value, name)
    if not is_array(value):
        remedy = "pass arrays, numbers, strings, lists or dictionaries of them"
        remedy = f"pass {name}.state_dict()" if hasattr(value, "state_dict") else remedy
        raise TypeError(f"{name}: save takes no {type(value).__name__}; {remedy}")
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, whose mask no file keeps; pass {name}.filled(...)")
    array = np.asarray(to_device(value, "cpu"))
    if is_bfloat16(array.dtype):
        return BFloat16(array.astype(native(array.dtype), copy=False).view(np.uint16))
    if not is_plain(array.dtype) and not is_float8(array.dtype):
        raise DTypeError(f"{name}: save takes arrays of numbers or booleans, not {array.dtype}; {_remedy(array.dtype)}")
    return array


def _remedy(dtype):
    """Say what to save in place of an array of a type that files do not hold."""
    if dtype.kind == "V" and dtype.names:
        return "save field by field, x['name']"
    if dtype.kind == "V" and dtype.type is np.void:
        return "save its bytes, x.view(np.uint8)"
    if dtype.kind == "V":
        return "save numbers, x.astype(np.float32), or the bytes, x.view(np.uint8)"
    return NO_NUMBERS.get(dtype.kind, "save words as ids: lodkit.vocabulary(words)")


def unpack(value, arrays):
    """The value of what ``pack`` returned."""
    if isinstance(value, list):
        return [unpack(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if "dict" in value:
        return {key: unpack(item, arrays) for key, item in value["dict"].items()}
    if "array" in value:
        if value["array"] not in arrays:
            raise StorageError(f"the array {value['array']} is missing, or stands in two places")
        # save names each array once; copies of one could be far larger than the file.
        return arrays.pop(value["array"])
    if "lod_tensor" in value:
        lod = [unpack(offsets, arrays) for offsets in value["lod"]]
        return LoDTensor(unpack(value["lod_tensor"], arrays), lod=lod)
    if "packed_rows" in value:
        return PackedRows(unpack(value["packed_rows"], arrays), value["bits"], unpack(value.get("scale"), arrays))
    if "vocabulary" in value:
        return Vocabulary(value["vocabulary"], unknown=value.get("unknown"), padding=value.get("padding"))
    if "features" in value:
        from ..features import Features

        names = value["names"] and _enum_of(*value["names"])
        return Features(*(unpack(value["features"][part], arrays) for part in FEATURES), names=names)
    rows, numbers = unpack(value["selected_rows"], arrays), unpack(value["value"], arrays)
    made = SelectedRows(rows, numbers, value["height"])
    # A file may claim it wrongly.
    if value.get("merged") and (made._rows[1:] > made._rows[:-1]).all():
        made = SelectedRows._wrap(made._rows, made.value, made.height, merged=True)
    return made


def _enum_of(name, members):
    """The names of features; of members without numbers Python would make them in time by their square."""
    if not isinstance(members, dict):
        raise StorageError("the names of features have no numbers")
    return enum.IntEnum(name, members)
