"""One function of every number of arrays."""

from __future__ import annotations

import functools

import numpy as np

from ....arrays import output
from ....jit import jitable, parallel_kernel, prange, settings, simd
from .device import round_like
from .flat_kernels import LANES

_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
# The same elements go through the same lanes for any number of threads.
CHUNK = 1 << 12


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


def to_common_type(*arrays):
    """Arrays in the widest of their types, at least float32 and at most float64: the type, then C-contiguous arrays."""
    kind = arrays[0].dtype
    differs = len(arrays) > 1 and any(x.dtype is not kind for x in arrays)
    if differs or kind not in (_FLOAT32, _FLOAT64):
        kind = min(np.result_type(_FLOAT32, *(x.dtype for x in arrays)), _FLOAT64)
        with np.errstate(over="ignore"):
            return kind, *(np.asarray(x, kind, order="C") for x in arrays)
    return kind, *map(np.ascontiguousarray, arrays)


def map_numbers(step, *arrays):
    """``step(*numbers)`` of arrays of one shape; ``step`` takes and returns vectors of ``simd``.

    In the type of the first array, computed in the widest of all. One pass, where NumPy makes one per operation.
    Kernels are kept by ``step``: make it a function of a module.
    """
    (kind, *rows), like = to_common_type(*arrays), arrays[0]
    out, size = output(like.shape, kind), like.size
    if size:
        rows, target = tuple([x.reshape(1, -1) for x in rows]), out.reshape(1, -1)
        kernel = _kernel(step, len(rows))
        if size < settings.parallel_from:
            # A look at the types of a tuple takes a microsecond.
            (kernel.entries.get(kind) or kernel.keep_entry(kind, rows, target))(rows, target)
        else:
            kernel(size, rows, target)
    return out if like.dtype is kind else round_like(like, out)
