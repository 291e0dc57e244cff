"""Kernels of lodkit/ops/quantized.py: checked inputs in front of the loops of the device."""

from __future__ import annotations

import numpy as np

from ...arrays import check_values, dtype_named
from ...lod import SelectedRows
from ...lod.packed_rows import are_packed, check_packed
from ...ops import quantized as ops
from ...ops.quantized import FLOAT
from ...registry import Dense, Ids


@ops.quantize_rows.kernel("cpu", "cuda")
def quantize_rows(on, table, /, *, bits, search, out=None):
    out = on.output(ops.prepare_quantize(table, bits, search), np.uint8, out, table)
    table = ops.as_matrix(table, table.shape[-1])
    on.quantized.pack(table, bits, search == "greedy", ops.as_matrix(out, out.shape[-1]))
    return out


@ops.dequantize_rows.kernel("cpu", "cuda")
def dequantize_rows(on, rows, /, *, bits, out=None):
    columns, _ = check_packed(rows, bits)
    out = on.output((*rows.shape[:-1], columns), FLOAT, out, rows)
    on.quantized.unpack(ops.as_matrix(rows, rows.shape[-1]), None, None, bits, ops.as_matrix(out, columns))
    return out


@ops.quantized_embedding_bag.kernel("cpu", "cuda")
def quantized_embedding_bag(on, rows, ids: Ids, weights, /, *, bits, pool, pad_value, padding_idx, out=None):
    flat, bags = ids
    if weights is not None or padding_idx is not None or not are_packed(rows, bits):
        ops.prepare_bag(rows, flat, weights, bits, padding_idx)
    levels = bags._lod
    out = on.quantized.pool_rows(rows, flat, weights, padding_idx, levels[-1], pool, pad_value, bits, out)
    return out if len(levels) == 1 else ops.with_outer_levels(bags, -1, out)


@ops.quantized_embedding_bag_weights_grad.kernel("cpu", "cuda")
def quantized_embedding_bag_weights_grad(on, rows, ids: Ids, grad, weights, /, *, bits, pool, padding_idx):
    flat, bags = ids
    columns = ops.prepare_bag(rows, flat, weights, bits, padding_idx)
    on.ids_in_range(flat, len(rows))
    offsets, means = bags._row_offsets(), None
    if pool == "mean":
        means = on.quantized.pool_rows(rows, flat, weights, padding_idx, offsets, pool, 0.0, bits)
    taken = on.output((len(flat), columns), FLOAT, None, rows)
    on.quantized.unpack(rows, flat, padding_idx, bits, taken)
    return on.weights_grad(taken, None, None, offsets, weights, means, grad, pool)


@ops.cast.kernel("cpu", "cuda")
def cast(on, x: Dense, /, *, dtype, out=None):
    check_values(x.dtype, "cast", bfloat16=True)
    return on.quantized.copy_elements(x, on.output(x.shape, dtype_named(dtype), out, x))


@ops.cast.kernel("cpu", "cuda")
def cast_selected(on, x: SelectedRows, /, *, dtype):
    return x._with_value(cast(on, x.value, dtype=dtype))
