"""Arithmetic between every row and the value of its segment."""

from __future__ import annotations

from ....arrays.cuda import convert
from .gradients import launch_rows
from .offsets import offsets_like
from .reduce import width_of
from .row_kernels import map_kernel


def map_rows(step, rows, by, offsets, out, is_number=False):
    """``out[i] = step(rows[i], by[s])`` for every row i of segment s; ``step`` takes and returns vectors of ``simd``.

    ``by`` has an item per segment, or a number. Kernels are kept by ``step``: make it a function of a module.
    """
    if by.compute_dtype != rows.compute_dtype:
        # ``by`` holds lengths or sums, which float16 would round.
        by = convert(by, rows.compute_dtype)
    width = width_of(rows.columns, rows, out, *([] if is_number else [by]))
    launch_rows(map_kernel(step, width, is_number), width, offsets_like(rows, offsets), out, rows, by)
