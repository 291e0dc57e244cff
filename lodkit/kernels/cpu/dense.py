"""CPU kernels of lodkit/ops/dense.py: NumPy's own routines, without double precision where none is needed.

What takes NumPy several passes takes one here.
"""

from __future__ import annotations

import numpy as np

from ...arrays import check_gradient, native, upcast
from ...jit import simd
from ...jit.blas import multiply
from ...lod import LoDTensor
from ...ops import dense as ops
from ...registry import Dense
from ..common.gates import relu_backward, sigmoid_backward, tanh_backward
from .primitives.map_numbers import map_numbers
from .primitives.row_softmax import cross_entropy, cross_entropy_grad


@ops.fc.kernel("cpu")
def fc(x, weight, bias, /):
    rows = ops.check_fc(x, weight, bias)
    out = multiply(upcast(rows), upcast(weight))
    if bias is not None:
        out += bias
    return out.astype(native(x.dtype), copy=False)


@ops.fc_grad.kernel("cpu")
def fc_grad(x, weight, grad, /):
    rows, w = upcast(ops.check_fc(x, weight, None)), upcast(weight)
    g = upcast(check_gradient(grad, (len(x), weight.shape[1])))
    dtype = native(x.dtype)
    by_x = multiply(g, w.T).reshape(x.shape)
    return tuple(d.astype(dtype, copy=False) for d in (by_x, multiply(rows.T, g), g.sum(axis=0, dtype=np.float64)))


@ops.tanh.kernel("cpu")
def tanh(x, /):
    return np.asarray(np.tanh(upcast(ops.check_float(x, "tanh"))), native(x.dtype))


@ops.tanh_grad.kernel("cpu")
def tanh_grad(out, grad, /):
    return map_numbers(tanh_backward, ops.check_grad_output(out, grad, "tanh_grad"), grad)


@ops.relu.kernel("cpu")
def relu(x, /):
    dtype = ops.check_values(x.dtype, "relu")
    return np.asarray(np.maximum(x, x.dtype.type(0)), dtype)


@ops.relu_grad.kernel("cpu")
def relu_grad(out, grad, /):
    return map_numbers(relu_backward, ops.check_grad_output(out, grad, "relu_grad"), grad)


@ops.sigmoid.kernel("cpu")
def sigmoid(x, /):
    return map_numbers(simd.sigmoid, ops.check_float(x, "sigmoid"))


@ops.sigmoid_grad.kernel("cpu")
def sigmoid_grad(out, grad, /):
    return map_numbers(sigmoid_backward, ops.check_grad_output(out, grad, "sigmoid_grad"), grad)


@ops.softmax_with_cross_entropy.kernel("cpu")
def softmax_with_cross_entropy(logits, labels, /):
    return cross_entropy(logits, ops.check_labels(logits, labels))


@ops.softmax_with_cross_entropy_grad.kernel("cpu")
def softmax_with_cross_entropy_grad(logits, labels, grad, /):
    labels = ops.check_labels(logits, labels)
    check_gradient(grad, (len(logits), 1))
    return cross_entropy_grad(logits, labels, grad)


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
