"""One function of every number of arrays."""

from __future__ import annotations

import functools

import numpy as np

from ....arrays import native, output
from ....jit import jitable, parallel_kernel, prange, simd
from .reduce_kernels import LANES

_FLOAT32 = np.dtype(np.float32)
CHUNK = 1 << 12  # numbers; the same numbers go through the same lanes for any number of threads


@functools.cache
def _reader(count):
    """Function that reads the lanes of so many arrays, as a tuple."""
    k = count - 1
    read_others = _reader(k) if k else None

    @jitable(inline=True)
    def read(arrays, j, n):
        last = (simd.load_first(arrays[k], 0, j, LANES, n, 0),)
        return read_others(arrays, j, n) + last if k else last

    return read


@functools.cache
def _kernel(step, count):
    """Kernel of ``out[i] = step(*numbers)`` of so many arrays."""
    read = _reader(count)

    @parallel_kernel
    def kernel(arrays, out):
        size = out.shape[1]
        for c in prange((size + CHUNK - 1) // CHUNK):
            stop = min(size, (c + 1) * CHUNK)
            for j in range(c * CHUNK, stop, LANES):
                simd.store_first(out, 0, j, step(*read(arrays, j, stop - j)), stop - j)

    return kernel


def map_numbers(step, *arrays):
    """``step(*numbers)`` of arrays of one shape; ``step`` takes and returns vectors of ``simd``.

    In the type of the first array, float16 by way of float32. One pass, where NumPy makes one per operation. Kernels
    are kept by ``step``: make it a function of a module.
    """
    dtype = native(arrays[0].dtype)
    kind = _FLOAT32 if dtype == np.float16 else dtype
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        rows = tuple([np.asarray(x, kind, order="C").reshape(1, -1) for x in arrays])
        out = output(arrays[0].shape, kind)
        if out.size:
            _kernel(step, len(arrays))(out.size, rows, out.reshape(1, -1))
        return out.astype(dtype, copy=False)
