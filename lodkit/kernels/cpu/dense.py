"""CPU kernels of lodkit/ops/dense.py: NumPy's own routines, without double precision where none is needed; softmax is
that of sequences.
"""

from __future__ import annotations

import numpy as np

from ...arrays import check_gradient, native, upcast
from ...lod import LoDTensor
from ...ops import dense as ops
from ...registry import Dense
from .primitives.softmax import softmax_last


@ops.fc.kernel("cpu")
def fc(x, weight, bias, /):
    rows = ops.check_fc(x, weight, bias)
    out = upcast(rows) @ upcast(weight)
    if bias is not None:
        out += bias
    return out.astype(native(x.dtype), copy=False)


@ops.fc_grad.kernel("cpu")
def fc_grad(x, weight, grad, /):
    rows, w = upcast(ops.check_fc(x, weight, None)), upcast(weight)
    g = upcast(check_gradient(grad, (len(x), weight.shape[1])))
    dtype = native(x.dtype)
    by_x = (g @ w.T).reshape(x.shape)
    return tuple(d.astype(dtype, copy=False) for d in (by_x, rows.T @ g, g.sum(axis=0, dtype=np.float64)))


@ops.tanh.kernel("cpu")
def tanh(x, /):
    return np.asarray(np.tanh(upcast(ops.check_float(x, "tanh"))), native(x.dtype))


@ops.tanh_grad.kernel("cpu")
def tanh_grad(out, grad, /):
    y = upcast(ops.check_grad_output(out, grad, "tanh_grad"))
    return (grad * (1 - y * y)).astype(native(out.dtype), copy=False)


@ops.relu.kernel("cpu")
def relu(x, /):
    dtype = ops.check_values(x.dtype, "relu")
    return np.asarray(np.maximum(x, x.dtype.type(0)), dtype)


@ops.relu_grad.kernel("cpu")
def relu_grad(out, grad, /):
    ops.check_grad_output(out, grad, "relu_grad")
    return np.where(out > 0, grad, grad.dtype.type(0)).astype(native(out.dtype), copy=False)


@ops.sigmoid.kernel("cpu")
def sigmoid(x, /):
    y = upcast(ops.check_float(x, "sigmoid"))
    out, total = np.asarray(np.minimum(y, 0)), np.asarray(-np.abs(y))
    with np.errstate(under="ignore"):  # np.where takes 34 ms for 6.4 million random signs, all of this 15
        np.exp(out, out=out)
        np.exp(total, out=total)
    total += 1
    out /= total
    return np.asarray(out, native(x.dtype))


@ops.sigmoid_grad.kernel("cpu")
def sigmoid_grad(out, grad, /):
    y = upcast(ops.check_grad_output(out, grad, "sigmoid_grad"))
    return (grad * (y * (1 - y))).astype(native(out.dtype), copy=False)


@ops.softmax_with_cross_entropy.kernel("cpu")
def softmax_with_cross_entropy(logits, labels, /):
    labels = ops.check_labels(logits, labels)
    rows = upcast(logits)
    top = rows.max(axis=1, keepdims=True, initial=-np.inf)
    if np.isfinite(top).all():
        shifted = rows - top
        with np.errstate(under="ignore"):
            total = np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        losses = total - np.take_along_axis(shifted, labels[:, None], axis=1)
    else:
        with np.errstate(divide="ignore"):
            losses = -np.log(np.take_along_axis(softmax_last(rows), labels[:, None], axis=1))
    return losses.astype(native(logits.dtype), copy=False)


@ops.softmax_with_cross_entropy_grad.kernel("cpu")
def softmax_with_cross_entropy_grad(logits, labels, grad, /):
    labels = ops.check_labels(logits, labels)
    check_gradient(grad, (len(logits), 1))
    result = softmax_last(upcast(logits))
    result[np.arange(len(labels)), labels] -= 1
    result *= upcast(grad)
    return result.astype(native(logits.dtype), copy=False)


@ops.mean.kernel("cpu")
def mean(x: Dense, /):
    ops.check_mean(x)
    return np.array([x.sum(dtype=np.float64) / max(x.size, 1)], native(x.dtype))


@ops.mean.kernel("cpu")
def mean_of_rows(x: LoDTensor, /):
    return mean(x.values)


@ops.mean_grad.kernel("cpu")
def mean_grad(x, grad, /):
    dtype = native(ops.check_float(x, "mean_grad").dtype)
    check_gradient(grad, (1,))
    return np.full(x.shape, grad[0] / max(x.size, 1), dtype)
