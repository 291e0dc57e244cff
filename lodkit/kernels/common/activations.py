"""Kernels of lodkit/ops/activations.py: checks in front of each device's arithmetic."""

from __future__ import annotations

from ...ops import activations as ops


@ops.softmax.kernel("cpu", "cuda")
def softmax(on, x, /):
    return on.activations.softmax_last(ops.check_rows_of_numbers(x, "softmax"))


@ops.softmax_grad.kernel("cpu", "cuda")
def softmax_grad(on, out, grad, /):
    ops.check_activation(ops.check_rows_of_numbers(out, "softmax_grad"), grad, "softmax_grad")
    return on.activations.softmax_grad_last(out, grad)


@ops.gelu.kernel("cpu", "cuda")
def gelu(on, x, /, *, approximate):
    return on.activations.gelu(ops.check_float(x, "gelu"), approximate)


@ops.gelu_grad.kernel("cpu", "cuda")
def gelu_grad(on, x, grad, /, *, approximate):
    ops.check_activation(x, grad, "gelu_grad")
    return on.activations.gelu_grad(x, grad, approximate)


@ops.silu.kernel("cpu", "cuda")
def silu(on, x, /):
    return on.activations.silu(ops.check_float(x, "silu"))


@ops.silu_grad.kernel("cpu", "cuda")
def silu_grad(on, x, grad, /):
    ops.check_activation(x, grad, "silu_grad")
    return on.activations.silu_grad(x, grad)
