"""Packed rows: how the loops over them run."""

from __future__ import annotations

import numpy as np

from ...arrays import matrix, native
from ...jit import settings
from .primitives.gather import NO_WEIGHTS
from .primitives.gradients import NO_IDS
from .primitives.quantized import bag_kernel, convert_kernel, dequantize_kernel, params_of, quantize_kernel, width_of

STRIP = 64  # lanes of a vector that is used once
HALF_AND_FLOAT = {np.dtype(np.float16), np.dtype(np.float32)}


def pack(table, bits, out):
    """Pack the rows of a table."""
    with np.errstate(all="ignore"):  # too large for float32; and where nothing is compiled
        table = table.astype(np.float32) if native(table.dtype) == np.float64 else table
        kernel = quantize_kernel(bits, width_of(table.shape[1], bits, STRIP))
        kernel(table.size, matrix(table), params_of(out, bits), out)
    return out


def unpack(rows, ids, padding_idx, bits, out):
    """Rows at ids, or all of them, as float32."""
    rows, kernel = np.ascontiguousarray(rows), dequantize_kernel(bits, width_of(out.shape[1], bits, STRIP))
    padding = -1 if padding_idx is None else padding_idx
    kernel(out.size, rows, params_of(rows, bits), NO_IDS if ids is None else ids, padding, out)
    return out


def pool_rows(rows, ids, weights, padding_idx, offsets, pool, pad, bits, out):
    """Add up the rows of every bag, or average them."""
    if out.size:
        rows, columns = np.ascontiguousarray(rows), out.shape[1]
        bag_kernel(bits, width_of(columns, bits))(
            len(ids) * columns,
            rows,
            params_of(rows, bits),
            ids,
            NO_WEIGHTS if weights is None else np.ascontiguousarray(weights, np.float32),
            -1 if padding_idx is None else padding_idx,
            offsets,
            pool == "mean",
            pad,
            settings.chunk_rows,
            settings.block_rows,
            out,
        )
    return out


def copied(x, out):
    """Copy all elements, rounded to the type of ``out``."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if x.size and {native(x.dtype), out.dtype} == HALF_AND_FLOAT:
            kernel = convert_kernel(STRIP if x.size >= STRIP else 1)
            kernel(x.size, matrix(x.reshape(1, -1)), settings.chunk_rows, matrix(out.reshape(1, -1)))
        else:
            np.copyto(out, x, casting="unsafe")
    return out
