"""Kernels of lodkit/ops/continuous_value.py: the array library's own routines."""

from __future__ import annotations

import numpy as np

from ...arrays import check_gradient, dtype_of
from ...ops import continuous_value as ops
from .array_api import namespace, round_to, upcast_half


@ops.continuous_value_model.kernel("cpu")
@ops.continuous_value_model.kernel("cuda")
def continuous_value_model(x, /, *, use_cvm):
    dtype, xp = ops.check_counts(x, dtype_of(x)), namespace(x)
    y = upcast_half(x)
    with np.errstate(all="ignore"):
        if use_cvm:
            logs = xp.log(y[:, :2] + 1)
            y = xp.concat([logs[:, :1], logs[:, 1:] - logs[:, :1], y[:, 2:]], axis=1)
        else:
            y = xp.asarray(y[:, 2:], copy=True)
        return round_to(y, dtype)


@ops.continuous_value_model_grad.kernel("cpu")
@ops.continuous_value_model_grad.kernel("cuda")
def continuous_value_model_grad(x, grad, /, *, use_cvm):
    dtype, xp = ops.check_counts(x, dtype_of(x)), namespace(x)
    check_gradient(grad, ops.result_shape(x.shape, use_cvm))
    x = upcast_half(x)
    counts = x[:, :2] + 1
    # Differences of small integers would wrap round.
    g = xp.asarray(upcast_half(grad), dtype=x.dtype)
    with np.errstate(all="ignore"):
        first = xp.zeros_like(counts)
        if use_cvm:
            first, g = xp.concat([(g[:, :1] - g[:, 1:2]), g[:, 1:2]], axis=1) / counts, g[:, 2:]
        return round_to(xp.concat([first, g], axis=1), dtype)
