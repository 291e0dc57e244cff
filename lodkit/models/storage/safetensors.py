"""Files of safetensors: a header in JSON, and arrays end to end. Read and written here, without the library."""

from __future__ import annotations

import json
import math

import numpy as np

from ...arrays.objects import remedy_of
from ...base.errors import DTypeError
from ...base.float8 import float8_dtype, float8_of
from .checks import check_room, encode_name, name_size_errors
from .packing import BFloat16
from .reading import StorageError, check_dimensions, write_array

METADATA = "__metadata__"
ALIGNMENT = 64
_CODES = "BOOL ? U8 u1 I8 i1 U16 <u2 I16 <i2 U32 <u4 I32 <i4 U64 <u8 I64 <i8 F16 <f2 F32 <f4 F64 <f8 C64 <c8 BF16 <u2"
DTYPES = dict(zip(_CODES.split()[::2], map(np.dtype, _CODES.split()[1::2]), strict=True))
NAMES = {dtype: name for name, dtype in DTYPES.items() if name != "BF16"}
FLOAT8_NAMES = {"F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2"}
DTYPES |= dict.fromkeys(FLOAT8_NAMES, np.dtype(np.uint8))


def check(arrays):
    """Refuse arrays that the format does not know, before a file is opened."""
    for name, array in arrays.items():
        if name == METADATA:
            raise ValueError(f"{METADATA!r} is no key of the outermost dictionary: the file keeps it; rename it")
        if _code(array) is None:
            raise DTypeError(f"{name}: safetensors has no {array.dtype}; {remedy_of(array.dtype)}, or save an .npz")
        encode_name(name)
        check_room(name, _bits(array), _little(_bits(array)))


def write(file, arrays, meta_name, meta, advance):
    header, data, end = {METADATA: {meta_name: meta}}, [], 0
    # In this order all of them stay aligned.
    for name, array in sorted(arrays.items(), key=lambda part: -_bits(part[1]).itemsize):
        code, array = _code(array), _bits(array)
        start, end = end, end + array.nbytes
        data.append((name, array, _little(array)))
        header[name] = {"dtype": code, "shape": [*array.shape], "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    file.write(len(text).to_bytes(8, "little") + text)
    for name, array, dtype in data:
        made = name_size_errors(name, lambda a=array, d=dtype: np.asarray(a, d, order="C"), array, dtype)
        write_array(file, made, advance)


def read(source, meta_name):
    """Arrays by name, and the text that ``write`` put beside them, or None."""
    length = int.from_bytes(source.bytes(0, 8), "little")
    header = json.loads(source.bytes(8, length))
    if not isinstance(header, dict):
        raise StorageError("its header is no JSON object")
    metadata, base = header.pop(METADATA, {}), 8 + length
    spans, arrays = [], {}
    for name, entry in header.items():
        dtype, shape, (start, end) = DTYPES.get(entry["dtype"]), tuple(entry["shape"]), entry["data_offsets"]
        if dtype is None:
            raise StorageError(f"{name} has dtype {entry['dtype']}, which NumPy lacks")
        if entry["dtype"] in FLOAT8_NAMES and float8_dtype(FLOAT8_NAMES[entry["dtype"]]) is None:
            raise StorageError(f"{name} has dtype {entry['dtype']}, which NumPy lacks; pip install ml_dtypes reads it")
        check_dimensions(name, shape)
        if not all(type(n) is int and n >= 0 for n in (*shape, start, end)):
            raise StorageError(f"{name} has shape {shape} and offsets {start, end}, which must be integers from 0")
        if end - start != math.prod(shape) * dtype.itemsize:
            raise StorageError(f"{name} of shape {shape} and dtype {entry['dtype']} has {end - start} bytes")
        spans.append((start, end, name))
    _check_spans(sorted(spans), source.size - base)
    for start, _, name in spans:
        entry = header[name]
        arrays[name] = source.array(name, DTYPES[entry["dtype"]], tuple(entry["shape"]), base + start)
        if entry["dtype"] == "BF16":
            arrays[name] = BFloat16(arrays[name]).array()
        if entry["dtype"] in FLOAT8_NAMES:
            arrays[name] = arrays[name].view(float8_dtype(FLOAT8_NAMES[entry["dtype"]]))
    return arrays, metadata.get(meta_name)


def _check_spans(spans, size):
    """Arrays lie end to end, from the first byte of data to the last."""
    at = 0
    for start, end, name in spans:
        if start != at:
            raise StorageError(f"{name} starts at {start}, but the array before it ends at {at}")
        at = end
    if at != size:
        raise StorageError(f"its arrays take {at} bytes, but it has {size}")


def _little(array):
    """The type of an array, in the byte order of the file."""
    return array.dtype.newbyteorder("<")


def _code(array):
    """The name of an array's type in the header; None of one that the format does not know."""
    if isinstance(array, BFloat16):
        return "BF16"
    kind = float8_of(array.dtype)
    return next((code for code, name in FLOAT8_NAMES.items() if name == kind), None) or NAMES.get(_little(array))


def _bits(array):
    if isinstance(array, BFloat16):
        return array.bits
    return array.view(np.uint8) if float8_of(array.dtype) else array
