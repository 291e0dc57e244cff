"""CUDA kernels of lodkit/ops/quantized.py."""

from __future__ import annotations

import math

import numpy as np

from ...arrays import check_values
from ...arrays.cuda.elementwise import convert, copied, fill
from ...arrays.cuda.ids import checked_ids
from ...arrays.cuda.launch import launch
from ...arrays.cuda.memory import output, view
from ...lod.lod_tensor import LoDTensor
from ...ops.embedding import check_bag
from ...ops.quantized import (
    cast,
    check_columns,
    check_packed,
    dequantize_rows,
    params_dtype,
    quantize_rows,
    quantized_embedding_bag,
    quantized_embedding_bag_weights_grad,
)
from ...ops.sequence_pool import above
from ...ops.shared.reductions import check_weights, pad_of
from ...ops.shared.tables import check_padding
from ...registry import Dense
from .primitives.gradients import weights_grad
from .primitives.offsets import offsets_like
from .primitives.quantized import WARP, bag_kernel, dequantize_kernel, quantize_kernel
from .primitives.reduce import VECTOR, _run, group_of, reduce_tiles, weight_totals

FLOAT = np.dtype(np.float32)


@quantize_rows.kernel("cuda")
def quantize(table: Dense, /, *, bits, out=None):
    table = view(table)
    check_values(table.dtype, "quantize_rows", floating=True)
    size = check_columns(table.shape, bits)
    out = output(table, (len(table), size), np.uint8, out)
    columns, n = table.columns, len(table)
    source = convert(table, FLOAT) if table.dtype == np.float64 else table
    source = source if source.size else fill(source.like((1,)), 0)  # rows of no columns still name an address
    launch(quantize_kernel(bits), n * WARP, source, columns, columns * bits // 8, n, out)
    return out.array


def _form(rows, out, bits):
    """How packed rows are read: the bytes that a thread takes, how params are aligned, whether ``out`` is."""
    codes, param = out.columns * bits // 8, params_dtype(bits).itemsize
    size = math.gcd(bits, codes, rows.shape[1], rows.pointer)  # 8 codes, or fewer
    align = math.gcd(param, codes + rows.pointer, rows.shape[1])
    return codes, (bits, size, align, out.pointer % VECTOR == 0)


@dequantize_rows.kernel("cuda")
def dequantize(rows: Dense, /, *, bits, out=None):
    rows = view(rows)
    columns = check_packed(rows, bits)
    out = output(rows, (len(rows), columns), FLOAT, out)
    return _unpack(rows, None, None, bits, out).array


def _unpack(rows, ids, padding_idx, bits, out):
    """Rows at ids, or all of them, as float32."""
    if out.size:
        height, rows = len(rows), rows if len(rows) else rows.like((1, rows.shape[1]))
        codes, form = _form(rows, out, bits)
        steps, kernel = codes // form[1], dequantize_kernel(*form, ids is not None)
        padding = -1 if padding_idx is None else padding_idx
        some = rows if ids is None else ids  # stands where no ids are
        launch(kernel, len(out) * steps, rows, some, padding, height, codes, steps, len(out) * steps, out)
    return out


@quantized_embedding_bag.kernel("cuda")
def bag(rows: Dense, ids: LoDTensor, weights: Dense | None = None, /, *, bits, pool, pad_value, padding_idx, out=None):
    rows, bags = view(rows), check_bag(ids)
    columns = check_packed(rows, bits)
    flat = checked_ids(bags.values, len(rows))
    if weights is not None:
        weights = check_weights(view(weights), len(flat), FLOAT)
    check_padding(padding_idx, len(rows))
    offsets, pad = offsets_like(rows, bags.row_offsets()), pad_of(pad_value, FLOAT)
    out = output(rows, (len(offsets), columns), FLOAT, out)
    _pool(rows, flat, weights, padding_idx, offsets, pool, pad, out, bits)
    return above(bags, -1, out.array)


def _pool(rows, ids, weights, padding_idx, offsets, pool, pad, out, bits):
    """Add up the rows of every bag; those of a long one in tiles, as other reductions do."""
    if not ids.size:
        fill(out, pad)
    if not ids.size or not out.size:
        return
    totals = weight_totals(pool, weights, offsets, FLOAT)
    source = rows, ids, weights, padding_idx
    if offsets.tiles is None:
        divisor = None if pool == "sum" else "rows" if totals is None else "totals"
        _run_bags(*source, totals, offsets.offsets, offsets.offsets, divisor, pad, out, bits)
        return
    partial = out.like((len(offsets.tiles) - 1, out.columns))
    _run_bags(*source, None, offsets.tiles, offsets.tiles, None, FLOAT.type(0), partial, bits)
    partial, owners = reduce_tiles("sum", partial, None, None, None, offsets.tile_offsets)
    _run(pool, partial, None, None, None, totals, offsets.offsets, owners, pad, out)


def _run_bags(rows, ids, weights, padding_idx, totals, lengths, offsets, divisor, pad, out, bits):
    """One launch: bags by ``offsets``; a mean divides by ``totals``, or by the differences of ``lengths``."""
    height, segments, some = len(rows), len(offsets) - 1, offsets  # ``some`` stands where an array is not there
    if not height:
        rows = rows.like((1, rows.shape[1]))
    codes, form = _form(rows, out, bits)
    group = group_of(codes, form[1])
    launch(
        bag_kernel(*form, weights is not None, divisor),
        segments << group,
        rows,
        ids,
        some if weights is None else weights,
        some if totals is None else totals,
        lengths,
        offsets,
        pad,
        -1 if padding_idx is None else padding_idx,
        height,
        codes,
        group,
        segments,
        out,
    )


@quantized_embedding_bag_weights_grad.kernel("cuda")
def bag_weights_grad(rows: Dense, ids: LoDTensor, grad: Dense, weights: Dense, /, *, bits, pool, padding_idx):
    rows, bags, weights = view(rows), check_bag(ids), view(weights)
    columns = check_packed(rows, bits)
    flat = checked_ids(bags.values, len(rows))
    check_padding(padding_idx, len(rows))
    check_weights(weights, len(flat), FLOAT)
    offsets, out = offsets_like(rows, bags.row_offsets()), None
    if pool == "mean":
        out = rows.like((len(offsets), columns), FLOAT)
        _pool(rows, flat, weights, padding_idx, offsets, pool, FLOAT.type(0), out, bits)
    taken = _unpack(rows, flat, padding_idx, bits, rows.like((flat.size, columns), FLOAT))
    return weights_grad(taken, None, None, offsets, weights, out, grad, pool).array


@cast.kernel("cuda")
def cast_all(x: Dense, /, *, dtype, out=None):
    x = view(x)
    check_values(x.dtype, "cast")
    return copied(x, output(x, x.shape, np.dtype(dtype), out)).array
