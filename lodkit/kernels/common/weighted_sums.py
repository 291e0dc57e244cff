"""Kernels of lodkit/ops/weighted_sums.py: checked inputs in front of the sums of the device."""

from __future__ import annotations

from ...ops import weighted_sums as ops


@ops.scatter_weighted_sum.kernel("cpu", "cuda")
def scatter_weighted_sum(on, data, weight, ids, /, *rest):
    ids, xs, weights = ops.prepare_scatter(on, data, weight, ids, rest)
    if data.size and ids.size:
        on.weighted_sums.add_rows(data, weight, ids.reshape(-1), xs, weights)
    return data


@ops.weighted_sum.kernel("cpu", "cuda")
def weighted_sum(on, x, weight, /, *rest, out=None):
    dtype, xs, weights = ops.prepare_sum((x, weight, *rest))
    out = on.output(x.shape, dtype, out, x)
    on.weighted_sums.add_arrays(xs, weights, out)
    return out


@ops.weighted_sum_weights_grad.kernel("cpu", "cuda")
def weighted_sum_weights_grad(on, x, weight, grad, /):
    ops.check_weights_grad(x, weight, grad)
    return on.weighted_sums.sum_products(x, grad, weight)
