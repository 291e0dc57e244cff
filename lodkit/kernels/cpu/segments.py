"""CPU part of lodkit/ops/segments.py: numbers with unsorted ids, whose sort costs more than the numbers."""

from __future__ import annotations

import functools

import numpy as np

from ... import arrays
from ...arrays import is_half, native, to_dtype, total_dtype, upcast
from ...jit import jitable, njit
from ...jit.reducers import REDUCERS, whole_weight
from ...ops.conversions import check_rows
from ...ops.shared.reductions import pad_of, result_dtype
from .conversions import unsorted_ids


@functools.cache
def _kernel(reduce, counts):
    """Kernel over values in order: one thread, so the bits of a result do not depend on the number of threads.

    ``counts`` marks empty segments; without, their result is the initial value: half the time.
    """
    reducer = REDUCERS[reduce]
    divides, divisor = reducer.divisor is not None, jitable(reducer.divisor or whole_weight)
    step = jitable(reducer.step)

    @njit
    def kernel(values, ids, total, count, pad, out):
        for i in range(len(ids)):
            # An unsigned index skips Numba's branch for negative ones. The test is for an id that another thread wrote
            # since it was checked.
            s = np.uint64(ids[i])
            if s < np.uint64(len(total)):
                total[s] = step(total[s], values[i])
                if counts:
                    count[s] += 1
        for s in range(len(out)):
            if counts and count[s] == 0:
                out[s] = pad
            elif divides:
                out[s] = total[s] / divisor(float(count[s]))
            else:
                out[s] = total[s]

    return kernel


def _start(reduce, dtype):
    """The initial value of a segment, in the type of the total."""
    if reduce in ("max", "min"):
        low, high = (-np.inf, np.inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        return low if reduce == "max" else high
    return REDUCERS[reduce].start


def scatter_loop(data, reduce, pad_value, dtype):
    """The loop of ``scatter``, and what was chosen for these numbers."""
    *_, counts = _prepare(data, reduce, pad_value, result_dtype(data.dtype, reduce, dtype))
    return _kernel(reduce, counts), {"empty segments": "counted" if counts else "as their pad value"}


def _prepare(data, reduce, pad_value, dtype):
    """The type of totals, the pad as the kernel takes it, the initial value, and whether empty segments are counted."""
    kind = total_dtype(native(upcast(data[:0]).dtype))
    pad = upcast(np.asarray(pad_of(pad_value, dtype)))[()]
    start = _start(reduce, kind)
    return kind, pad, start, REDUCERS[reduce].divisor is not None or pad != start


def scatter(data, segments, reduce, num_segments, pad_value, dtype, out):
    """Reduce a vector by unsorted ids, without a sort; sums are of double precision."""
    ids, num_segments = unsorted_ids(segments, num_segments)
    check_rows("unsorted_ids", (len(ids),), len(data))
    dtype = result_dtype(data.dtype, reduce, dtype)
    out = arrays.output((num_segments,), dtype, out)
    numbers = np.empty(num_segments, np.float32) if is_half(out.dtype) else out
    values = upcast(data)
    values = values.astype(native(values.dtype), copy=False)
    kind, pad, start, counts = _prepare(data, reduce, pad_value, dtype)
    total = np.full(num_segments, start, kind)
    count = np.zeros(num_segments if counts else 0, np.int64)
    _kernel(reduce, counts)(np.ascontiguousarray(values), ids, total, count, numbers.dtype.type(pad), numbers)
    if numbers is not out:
        out[:] = to_dtype(numbers, out.dtype)
    return out
