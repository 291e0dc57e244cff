"""Compressed tables: how calls take PackedRows, the bounds of codes in few bits, and numbers rounded to float8."""

from __future__ import annotations

import numpy as np

from ...base.errors import OutputError, ShapeMismatchError
from ...base.float8 import FLOAT8, float8_of, round_to_bytes
from ...lod import LoDTensor, values_of
from ...lod.packed_rows import CODE_BITS, PARAMS_BYTES, PackedRows, bytes_of_float8

#: A float8 divided by its scale must not overflow: the smallest normal number of float32.
SMALLEST_SCALE = np.finfo(np.float32).smallest_normal
EPSILON = np.float32(1e-8)  # added to the span of an 8-bit row, so that a constant row has a factor


def is_float8(bits):
    """Whether bits, which were not checked, are the name of a format of float8."""
    return isinstance(bits, str) and bits in FLOAT8


def name_format(attrs):
    """Put the name of a format in place of its type: of NumPy, ml_dtypes or PyTorch."""
    bits = attrs.get("bits")
    if type(bits) is not int and (name := float8_of(bits)):
        attrs["bits"] = name


def bytes_of(inputs, attrs, at):
    """Take PackedRows for their bytes, in the bits that they know; of others the call says them.

    A scale that they have is input ``at``. An array in float8 is taken as PackedRows of it.
    """
    if "bits" in attrs:
        name_format(attrs)
    if inputs and type(rows := inputs[0]) is PackedRows:
        known, asked, scale = rows._bits, attrs.get("bits"), rows._scale
        if asked is not None and asked != known:
            packed = known if known in FLOAT8 else f"{known} bits"
            raise ValueError(f"rows are packed in {packed}, and read in {asked!r:.80}; leave bits out")
        attrs["bits"], inputs = known, (rows._values, *inputs[1:])
        if scale is not None:
            if inputs[at : at + 1] not in ((), (None,)):
                raise ValueError("rows are PackedRows with a scale, and scale is given; leave scale out")
            inputs = *inputs[:at], *[None] * (at - len(inputs)), scale
    elif inputs and hasattr(rows, "dtype") and ((bits := attrs.get("bits")) is None or is_float8(bits)):
        values, attrs["bits"] = bytes_of_float8(rows, bits)
        inputs = values, *inputs[1:]
    return inputs, attrs


def take_bytes(inputs, attrs):
    """Take PackedRows for the bytes that ``out`` fills."""
    name_format(attrs)
    bits = attrs.get("bits", 8)
    if "out" in attrs and type(out := attrs["out"]) is PackedRows:
        if out.bits != bits:
            raise OutputError(f"out holds rows of {out.bits} bits, and the result has {bits!r:.80}")
        if is_float8(bits):
            raise OutputError("out is PackedRows in float8, whose scale is another result; pass out=out.values")
        attrs["out"] = out.values
    if is_float8(bits) and attrs.get("per") == "table" and inputs and isinstance(inputs[0], LoDTensor):
        raise ValueError('table is a LoDTensor, whose rows have a scale each; pass table.values for per="table"')
    return inputs, attrs


def known_bits(result, attrs) -> PackedRows:
    """Return packed rows that know their bits."""
    rows, scale = result if isinstance(result, tuple) else (result, None)
    return PackedRows._wrap(rows, attrs.get("bits", 8), values_of(scale))


def check_columns(dims, bits):
    """Bytes of a packed row, from the shape of the table; -1 if unknown."""
    if len(dims) < 2:
        raise ShapeMismatchError(f"table has shape {tuple(dims)}; its last axis is quantized, pass (rows, columns)")
    each, columns = 8 // CODE_BITS[bits], dims[-1]
    if columns > 0 and columns % each:
        raise ShapeMismatchError(
            f"table has {columns} columns; a byte holds {each} codes of {bits} bits, pad them to a multiple of {each}"
        )
    return -1 if columns < 0 else columns // each + PARAMS_BYTES[bits]


def half_grid(low, high, bits):
    """Scale and bias of codes between two bounds, as float16 holds them."""
    bias = low.astype(np.float16).astype(np.float32)
    scale = ((high - bias) / np.float32(2**bits - 1)).astype(np.float16).astype(np.float32)
    return np.where(scale == 0, np.float32(1), scale), bias


def find_bounds(row, low, high, bits):
    """Bounds between which codes lose less than between the extremes: at each step one of them moves inwards."""

    def loss(low, high):
        scale, bias = half_grid(low, high, bits)
        codes = np.rint(((row - bias) * (np.float32(1) / scale)).clip(0, 2**bits - 1))
        return np.square(row - (codes * scale + bias), dtype=np.float64).sum()

    step, found = (high - low) / np.float32(200), (low, high)
    least, best = np.float32(168) * step, loss(low, high)
    now = best
    while low + least < high:
        left, right = loss(low + step, high), loss(low, high - step)
        if now < left and now < right and now < best:
            best, found = now, (low, high)
        if left < right:
            low, now = low + step, left
        else:
            high, now = high - step, right
    return found


def quantize_to_float8(x, bits, per):
    """Return the bytes of a matrix in float8, and the scales of its rows, or that of all."""
    largest = np.abs(x).max(axis=1, initial=0)
    if per == "table":
        largest = largest.max(keepdims=True) if len(x) else np.full(1, FLOAT8[bits].largest, np.float32)
    scale = np.maximum(largest / np.float32(FLOAT8[bits].largest), SMALLEST_SCALE)
    return round_to_bytes(x / scale[:, None], bits), scale
