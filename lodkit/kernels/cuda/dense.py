"""CUDA kernels of lodkit/ops/dense.py: the array library's own routines, by the array API that libraries share."""

from __future__ import annotations

from ...arrays.cuda import checked_ids, library_of, view
from ...lod import LoDTensor
from ...ops import dense as ops
from ...registry import Dense
from .activations import softmax_of


def _namespace(x):
    return library_of(x).namespace()


def _upcast(xp, x):
    """float16 as float32: routines differ in what they do with halves."""
    x = xp.asarray(x)
    return xp.astype(x, xp.float32) if x.dtype == xp.float16 else x


@ops.fc.kernel("cuda")
def fc(x, weight, bias, /):
    rows = ops.check_fc(view(x), view(weight), None if bias is None else view(bias))
    xp = _namespace(x)
    out = xp.matmul(_upcast(xp, rows.array), _upcast(xp, weight))
    if bias is not None:
        out = out + _upcast(xp, bias)
    return xp.astype(out, x.dtype, copy=False)


@ops.fc_grad.kernel("cuda")
def fc_grad(x, weight, grad, /):
    rows = ops.check_fc(view(x), view(weight), None)
    ops.check_gradient(view(grad), (len(x), weight.shape[1]))
    xp = _namespace(x)
    a, w, g = _upcast(xp, rows.array), _upcast(xp, weight), _upcast(xp, grad)
    by_x = xp.reshape(xp.matmul(g, xp.permute_dims(w, (1, 0))), tuple(x.shape))
    by_weight = xp.matmul(xp.permute_dims(a, (1, 0)), g)
    return tuple(xp.astype(d, x.dtype, copy=False) for d in (by_x, by_weight, xp.sum(g, axis=0, dtype=xp.float64)))


@ops.tanh.kernel("cuda")
def tanh(x, /):
    ops.check_float(view(x), "tanh")
    xp = _namespace(x)
    return xp.astype(xp.tanh(_upcast(xp, x)), x.dtype, copy=False)


@ops.tanh_grad.kernel("cuda")
def tanh_grad(out, grad, /):
    ops.check_grad_output(view(out), view(grad), "tanh_grad")
    xp = _namespace(out)
    y = _upcast(xp, out)
    return xp.astype(_upcast(xp, grad) * (1 - y * y), out.dtype, copy=False)


@ops.relu.kernel("cuda")
def relu(x, /):
    ops.check_values(view(x).dtype, "relu")
    xp = _namespace(x)
    y = xp.asarray(x)
    return xp.where(y < 0, xp.zeros_like(y), y)  # NaN stays


@ops.relu_grad.kernel("cuda")
def relu_grad(out, grad, /):
    ops.check_grad_output(view(out), view(grad), "relu_grad")
    xp = _namespace(out)
    y, g = xp.asarray(out), xp.asarray(grad)
    return xp.astype(xp.where(y > 0, g, xp.zeros_like(g)), out.dtype, copy=False)


@ops.sigmoid.kernel("cuda")
def sigmoid(x, /):
    ops.check_float(view(x), "sigmoid")
    xp = _namespace(x)
    y = _upcast(xp, x)
    small = xp.exp(-xp.abs(y))
    return xp.astype(xp.where(y >= 0, xp.ones_like(y), small) / (1 + small), x.dtype, copy=False)


@ops.sigmoid_grad.kernel("cuda")
def sigmoid_grad(out, grad, /):
    ops.check_grad_output(view(out), view(grad), "sigmoid_grad")
    xp = _namespace(out)
    y = _upcast(xp, out)
    return xp.astype(_upcast(xp, grad) * (y * (1 - y)), out.dtype, copy=False)


def _labels(logits, labels):
    """Labels as int64 of shape (rows, 1), each a class."""
    ops.check_classes(view(logits), view(labels))
    classes = logits.shape[1]
    checked_ids(
        labels, classes, "labels", lambda numbers, at: ops.bad_label(numbers.reshape(-1), at, classes), always=True
    )
    xp = _namespace(logits)
    return xp, xp.reshape(xp.astype(xp.asarray(labels), xp.int64, copy=False), (-1, 1))


@ops.softmax_with_cross_entropy.kernel("cuda")
def softmax_with_cross_entropy(logits, labels, /):
    xp, chosen = _labels(logits, labels)
    rows = _upcast(xp, logits)
    if not rows.shape[0]:
        return xp.zeros((0, 1), dtype=logits.dtype, device=rows.device)
    top = xp.max(rows, axis=1, keepdims=True)
    shifted = rows - top
    losses = xp.log(xp.sum(xp.exp(shifted), axis=1, keepdims=True)) - xp.take_along_axis(shifted, chosen, axis=1)
    rare = -xp.log(xp.take_along_axis(softmax_of(xp, rows), chosen, axis=1))
    return xp.astype(xp.where(xp.isfinite(top), losses, rare), logits.dtype, copy=False)


@ops.softmax_with_cross_entropy_grad.kernel("cuda")
def softmax_with_cross_entropy_grad(logits, labels, grad, /):
    xp, chosen = _labels(logits, labels)
    ops.check_gradient(view(grad), (len(logits), 1))
    rows = _upcast(xp, logits)
    classes = xp.arange(rows.shape[1], dtype=xp.int64, device=rows.device)
    hit = xp.astype(chosen == xp.reshape(classes, (1, -1)), rows.dtype)
    return xp.astype((softmax_of(xp, rows) - hit) * _upcast(xp, grad), logits.dtype, copy=False)


@ops.mean.kernel("cuda")
def mean(x: Dense, /):
    size = ops.check_float(view(x), "mean").size
    xp = _namespace(x)
    total = xp.sum(xp.asarray(x), dtype=xp.float64)
    return xp.astype(xp.reshape(total / max(size, 1), (1,)), x.dtype, copy=False)


@ops.mean.kernel("cuda")
def mean_of_rows(x: LoDTensor, /):
    return mean(x.values)


@ops.mean_grad.kernel("cuda")
def mean_grad(x, grad, /):
    size = ops.check_float(view(x), "mean_grad").size
    ops.check_gradient(view(grad), (1,))
    xp = _namespace(x)
    share = xp.astype(_upcast(xp, grad) / max(size, 1), x.dtype, copy=False)
    return xp.zeros_like(xp.asarray(x)) + xp.reshape(share, (1,) * len(x.shape))
