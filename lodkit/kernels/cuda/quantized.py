"""CUDA part of lodkit/ops/quantized.py: launches of the loops over packed rows."""

from __future__ import annotations

import math

import numpy as np

from ...arrays.cuda import checked_ids, convert, fill, launch, output
from ...arrays.cuda import copy_elements as copy_elements
from ...lod.packed_rows import packed_columns
from ...ops.quantized import FLOAT, PARAMS
from ...ops.shared.reductions import pad_of
from .primitives.offsets import offsets_like
from .primitives.quantized import WARP, bag_kernel, dequantize_kernel, quantize_kernel
from .primitives.reduce import VECTOR, group_of, launch_reduction, reduce_tiles, weight_totals


def pack(table, bits, searches, out):
    """Pack the rows of a table."""
    columns, n = table.columns, len(table)
    source = convert(table, FLOAT) if table.dtype == np.float64 else table
    # Rows without columns are not read, but the kernel still computes an address.
    source = source if source.size else fill(source.like((1,)), 0)
    launch(quantize_kernel(bits, searches), n * WARP, source, columns, columns * bits // 8, n, out)
    return out


def _form(rows, out, bits):
    """Bytes of codes per row, and the form of a kernel: bits, bytes per thread, alignment of params and of ``out``."""
    codes, param = out.columns * bits // 8, PARAMS[bits].itemsize
    size = math.gcd(bits, codes, rows.shape[1], rows.pointer)  # 8 codes, or fewer
    align = math.gcd(param, codes + rows.pointer, rows.shape[1])
    return codes, (bits, size, align, out.pointer % VECTOR == 0)


def unpack(rows, ids, padding_idx, bits, out):
    """Rows at ids, or all of them, as float32."""
    if out.size:
        height, rows = len(rows), rows if len(rows) else rows.like((1, rows.shape[1]))
        codes, form = _form(rows, out, bits)
        steps, kernel = codes // form[1], dequantize_kernel(*form, ids is not None)
        padding = -1 if padding_idx is None else padding_idx
        # Without ids the argument may be any array.
        some = rows if ids is None else ids
        kernel(len(out) * steps, rows, some, padding, height, codes, steps, out)
    return out


def pool_rows(rows, ids, weights, padding_idx, offsets, pool, pad_value, bits, out=None):
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
    source = rows, ids, weights, padding_idx
    if offsets.tiles is None:
        divisor = None if pool == "sum" else "rows" if totals is None else "totals"
        _run_bags(*source, totals, offsets.offsets, offsets.offsets, divisor, pad, out, bits)
        return out
    partial = out.like((len(offsets.tiles) - 1, out.columns))
    _run_bags(*source, None, offsets.tiles, offsets.tiles, None, FLOAT.type(0), partial, bits)
    partial, tile_offsets = reduce_tiles("sum", partial, None, None, None, offsets.tile_offsets)
    launch_reduction(pool, partial, None, None, None, totals, offsets.offsets, tile_offsets, pad, out)
    return out


def _run_bags(rows, ids, weights, padding_idx, totals, lengths, offsets, divisor, pad, out, bits):
    """Launch the loop over bags, by ``offsets``. A mean divides by ``totals``, or by the differences of ``lengths``."""
    height, segments = len(rows), len(offsets) - 1
    if not height:
        rows = rows.like((1, rows.shape[1]))
    codes, form = _form(rows, out, bits)
    group = group_of(codes, form[1])
    kernel, padding = bag_kernel(*form, weights is not None, divisor), -1 if padding_idx is None else padding_idx
    arrays = rows, ids, *(offsets if x is None else x for x in (weights, totals)), lengths, offsets
    launch(kernel, segments << group, *arrays, pad, padding, height, codes, group, segments, out)
