"""Templates of kernels over ragged rows: ``body`` computes, the template walks, in chunks that threads share.

W columns are taken at a time. The last strip of a row may overlap the one before: its columns are computed twice, to
the same bits, and nothing needs a mask. Chunks are cut by rows and not by segments, which may be of any length, at
places that do not depend on the number of threads; so neither do the bits of a result. float16 comes as uint16 bits,
which ``simd.load`` and ``simd.store`` convert. Loops of bodies that both devices share are dealt by positions, those
over rows by segments.
"""

from __future__ import annotations

import numpy as np

from ....jit import jitable, lower_bound, parallel_kernel, prange, settings
from ...common.loops import write_loop

INT64 = np.dtype(np.int64)


def row_kernel(body, width=0):
    """Make a kernel of ``body(i, s, j, a, b, c, offsets, out)`` for row i of ``out``, in segment s.

    Call the kernel as ``kernel(num_elements, a, b, c, offsets, chunk, out)``; a, b and c are the body's own.

    Parameters
    ----------
    body : callable
        Makes no array. Computes W columns from j on; all of a row, with j = 0, where ``width`` is 0.
    width : int
        W: see ``reduce.width_of``.
    """
    body = jitable(body, inline=True, nrt=False)

    @parallel_kernel
    def kernel(a, b, c, offsets, chunk, out):
        rows, columns = out.shape
        step = width if width else max(columns, 1)
        for k in prange((rows + chunk - 1) // chunk):
            s = lower_bound(offsets, k * chunk + 1) - 1
            for i in range(k * chunk, min(rows, (k + 1) * chunk)):
                # A call of ``advance`` compiles 40 ms longer.
                while offsets[s + 1] <= i:
                    s += 1
                for j in range(0, columns, step):
                    body(i, s, min(j, columns - step), a, b, c, offsets, out)

    return kernel


@jitable
def fill(out, s, pad):
    for d in range(out.shape[1]):
        out[s, d] = pad


#: By walk: what a loop knows of sizes, the place of a number, and the lines around the call of the body.
_LOOPS = {
    "element": ("", "i", "for i in prange(size):", "    {call}body(i, {args})"),
    "cell": (
        "columns, ",
        "i * columns + j",
        "for i in prange(size // columns):",
        "    for j in range(columns):",
        "        {call}body(i, j, {args})",
    ),
    "row": (
        "offsets, ",
        "i",
        "for s in prange(len(offsets) - 1):",
        "    for i in range(offsets[s], offsets[s + 1]):",
        "        {call}body(i, s, offsets, {args})",
    ),
}


def _kernel(body, walk, sizes, put, *lines):
    _, _, *loop = _LOOPS[walk]
    scope = {"body": jitable(body, inline=True, nrt=False), "prange": prange}
    return parallel_kernel(write_loop(body, walk, sizes, put, [*lines, *loop], scope))


def loop_of(body, walk, writes):
    """Make ``run(n, *args)`` of a body of ``kernels/common/loops.py``. An iteration counts as ``work`` elements."""
    kernel = _kernel(body, walk, f"size, {_LOOPS[walk][0]}", "")
    compiled = kernel.compiled

    def run(n, *args, work=1):
        if 0 < n * work < settings.parallel_from:
            compiled(n, *args)
        elif n:
            kernel(n * work, n, *args)

    run.loop = kernel
    return run


def numbers_of(body, walk):
    """Make ``run(like, n, *args, out=None)`` of a body: n numbers, in a new vector of int64 without ``out``."""
    sizes, at, *_ = _LOOPS[walk]
    kernel = _kernel(body, walk, sizes, f"out[{at}] = ", "size = out.size")
    compiled = kernel.compiled

    def run(like, n, *args, out=None, work=1):
        numbers = np.empty(n, INT64) if out is None else out.reshape(-1)
        if 0 < n * work < settings.parallel_from:
            compiled(*args, numbers)
        elif n:
            kernel(n * work, *args, numbers)
        return numbers if out is None else out

    run.loop = kernel
    return run
