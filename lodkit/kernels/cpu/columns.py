"""CPU kernels of lodkit/ops/columns.py: NumPy's own copies."""

from __future__ import annotations

import math

import numpy as np

from ... import arrays
from ...arrays import native
from ...ops import columns as ops
from ...registry import Dense


@ops.concat_columns.kernel("cpu")
def concat(*xs: Dense, out=None):
    widths = ops.check_columns(xs)
    rows = len(xs[0])
    out = arrays.output((rows, sum(widths)), native(xs[0].dtype), out)
    return np.concatenate([x.reshape(rows, w) for x, w in zip(xs, widths, strict=True)], axis=1, out=out)


@ops.concat_columns_grad.kernel("cpu")
def concat_grad(grad: Dense, /, *xs: Dense):
    ends = np.cumsum(ops.check_columns(xs, grad))
    parts = np.split(grad, ends[:-1], axis=1)
    return tuple(p.reshape(x.shape).astype(native(x.dtype)) for p, x in zip(parts, xs, strict=True))


def _ranges(pairs):
    """Each range of the items, and of what lies side by side."""
    end = 0
    for start, stop in pairs:
        end += stop - start
        yield slice(start, stop), slice(end - stop + start, end)


@ops.slice_columns.kernel("cpu")
def slice_(x: Dense, /, *, ranges, out=None):
    pairs, width = ops.check_ranges(x, ranges)
    out = arrays.output((len(x), width), native(x.dtype), out)
    flat = x.reshape(len(x), math.prod(x.shape[1:]))
    for source, place in _ranges(pairs):
        out[:, place] = flat[:, source]
    return out


@ops.slice_columns_grad.kernel("cpu")
def slice_grad(x: Dense, grad: Dense, /, *, ranges):
    pairs, _ = ops.check_ranges(x, ranges, grad)
    dtype = native(x.dtype)
    total = np.zeros((len(x), math.prod(x.shape[1:])), np.float32 if dtype == np.float16 else dtype)
    for place, source in _ranges(pairs):
        total[:, place] += grad[:, source]
    with np.errstate(over="ignore"):
        return total.reshape(x.shape).astype(dtype, copy=False)
