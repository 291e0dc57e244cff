"""Kernels of lodkit/ops/quantized.py: checked inputs in front of the loops of the device."""

from __future__ import annotations

import numpy as np

from ...arrays import check_values, dtype_named
from ...base.float8 import FLOAT8
from ...lod import SelectedRows
from ...lod.packed_rows import are_packed
from ...ops import quantized as ops
from ...ops.quantized import FLOAT
from ...registry import Dense, Ids


@ops.quantize_rows.kernel("cpu", "cuda")
def quantize_rows(on, table, /, *, bits, search, per, out=None):
    shape = ops.prepare_quantize(table, bits, search, per)
    out, rows_shape = on.output(shape, np.uint8, out, table), table.shape[:-1]
    table = ops.as_matrix(table, table.shape[-1])
    packed = ops.as_matrix(out, out.shape[-1])
    if bits not in FLOAT8:
        on.quantized.pack(table, bits, search == "greedy", packed)
        return out
    scale = on.quantized.pack_float8(table, bits, per == "row", packed)
    return out, scale.reshape(rows_shape) if per == "row" else scale


@ops.dequantize_rows.kernel("cpu", "cuda")
def dequantize_rows(on, rows, scale: Dense | None, /, *, bits, out=None):
    columns = ops.prepare_rows(rows, scale, bits)
    out = on.output((*rows.shape[:-1], columns), FLOAT, out, rows)
    on.quantized.unpack(ops.as_matrix(rows, rows.shape[-1]), scale, None, None, bits, ops.as_matrix(out, columns))
    return out


@ops.quantized_lookup_table.kernel("cpu", "cuda")
def quantized_lookup_table(on, rows, ids: Ids, scale: Dense | None, /, *, bits, padding_idx, out=None):
    columns = ops.prepare_table(rows, scale, bits, padding_idx)
    ids = on.ids_in_range(ids, len(rows))
    out = on.output((*ids.shape, columns), FLOAT, out, rows)
    on.quantized.unpack(rows, scale, ids.reshape(ids.size), padding_idx, bits, out.reshape(ids.size, columns))
    return out


def _bag_loops(on, rows, ids, weights, scale, /, *, bits, pool, pad_value, padding_idx):
    ops.prepare_bag(rows, ids._values, weights, scale, bits, padding_idx)
    return [on.quantized.pool_loop(rows, scale, ids._values, weights, ids._row_offsets(), pool, bits)]


@ops.quantized_embedding_bag.kernel("cpu", "cuda", choose_loops=_bag_loops)
def quantized_embedding_bag(
    on, rows, ids: Ids, weights, scale: Dense | None, /, *, bits, pool, pad_value, padding_idx, out=None
):
    flat, bags = ids
    if weights is not None or scale is not None or padding_idx is not None or not are_packed(rows, bits):
        ops.prepare_bag(rows, flat, weights, scale, bits, padding_idx)
    levels = bags._lod
    out = on.quantized.pool_rows(rows, scale, flat, weights, padding_idx, levels[-1], pool, pad_value, bits, out)
    return out if len(levels) == 1 else ops.with_outer_levels(bags, -1, out)


@ops.quantized_embedding_bag_weights_grad.kernel("cpu", "cuda")
def quantized_embedding_bag_weights_grad(
    on, rows, ids: Ids, grad, weights, scale: Dense | None, /, *, bits, pool, padding_idx
):
    flat, bags = ids
    columns = ops.prepare_bag(rows, flat, weights, scale, bits, padding_idx)
    on.ids_in_range(flat, len(rows))
    offsets, means = bags._row_offsets(), None
    if pool == "mean":
        means = on.quantized.pool_rows(rows, scale, flat, weights, padding_idx, offsets, pool, 0.0, bits)
    taken = on.output((len(flat), columns), FLOAT, None, rows)
    on.quantized.unpack(rows, scale, flat, padding_idx, bits, taken)
    return on.weights_grad(taken, None, None, offsets, weights, means, grad, pool)


@ops.cast.kernel("cpu", "cuda")
def cast(on, x: Dense, /, *, dtype, out=None):
    check_values(x.dtype, "cast", bfloat16=True)
    return on.quantized.copy_elements(x, on.output(x.shape, dtype_named(dtype), out, x))


@ops.cast.kernel("cpu", "cuda")
def cast_selected(on, x: SelectedRows, /, *, dtype):
    return x._with_value(cast(on, x.value, dtype=dtype))
