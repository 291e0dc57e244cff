"""Kernels of lodkit/ops/layer_norm.py: checks in front of each device's arithmetic."""

from __future__ import annotations

from ... import ops
from ...ops.layer_norm import check_layer_norm
from ...registry import Dense


@ops.layer_norm.kernel("cpu", "cuda")
def layer_norm(on, x, scale: Dense | None, bias: Dense | None, /, *, epsilon):
    check_layer_norm(x, scale, bias, epsilon=epsilon)
    return on.layer_norm.normal_rows(x, scale, bias, epsilon)


@ops.layer_norm_grad.kernel("cpu", "cuda")
def layer_norm_grad(on, x, scale: Dense | None, grad, /, *, epsilon):
    check_layer_norm(x, scale, None, grad, epsilon=epsilon)
    return on.layer_norm.gradients(x, scale, grad, epsilon)
