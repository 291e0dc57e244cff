"""CPU kernels of lodkit/ops/quantized.py."""

from __future__ import annotations

import numpy as np

from ... import arrays
from ...arrays import check_values, matrix, native
from ...arrays.ids import checked_ids
from ...jit import settings
from ...lod.lod_tensor import LoDTensor
from ...ops.embedding import check_bag
from ...ops.quantized import (
    cast,
    check_columns,
    check_packed,
    dequantize_rows,
    quantize_rows,
    quantized_embedding_bag,
    quantized_embedding_bag_weights_grad,
)
from ...ops.sequence_pool import above
from ...ops.shared.reductions import check_weights, pad_of
from ...ops.shared.tables import check_padding
from ...registry import Dense
from .primitives.gather import NO_WEIGHTS
from .primitives.gradients import NO_IDS, weights_grad
from .primitives.quantized import bag_kernel, convert_kernel, dequantize_kernel, params_of, quantize_kernel, width_of

FLOAT = np.dtype(np.float32)
STRIP = 64  # lanes of a vector that is used once


@quantize_rows.kernel("cpu")
def quantize(table: Dense, /, *, bits, out=None):
    check_values(table.dtype, "quantize_rows", floating=True)
    size = check_columns(table.shape, bits)
    if native(table.dtype) == np.float64:
        with np.errstate(over="ignore"):
            table = table.astype(np.float32)
    out = arrays.output((len(table), size), np.uint8, out)
    kernel = quantize_kernel(bits, width_of(table.shape[1], bits, STRIP))
    with np.errstate(all="ignore"):  # where nothing is compiled
        kernel(table.size, matrix(table), params_of(out, bits), out)
    return out


@dequantize_rows.kernel("cpu")
def dequantize(rows: Dense, /, *, bits, out=None):
    columns = check_packed(rows, bits)
    out = arrays.output((len(rows), columns), np.float32, out)
    return _unpack(rows, NO_IDS, None, bits, out)


def _unpack(rows, ids, padding_idx, bits, out):
    """Rows at ids, or all of them, as float32."""
    rows, kernel = np.ascontiguousarray(rows), dequantize_kernel(bits, width_of(out.shape[1], bits, STRIP))
    kernel(out.size, rows, params_of(rows, bits), ids, -1 if padding_idx is None else padding_idx, out)
    return out


@quantized_embedding_bag.kernel("cpu")
def bag(rows: Dense, ids: LoDTensor, weights: Dense | None = None, /, *, bits, pool, pad_value, padding_idx, out=None):
    columns, bags = check_packed(rows, bits), check_bag(ids)
    flat = checked_ids(bags.values, len(rows))
    check_padding(padding_idx, len(rows))
    if weights is not None:
        check_weights(weights, len(flat), FLOAT)
    out = arrays.output((len(bags.row_offsets()) - 1, columns), np.float32, out)
    _pool(rows, flat, weights, padding_idx, bags.row_offsets(), pool, pad_of(pad_value, FLOAT), out, bits)
    return above(bags, -1, out)


def _pool(rows, ids, weights, padding_idx, offsets, pool, pad, out, bits):
    """Add up the rows of every bag."""
    if out.size:
        rows, columns = np.ascontiguousarray(rows), out.shape[1]
        padding = -1 if padding_idx is None else padding_idx
        bag_kernel(bits, width_of(columns, bits))(
            len(ids) * columns,
            rows,
            params_of(rows, bits),
            ids,
            NO_WEIGHTS if weights is None else np.ascontiguousarray(weights, FLOAT),
            padding,
            offsets,
            pool == "mean",
            pad,
            settings.chunk_rows,
            settings.block_rows,
            out,
        )
    return out


@quantized_embedding_bag_weights_grad.kernel("cpu")
def bag_weights_grad(rows: Dense, ids: LoDTensor, grad: Dense, weights: Dense, /, *, bits, pool, padding_idx):
    columns, bags = check_packed(rows, bits), check_bag(ids)
    flat, offsets = checked_ids(bags.values, len(rows)), bags.row_offsets()
    check_padding(padding_idx, len(rows))
    check_weights(weights, len(flat), FLOAT)
    out = np.empty((len(offsets) - 1, columns), FLOAT)
    if pool == "mean":
        _pool(rows, flat, weights, padding_idx, offsets, pool, FLOAT.type(0), out, bits)
    taken = _unpack(rows, flat, padding_idx, bits, arrays.output((len(flat), columns), FLOAT))
    return weights_grad(taken, None, None, offsets, weights, out, grad, pool)


@cast.kernel("cpu")
def convert(x: Dense, /, *, dtype, out=None):
    check_values(x.dtype, "cast")
    out = arrays.output(x.shape, np.dtype(dtype), out)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if {native(x.dtype).name, dtype} == {"float16", "float32"} and x.size:
            kernel = convert_kernel(STRIP if x.size >= STRIP else 1)
            kernel(x.size, matrix(x.reshape(1, -1)), settings.chunk_rows, matrix(out.reshape(1, -1)))
        else:
            np.copyto(out, x, casting="unsafe")
    return out
