"""Compressed tables: rows of 8-, 4- or 2-bit codes with scale and bias, as in Caffe2 and FBGEMM, or of float8."""

from __future__ import annotations

import math
from functools import partial
from typing import Literal

import numpy as np

from ..arrays import (
    COMPUTED,
    FLOATING,
    INTEGERS,
    PACKED,
    check_values,
    dtype_named,
    is_floating,
    name_of_dtype,
    native,
    to_dtype,
)
from ..base.errors import LoDLevelError, ShapeMismatchError
from ..base.float8 import FLOAT8, float8_of, widen_bytes
from ..lod import LoDTensor, SelectedRows, check_bag, values_of
from ..lod.packed_rows import CHOICES, CODE_BITS, PARAMS, Bits, check_packed, check_packed_dims, check_scale
from ..registry import Dense, VarDesc, VarType, op, pooled_desc, takes_bfloat16
from .embedding import lookup_table
from .selected_rows import selected_rows_to_dense
from .sequence_pool import with_outer_levels
from .shared import plain
from .shared.packed import (
    EPSILON,
    bytes_of,
    check_columns,
    find_bounds,
    half_grid,
    known_bits,
    quantize_to_float8,
    take_bytes,
)
from .shared.reductions import check_weights, reduce_segments, weights_grad
from .shared.tables import check_padding

DOCS_PAGE = "look-up"
SEARCH_WORDS = {
    "cast": "float16, half precision, bfloat16, astype, mixed precision",
    "dequantize_rows": "unpack int8, float8 to float32, fp8",
    "quantize_rows": "int8, int4, quantization, compress a table, 8-bit, float8, fp8, e4m3, e5m2, float8_e4m3fn",
    "quantized_embedding_bag": "int8 embeddings, quantized embedding bag, embedding_bag_byte, float8 embeddings, fp8",
    "quantized_lookup_table": "look up int8 rows, quantized embedding, GatherFused8BitRowwise, float8 table, fp8",
}

BagPool = Literal["sum", "mean"]
Search = Literal["extremes", "greedy"]
Per = Literal["row", "table"]
Float = Literal["float16", "bfloat16", "float32", "float64"]
FLOAT = np.dtype(np.float32)
HALF = np.dtype(np.float16)


def as_matrix(x, columns):
    """The same numbers with one row for each place on all axes but the last."""
    return x if x.ndim == 2 else x.reshape(math.prod(x.shape[:-1]), columns)


def prepare_quantize(table, bits, search, per):
    """Check a table. Returns the shape of its packed rows."""
    if search == "greedy" and bits not in (4, 2):
        raise ValueError(f'search="greedy" is for 4 and 2 bits, got bits={bits!r}')
    if per == "table" and bits not in FLOAT8:
        raise ValueError(f'per="table" is for float8, got bits={bits!r}: rows in few bits have a scale each')
    check_values(table.dtype, "quantize_rows")
    return *table.shape[:-1], check_columns(table.shape, bits)


def prepare_rows(rows, scale, bits):
    """Check packed rows of any rank, and their scale. Returns their columns."""
    columns, _ = check_packed(rows, bits)
    check_scale(scale, rows.shape[:-1], bits)
    if scale is not None:
        check_values(scale.dtype, "scale", floating=True)
    return columns


def prepare_table(rows, scale, bits, padding_idx):
    """Check a matrix of packed rows. Returns its columns."""
    columns = prepare_rows(rows, scale, bits)
    if rows.ndim != 2:
        raise ShapeMismatchError(f"rows have shape {tuple(rows.shape)}; a look-up takes a matrix of packed rows")
    if padding_idx is not None:
        check_padding(padding_idx, len(rows))
    return columns


def prepare_bag(rows, ids, weights, scale, bits, padding_idx):
    """Check the inputs of a bag but whether its ids have a row each. Returns its columns."""
    columns = prepare_table(rows, scale, bits, padding_idx)
    if weights is not None:
        check_weights(weights, len(ids), FLOAT, "sum")
    return columns


@op(rowwise=True, takes=take_bytes, returns=known_bits, types=FLOATING)
def quantize_rows(
    table: Dense, /, *, bits: Bits = 8, search: Search = "extremes", per: Per = "row"
) -> Dense | tuple[Dense, Dense]:
    """Return every row as codes of a few bits, followed by a scale and a bias: ``x`` is ``scale * code + bias``.

    The layout equals Caffe2's FloatToFused{8, 4, 2}BitRowwiseQuantized and FBGEMM's, byte for byte: codes, low bits
    first, then scale and bias. With 8 bits scale and bias are float32, with 4 and 2 bits float16. A row with a number
    that is not finite reads as NaN. So does a row whose span overflows the type of its scale.

    In float8 ``x`` is ``scale * float8``, rounded to nearest, ties to even. The scale maps the largest number of a row,
    or of the table, to the largest of the format: 448 of e4m3fn, 57344 of e5m2. So no number overflows.

    Parameters
    ----------
    table : array of shape (rows, columns), or of more axes, of which the last is quantized
        float16, float32 or float64, computed as float32. Columns are a multiple of 2 with 4 bits, of 4 with 2.
    bits : {8, 4, 2, "float8_e4m3fn", "float8_e5m2"}
    search : {"extremes", "greedy"}
        For 4 and 2 bits: search bounds inside the extremes of a row, up to 16 % of the span away, for a smaller squared
        error. The search is FBGEMM's greedy search, Caffe2's engine GREEDY.
    per : {"row", "table"}
        In float8: a scale for each row, or one scale for the table. A number that is not finite makes the scale NaN.

    Returns
    -------
    PackedRows
        ``values`` is a uint8 array of shape (rows, columns + 8) with 8 bits, and (rows, columns * bits / 8 + 4) with 4
        and 2 bits. In float8 its shape is (rows, columns), and ``scale`` is a float32 array.

    Raises
    ------
    ShapeMismatchError
        The table is a vector, or its columns do not fill their bytes.

    Examples
    --------
    >>> quantize_rows(np.array([[0., 1., 2., 3.]]), bits=2).values
    array([[228,   0,  60,   0,   0]], dtype=uint8)
    >>> rows = quantize_rows(np.array([[224., 1., 0.], [1., 2., 4.]]), bits="float8_e4m3fn")
    >>> rows.scale, dequantize_rows(rows)
    (array([0.5       , 0.00892857], dtype=float32), array([[224.,   1.,   0.],
           [  1.,   2.,   4.]], dtype=float32))
    """
    shape = prepare_quantize(table, bits, search, per)
    with np.errstate(all="ignore"):
        x = as_matrix(table, table.shape[-1]).astype(np.float32)
        if bits in FLOAT8:
            words, scale = quantize_to_float8(x, bits, per)
            return words.reshape(shape), scale if per == "table" else scale.reshape(shape[:-1])
        low, high = (x.min(axis=1), x.max(axis=1)) if x.shape[1] else np.zeros((2, len(x)), np.float32)
        width = CODE_BITS[bits]
        if bits == 8:
            scale, bias = (high - low) / np.float32(255), low
            factor = np.float32(255) / (high - low + EPSILON)
        else:
            if search == "greedy" and x.size:
                low, high = np.transpose(
                    [find_bounds(row, a, b, width) for row, a, b in zip(x, low, high, strict=True)]
                )
            scale, bias = half_grid(low, high, width)
            factor = np.float32(1) / scale
        exact = (x - bias[:, None]) * factor[:, None]
        codes = np.rint(np.where(np.isnan(exact), 0, exact).clip(0, 2**width - 1)).astype(np.uint8)
        params = np.stack([scale, bias], axis=1).astype(PARAMS[bits]).view(np.uint8)
    packed = [codes[:, k :: 8 // width] << np.uint8(width * k) for k in range(8 // width)]
    return np.concatenate([np.bitwise_or.reduce(packed), params], axis=1).reshape(shape)


@quantize_rows.infer_rule
def _(table, *, bits=8, search="extremes", per="row"):
    words = table.but(dtype=np.uint8, dims=(*table.dims[:-1], check_columns(table.dims, bits)))
    if bits not in FLOAT8:
        return words
    return words, table.but(dtype=FLOAT, dims=table.dims[:-1] if per == "row" else (1,))


@op(rowwise=("rows",), takes=partial(bytes_of, at=1), types={"rows": PACKED, "scale": FLOATING})
def dequantize_rows(rows: Dense, scale: Dense | None = None, /, *, bits: Bits | None = None) -> Dense:
    """Return the rows that ``quantize_rows`` packed, as float32: ``scale * code + bias``, of float8 ``scale * float8``.

    Caffe2's Fused{8, 4, 2}BitRowwiseQuantizedToFloat. PackedRows know their bits and scale, and arrays in float8 their
    bits. For plain bytes pass ``bits``, and for float8 a ``scale``: one number, or one for each row, by default 1.

    >>> dequantize_rows(quantize_rows(np.array([[0., 1., 2., 3.]]), bits=2))
    array([[0., 1., 2., 3.]], dtype=float32)
    """
    columns, shape, width = prepare_rows(rows, scale, bits), rows.shape, CODE_BITS[bits]
    rows = as_matrix(rows, shape[-1])
    if bits in FLOAT8:
        scale = np.ones(1) if scale is None else scale.reshape(-1)
        with np.errstate(all="ignore"):
            return (widen_bytes(rows, bits) * scale.astype(np.float32)[:, None]).reshape(shape)
    packed = rows[:, : columns * width // 8]
    params = np.ascontiguousarray(rows[:, packed.shape[1] :]).view(PARAMS[bits]).astype(np.float32)
    codes = np.stack([packed >> np.uint8(shift) & np.uint8(2**width - 1) for shift in range(0, 8, width)], axis=2)
    with np.errstate(all="ignore"):
        return (codes.reshape(len(rows), columns) * params[:, :1] + params[:, 1:]).reshape(*shape[:-1], columns)


def check_factors(*factors):
    """Refuse descriptions of weights or scales in bfloat16, with which a call is made in float32 and rounded."""
    for desc in factors:
        if desc is not None:
            check_values(desc.dtype, "a factor", floating=True)


@dequantize_rows.infer_rule
def _(rows, scale=None, *, bits=None):
    check_factors(scale)
    return rows.but(dtype=np.float32, dims=(*rows.dims[:-1], _columns(rows, bits)))


def _columns(rows, bits):
    bits = float8_of(rows.dtype) if bits is None else bits
    if bits is None:
        raise TypeError(f"infer reads a description of bytes, which does not tell their bits; pass bits={CHOICES}")
    return check_packed_dims(rows.dims, bits)


@op(rowwise=("ids",), takes=partial(bytes_of, at=2), types={"rows": PACKED, "ids": INTEGERS, "scale": FLOATING})
def quantized_lookup_table(
    rows: Dense, ids: Dense, scale: Dense | None = None, /, *, bits: Bits | None = None, padding_idx: int | None = None
) -> Dense:
    """Look up packed rows: ``lookup_table(dequantize_rows(rows), ids)`` without unpacking the table.

    The operator corresponds to Caffe2's GatherFused8BitRowwise.

    Parameters
    ----------
    rows : PackedRows, array in float8, or uint8 array
        Result of ``quantize_rows``; an array of ml_dtypes or a tensor of PyTorch in float8; or bytes, with ``bits``.
    ids : array of int32 or int64 of any shape, LoDTensor, or list
    scale : array of one number, or of one for each row, optional
        The scale of bytes in float8, 1 by default. PackedRows know their scale.
    bits : {8, 4, 2, "float8_e4m3fn", "float8_e5m2"}, optional
        Needed for plain bytes; PackedRows and arrays in float8 know their bits.
    padding_idx : int, optional
        This row reads as zeros.

    Returns
    -------
    float32 array of shape (*shape of the ids, columns)

    Raises
    ------
    RowIndexError
        An id is negative or not below the number of rows; the message gives position, id and bound.

    Examples
    --------
    >>> rows = quantize_rows(np.array([[0., 1., 2., 3.], [4., 5., 6., 7.]]), bits="float8_e4m3fn", per="table")
    >>> quantized_lookup_table(rows, [1, 0])
    array([[4., 5., 6., 7.],
           [0., 1., 2., 3.]], dtype=float32)
    """
    prepare_table(rows, scale, bits, padding_idx)
    return lookup_table.definition(dequantize_rows.definition(rows, scale, bits=bits), ids, padding_idx=padding_idx)


@quantized_lookup_table.infer_rule
def _(rows, ids, scale=None, *, bits=None, padding_idx=None):
    check_factors(scale)
    dims = *ids.dims, _columns(rows, bits)
    return rows.but(type=VarType.LOD_TENSOR, dtype=FLOAT, dims=dims, lod_level=ids.lod_level)


@op(takes=partial(bytes_of, at=3), types={"rows": PACKED, "ids": INTEGERS, "weights": FLOATING, "scale": FLOATING})
def quantized_embedding_bag(
    rows: Dense,
    ids: LoDTensor,
    weights: Dense | None = None,
    scale: Dense | None = None,
    /,
    *,
    bits: Bits | None = None,
    pool: BagPool = "sum",
    pad_value: float = 0.0,
    padding_idx: int | None = None,
) -> Dense | LoDTensor:
    """Look up and pool packed rows: ``embedding_bag(dequantize_rows(rows), ids)`` without unpacking the table.

    Caffe2's SparseLengths{Sum, WeightedSum, Mean}Fused{8, 4, 2}BitRowwise. A half-precision table needs no packing:
    ``embedding_bag(table, ids, dtype="float32")`` reads float16 rows as they are.

    Parameters
    ----------
    rows : PackedRows, array in float8, or uint8 array
        The result of ``quantize_rows``, or an array of ml_dtypes or a tensor of PyTorch in float8. With ``bits`` also
        bytes, in Caffe2's and FBGEMM's formats or in float8.
    ids : LoDTensor of int32 or int64
        The innermost sequences are the bags; the result keeps the levels above.
    weights : array of shape (number of ids,), optional
        The mean divides by their sum; where that is 0 it is ``pad_value``, as for an empty bag.
    scale : array of one number, or of one for each row, optional
        The scale of bytes in float8, 1 by default. PackedRows know their scale.
    bits : {8, 4, 2, "float8_e4m3fn", "float8_e5m2"}, optional
        Needed for plain bytes; PackedRows know their bits, and refuse others.
    pool : {"sum", "mean"}
    pad_value : float
        The result for an empty bag.
    padding_idx : int, optional
        This row reads as zeros.

    Returns
    -------
    float32 array of shape (bags, columns)

    Raises
    ------
    RowIndexError
        An id is negative or not below the number of rows; the message gives position, id and bound.

    Examples
    --------
    >>> rows = quantize_rows(np.array([[0., 1., 2., 3.], [4., 5., 6., 7.]]), bits=2)
    >>> quantized_embedding_bag(rows, LoDTensor([1, 1, 0], [[2, 0, 1]]))
    array([[ 8., 10., 12., 14.],
           [ 0.,  0.,  0.,  0.],
           [ 0.,  1.,  2.,  3.]], dtype=float32)
    """
    bags, taken = _rows_of(rows, ids, weights, scale, bits, padding_idx)
    return with_outer_levels(bags, -1, reduce_segments(taken, bags._row_offsets(), weights, pool, pad_value))


def _rows_of(rows, ids, weights, scale, bits, padding_idx):
    """Checked bags, and the unpacked row of each id."""
    bags = check_bag(ids)
    flat = plain.integers(bags.values, "ids")
    prepare_bag(rows, flat, weights, scale, bits, padding_idx)
    return bags, quantized_lookup_table.definition(rows, flat, scale, bits=bits, padding_idx=padding_idx)


@quantized_embedding_bag.infer_rule
def _(rows, ids, weights=None, scale=None, *, bits=None, pool="sum", pad_value=0.0, padding_idx=None):
    if ids.lod_level < 1:
        raise LoDLevelError("ids need lod_level >= 1; attach lengths: LoDTensor(ids, [[...]])")
    check_factors(weights, scale)
    return pooled_desc(ids, -1, (_columns(rows, bits),), np.dtype(np.float32))


@quantized_embedding_bag.gradient
def _(call, grad):
    rows, ids, weights, scale = (*call.inputs, None, None)[:4]
    if weights is None or not call.wanted[2]:
        return None, None, None, None
    keep = {k: call.attrs[k] for k in ("bits", "pool", "padding_idx")}
    return None, None, quantized_embedding_bag_weights_grad(rows, ids, values_of(grad), weights, scale, **keep), None


@op(
    like="weights",
    takes=partial(bytes_of, at=4),
    types={"rows": PACKED, "ids": INTEGERS, "grad": FLOATING, "weights": FLOATING, "scale": FLOATING},
)
def quantized_embedding_bag_weights_grad(
    rows: Dense,
    ids: LoDTensor,
    grad: Dense,
    weights: Dense,
    scale: Dense | None = None,
    /,
    *,
    bits: Bits | None = None,
    pool: BagPool = "sum",
    padding_idx: int | None = None,
) -> Dense:
    """Return the gradient of ``quantized_embedding_bag`` by its weights; packed rows themselves have none.

    >>> rows = quantize_rows(np.array([[0., 1., 2., 3.], [4., 5., 6., 7.]]), bits=2)
    >>> grad = np.ones((1, 4), np.float32)
    >>> quantized_embedding_bag_weights_grad(rows, LoDTensor([1, 0], [[2]]), grad, np.ones(2))
    array([22.,  6.])
    """
    bags, taken = _rows_of(rows, ids, weights, scale, bits, padding_idx)
    out = reduce_segments(taken, bags._row_offsets(), weights, pool, 0)
    return weights_grad(taken, bags._row_offsets(), weights, out, grad, pool)


@op(rowwise=True, types=COMPUTED)
def cast(x: Dense | SelectedRows, /, *, dtype: Float) -> Dense | SelectedRows:
    """Return the numbers in another floating type, each rounded to the nearest; too large ones become infinite.

    For SelectedRows the bits of the value, whose rows do not change.

    The operator corresponds to Caffe2's FloatToHalf and HalfToFloat. The gradient comes back in the type of ``x``.
    Arrays of bfloat16 are of ``ml_dtypes.bfloat16``, or without that package of ``lodkit.arrays.BFLOAT16``: bits.

    >>> cast(np.array([1.5, 70000, 1e-8], np.float32), dtype="float16")
    array([1.5, inf, 0. ], dtype=float16)
    """
    check_values(x.dtype, "cast", bfloat16=True)
    kind = dtype_named(dtype)
    with np.errstate(over="ignore", under="ignore"):
        return x._with_value(to_dtype(x.value, kind)) if isinstance(x, SelectedRows) else to_dtype(x, kind)


@cast.infer_rule
def _(x, *, dtype):
    return x.but(dtype=dtype_named(dtype))


@cast.gradient
def _(call, grad):
    kind = VarDesc.of(values_of(call.inputs[0])).dtype
    grad = selected_rows_to_dense(grad) if isinstance(grad, SelectedRows) else grad
    return cast(grad, dtype=name_of_dtype(native(kind))) if is_floating(kind) else None


takes_bfloat16(cast)
FORMATS = {8: 72, 4: 36, 2: 20, "float8_e4m3fn": 64, "float8_e5m2": 64}
quantize_rows.example(lambda dtype: [((np.ones((3, 64), dtype),), {"bits": bits}) for bits in FORMATS])
dequantize_rows.example(
    lambda dtype: [((np.ones((3, size), np.uint8),), {"bits": bits}) for bits, size in FORMATS.items()]
)
cast.example(lambda dtype: [((np.ones((3, 64), a),), {"dtype": b}) for a, b in (("f2", "float32"), ("f4", "float16"))])


@quantized_lookup_table.example
def _(dtype):
    return [((rows, np.array([0, 2, 2])), attrs) for (rows,), attrs in dequantize_rows.example_function(dtype)]


@quantized_embedding_bag.example
def _(dtype):
    ids = LoDTensor(np.array([0, 2, 2]), [[1, 2]])
    examples = [(rows, attrs) for (rows,), attrs in dequantize_rows.example_function(dtype)]
    return [((r, ids, *w), attrs) for r, attrs in examples for w in ((), (np.ones(3, np.float32),))]
