"""Arithmetic between every row and the value of its segment, and numbers by a function of their positions."""

from __future__ import annotations

import numpy as np

from ....arrays.cuda import View, convert, cuda, device, launch, vector
from ...common.maps import write_loop
from .gradients import launch_rows
from .offsets import offsets_like
from .reduce import width_of
from .row_kernels import map_kernel, segment_of


def map_rows(step, rows, by, offsets, out, is_number=False):
    """``out[i] = step(rows[i], by[s])`` for every row i of segment s; ``step`` takes and returns vectors of ``simd``.

    ``by`` has an item per segment, or a number. Kernels are kept by ``step``: make it a function of a module.
    """
    if by.compute_dtype != rows.compute_dtype:
        # ``by`` holds lengths or sums, which float16 would round.
        by = convert(by, rows.compute_dtype)
    width = width_of(rows.columns, rows, out, *([] if is_number else [by]))
    launch_rows(map_kernel(step, width, is_number), width, offsets_like(rows, offsets), out, rows, by)


#: By walk: what a kernel knows of sizes, and the number.
_NUMBERS = {
    "element": ("size, ", "body(at, {args})"),
    "cell": ("size, columns, ", "body(at // columns, at % columns, {args})"),
    "row": ("size, offsets, segments, ", "body(at, segment_of(offsets, segments, at), constant(offsets), {args})"),
}


def map_numbers_of(body, walk):
    """Make ``run(like, n, *args, out=None)``, which makes n numbers by a body of ``kernels/common/maps.py``.

    Without ``out`` they are a new vector of int64, on the device of ``like``.
    """
    sizes, number = _NUMBERS[walk]
    lines = sizes, "at = cuda.grid(1)", "while at < size:", f"    out[at] = {number}", "    at += cuda.gridsize(1)"
    scope = {"body": device(body), "cuda": cuda, "segment_of": segment_of, "constant": vector.constant}
    kernel = cuda.jit(write_loop(body, walk, lines, scope, "constant({})"))

    def run(like, n, *args, out=None):
        out = like.like((n,), np.int64) if out is None else out
        if walk == "row":
            offsets = args[0] if type(args[0]) is View else offsets_like(out, args[0]).offsets
            args = offsets, len(offsets) - 1, *args[1:]
        launch(kernel, n, n, *args, out)
        return out

    return run
