"""Arithmetic between every row and the value of its segment."""

from __future__ import annotations

import functools

from ....arrays.cuda import convert, device, vector
from ....jit import simd
from . import row_kernels as kernels
from .gradients import over_rows
from .offsets import offsets_like
from .reduce import width_of


@functools.cache
def _kernel(step, width, is_number):
    """``step(x[i], values[s])``, with an item or a number per segment: a = x, b = values."""

    @device
    def apply(i, s, j, x, values, unused, ids, offsets, padding, height, columns, out):
        lanes = vector.load(x, i * columns + j, width)
        by = simd.like(lanes, vector.number(values, s)) if is_number else vector.load(values, s * columns + j, width)
        vector.store(out, i * columns + j, step(lanes, by))

    return kernels.row_kernel(apply, width)


def map_rows(step, rows, by, offsets, out, is_number=False):
    """``out[i] = step(rows[i], by[s])`` for every row i of segment s; ``step`` takes and returns vectors of ``simd``.

    ``by`` has an item per segment, or a number. Kernels are kept by ``step``: make it a function of a module.
    """
    columns = rows.columns
    if by.compute_dtype != rows.compute_dtype:
        by = convert(by, rows.compute_dtype)  # lengths, sums: not to float16
    width = width_of(columns, rows, out, *([] if is_number else [by]))
    kernel, offsets = _kernel(step, width, is_number), offsets_like(rows, offsets)
    over_rows(kernel, width, rows, by, None, None, None, offsets, columns, out)
