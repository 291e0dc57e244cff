"""Arithmetic between every row and the value of its segment, and loops of bodies that both devices share."""

from __future__ import annotations

import numpy as np

from ....arrays.cuda import View, convert, cuda, device, launch, vector
from ...common.loops import write_loop
from .gradients import launch_rows
from .offsets import offsets_like
from .reduce import width_of
from .row_kernels import map_kernel, segment_of


def map_rows(step, rows, by, offsets, out, is_number=False):
    """``out[i] = step(rows[i], by[s])`` for every row i of segment s; ``step`` takes and returns vectors of ``simd``.

    ``by`` has an item per segment, or a number. ``out`` may be ``rows``: widths divide the columns. Kernels are kept by
    ``step``: make it a function of a module.
    """
    if by.compute_dtype != rows.compute_dtype:
        # ``by`` holds lengths or sums, which float16 would round.
        by = convert(by, rows.compute_dtype)
    width = width_of(rows.columns, rows, out, *([] if is_number else [by]))
    launch_rows(map_kernel(step, width, is_number), width, offsets_like(rows, offsets), out, rows, by)


#: By walk: what a kernel knows of sizes, and the call of the body.
_CALLS = {
    "element": ("size, ", "body(at, {args})"),
    "cell": ("size, columns, ", "body(at // columns, at % columns, {args})"),
    "row": ("size, offsets, segments, ", "body(at, segment_of(offsets, segments, at), constant(offsets), {args})"),
}


def _kernel(body, walk, put="", writes=0):
    sizes, call = _CALLS[walk]
    lines = "at = cuda.grid(1)", "while at < size:", "    {call}" + call, "    at += cuda.gridsize(1)"
    scope = {"body": device(body), "cuda": cuda, "segment_of": segment_of, "constant": vector.constant}
    return cuda.jit(write_loop(body, walk, sizes, put, lines, scope, writes, "constant({})"))


def _with_segments(like, offsets, *args):
    """Arguments of a kernel over rows: the offsets, where an array is, and the number of segments."""
    offsets = offsets if type(offsets) is View else offsets_like(like, offsets).offsets
    return offsets, len(offsets) - 1, *args


def loop_of(body, walk, writes):
    """Make ``run(n, *args)`` of a body of ``kernels/common/loops.py``; ``work`` is for other devices."""
    kernel = _kernel(body, walk, writes=writes)

    def run(n, *args, work=1):
        launch(kernel, n, n, *(_with_segments(args[-1], *args) if walk == "row" else args))

    run.loop = kernel
    return run


def numbers_of(body, walk):
    """Make ``run(like, n, *args, out=None)`` of a body: n numbers, in a new vector of int64 without ``out``."""
    kernel = _kernel(body, walk, "out[at] = ")

    def run(like, n, *args, out=None, work=1):
        out = like.like((n,), np.int64) if out is None else out
        launch(kernel, n, n, *(_with_segments(out, *args) if walk == "row" else args), out)
        return out

    run.loop = kernel
    return run
