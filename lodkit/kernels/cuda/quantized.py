"""CUDA part of lodkit/ops/quantized.py: launches of the loops over packed rows."""

from __future__ import annotations

import math

import numpy as np

from ...arrays.cuda import checked_ids, convert, fill, launch, output
from ...arrays.cuda import copy_elements as copy_elements
from ...base.float8 import FLOAT8
from ...lod.packed_rows import CODE_BITS, PARAMS_BYTES, packed_columns
from ...ops.quantized import FLOAT
from ...ops.shared.reductions import pad_of
from .primitives.offsets import offsets_like
from .primitives.quantized import (
    WARP,
    bag_kernel,
    dequantize_kernel,
    float8_kernel,
    float8_scale_kernel,
    quantize_kernel,
)
from .primitives.reduce import VECTOR, group_of, launch_reduction, reduce_into, reduce_tiles, weight_totals


def pack(table, bits, searches, out):
    """Pack the rows of a table."""
    columns, n = table.columns, len(table)
    launch(quantize_kernel(bits, searches), n * WARP, _as_floats(table), columns, columns * bits // 8, n, out)
    return out


def _as_floats(table):
    """A table as kernels read it: of one that has no columns they still compute an address."""
    table = convert(table, FLOAT) if table.dtype == np.float64 else table
    return table if table.size else fill(table.like((1,)), 0)


def pack_float8(table, name, of_rows, out):
    """Pack the rows of a table in float8. Returns their scales, or that of all."""
    columns, n, source = table.columns, len(table), _as_floats(table)
    scales = output(table, (n,), FLOAT)
    launch(float8_scale_kernel(), n * WARP, source, columns, n, FLOAT.type(FLOAT8[name].largest), scales)
    if not of_rows:
        scales = reduce_into(scales, None, None, None, np.array([0, n]), "max", 1.0)
    if out.size:
        float8_kernel(name, of_rows)(out.size, source, scales, columns, out)
    return scales


def _form(rows, scale, out, bits):
    """Bytes of codes per row, the form of a kernel, and the scales of float8, or what stands for none.

    The form is bits, bytes per thread, alignment of params and of ``out``, and whether there is a scale, of each row.
    """
    codes = out.columns * CODE_BITS[bits] // 8
    size = math.gcd(CODE_BITS[bits], codes, rows.shape[1], rows.pointer)  # 8 codes, or fewer
    align = math.gcd(PARAMS_BYTES[bits] // 2 or 1, codes + rows.pointer, rows.shape[1])
    scaled = scale is not None and scale.size > 0 and ("row" if scale.size > 1 else "table")
    scale = convert(scale, FLOAT) if scaled else rows
    return codes, (bits, size, align, out.pointer % VECTOR == 0, scaled), scale


def unpack(rows, scale, ids, padding_idx, bits, out):
    """Rows at ids, or all of them, as float32."""
    if out.size:
        height, rows = len(rows), rows if len(rows) else rows.like((1, rows.shape[1]))
        codes, form, scales = _form(rows, scale, out, bits)
        steps, kernel = codes // form[1], dequantize_kernel(*form, ids is not None)
        padding = -1 if padding_idx is None else padding_idx
        # Without ids the argument may be any array.
        some = rows if ids is None else ids
        kernel(len(out) * steps, rows, scales, some, padding, height, codes, steps, out)
    return out


def pool_loop(rows, scale, ids, weights, offsets, pool, bits):
    """The loop of ``pool_rows`` for these arrays, and what was chosen for them."""
    out = rows.like((1, packed_columns(rows.shape[1], bits)), FLOAT)
    tiled = offsets_like(rows, offsets).tiles is not None
    divisor = None if pool == "sum" or tiled else "rows" if weights is None else "totals"
    codes, form, _ = _form(rows, scale, out, bits)
    kernel = bag_kernel(*form, weights is not None, divisor)
    return kernel, {"threads for a bag": 1 << group_of(codes, form[1]), "tiles": "of long bags" if tiled else "none"}


def pool_rows(rows, scale, ids, weights, padding_idx, offsets, pool, pad_value, bits, out=None):
    """Add up the rows of every bag, or average them; those of a long bag in tiles, as in other reductions. Ids outside
    the rows raise.
    """
    checked_ids(ids, len(rows))
    out = output(rows, (len(offsets) - 1, packed_columns(rows.shape[1], bits)), FLOAT, out)
    pad = pad_of(pad_value, FLOAT)
    if not ids.size:
        fill(out, pad)
    if not ids.size or not out.size:
        return out
    offsets = offsets_like(rows, offsets)
    totals = weight_totals(pool, weights, offsets, FLOAT)
    source = rows, scale, ids, weights, padding_idx
    if offsets.tiles is None:
        divisor = None if pool == "sum" else "rows" if totals is None else "totals"
        _run_bags(*source, totals, offsets.offsets, offsets.offsets, divisor, pad, out, bits)
        return out
    partial = out.like((len(offsets.tiles) - 1, out.columns))
    _run_bags(*source, None, offsets.tiles, offsets.tiles, None, FLOAT.type(0), partial, bits)
    partial, tile_offsets = reduce_tiles("sum", partial, None, None, None, offsets.tile_offsets)
    launch_reduction(pool, partial, None, None, None, totals, offsets.offsets, tile_offsets, pad, out)
    return out


def _run_bags(rows, scale, ids, weights, padding_idx, totals, lengths, offsets, divisor, pad, out, bits):
    """Launch the loop over bags, by ``offsets``. A mean divides by ``totals``, or by the differences of ``lengths``."""
    height, segments = len(rows), len(offsets) - 1
    if not height:
        rows = rows.like((1, rows.shape[1]))
    codes, form, scales = _form(rows, scale, out, bits)
    group = group_of(codes, form[1])
    kernel, padding = bag_kernel(*form, weights is not None, divisor), -1 if padding_idx is None else padding_idx
    arrays = rows, scales, ids, *(offsets if x is None else x for x in (weights, totals)), lengths, offsets
    launch(kernel, segments << group, *arrays, pad, padding, height, codes, group, segments, out)
