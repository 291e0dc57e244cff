"""CPU kernels of lodkit/ops/columns.py: NumPy's own copies."""

from __future__ import annotations

import numpy as np

from .. import arrays
from ..arrays import native
from ..ops import columns as ops
from ..registry import Dense


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
