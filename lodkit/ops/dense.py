"""The few dense operators that a small model needs."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import COMPUTED, FLOATING, check_gradient, check_values, integers, mixed_types, native
from ..base.errors import RowIndexError, ShapeMismatchError, SizeError
from ..lod import LoDTensor
from ..registry import Dense, op

DOCS_PAGE = "layers"
SEARCH_WORDS = {
    "fc": "linear layer, Linear, nn.Linear, dense layer, Dense, matmul, fully connected, matrix product",
    "mean": "average of all, reduce_mean",
    "relu": "rectified linear unit, ReLU",
    "sigmoid": "logistic",
    "softmax_with_cross_entropy": (
        "cross entropy, CrossEntropyLoss, ignore_index, nll loss, classification loss, log loss, label smoothing, "
        "negative log likelihood, cross_entropy"
    ),
    "tanh": "hyperbolic tangent",
}

# No machine addresses more elements.
MEMORY = 1 << 48


def check_fc(x, weight, bias):
    check_values(x.dtype, "fc")
    width = math.prod(x.shape[1:])
    if weight.ndim != 2 or x.ndim < 1 or weight.shape[0] != width:
        raise ShapeMismatchError(
            f"fc: rows of {width} elements meet a weight of shape {weight.shape}; it must be ({width}, n)"
        )
    if bias is not None and bias.shape != (weight.shape[1],):
        raise ShapeMismatchError(f"fc: the bias has shape {bias.shape}, it must be ({weight.shape[1]},)")
    for name, array in (("weight", weight), ("bias", bias)):
        if array is not None and native(array.dtype) != native(x.dtype):
            raise mixed_types(f"fc: the {name}", array.dtype, "the input", x.dtype)
    return x.reshape(len(x), width)


def check_float(x, name):
    check_values(x.dtype, name, floating=True)
    return x


def check_grad_output(out, grad, name):
    """Check the result of an activation, and the gradient by it."""
    check_gradient(grad, check_float(out, name).shape)
    return out


def check_classes(logits, labels):
    """Check logits and the shape of labels: one per row."""
    check_values(logits.dtype, "softmax_with_cross_entropy")
    if logits.ndim != 2:
        raise ShapeMismatchError(f"logits have shape {logits.shape}; they must be (rows, classes)")
    if labels.shape not in ((len(logits),), (len(logits), 1)):
        raise ShapeMismatchError(f"labels have shape {labels.shape} for {len(logits)} rows; pass one class per row")


def bad_label(labels, i, classes):
    return RowIndexError(f"labels[{i}] = {labels[i]} is outside [0, {classes}) (the number of classes)")


def check_labels(logits, labels):
    # Private copy: another thread may write to the array meanwhile.
    labels = integers(labels, "labels").copy()
    check_classes(logits, labels)
    labels = labels.reshape(-1)
    bad = (labels < 0) | (labels >= logits.shape[1])
    if bad.any():
        raise bad_label(labels, int(np.argmax(bad)), logits.shape[1])
    return labels


def softmax(logits):
    """Return the softmax along the last axis; a row of -inf gives 0, k entries of +inf get 1/k each."""
    top = logits.max(axis=-1, keepdims=True, initial=-np.inf)
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        e = np.where(np.isposinf(top), np.isposinf(logits), np.exp(logits - np.where(np.isneginf(top), 0, top)))
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total == 0, 1, total)


@op(rowwise=("x",), types=FLOATING)
def fc(x: Dense, weight: Dense, bias: Dense | None = None, /) -> Dense:
    """Return ``x @ weight + bias``, every row flattened.

    The products are BLAS's: a row's result alone and in a batch agrees to rounding.

    >>> fc(np.array([[1., 2.]]), np.array([[1., 0.], [0., 1.]]), np.array([10., 20.]))
    array([[11., 22.]])
    """
    rows = check_fc(x, weight, bias)
    out = np.einsum("nk,km->nm", rows.astype(np.float64), weight.astype(np.float64))
    return (out if bias is None else out + bias).astype(x.dtype)


@fc.infer_rule
def _(x, weight, bias=None):
    width = -1 if -1 in x.dims[1:] else math.prod(x.dims[1:])
    if len(weight.dims) != 2 or (width >= 0 and weight.dims[0] not in (-1, width)):
        raise ShapeMismatchError(f"fc: rows of {width} elements meet a weight of shape {tuple(weight.dims)}")
    return x.but(dims=(x.dims[0], weight.dims[1]))


@op(gradient_of=fc, types=FLOATING)
def fc_grad(x: Dense, weight: Dense, grad: Dense, /) -> tuple[Dense, Dense, Dense]:
    """Return the gradients of ``fc`` by its input, weight and bias.

    >>> fc_grad(np.array([[1., 2.]]), np.array([[3.], [4.]]), np.array([[1.]]))[0]
    array([[3., 4.]])
    """
    rows = check_fc(x, weight, None).astype(np.float64)
    g = check_gradient(grad, (len(x), weight.shape[1])).astype(np.float64)
    by_x = np.einsum("nm,km->nk", g, weight.astype(np.float64)).reshape(x.shape)
    return tuple(d.astype(x.dtype) for d in (by_x, np.einsum("nk,nm->km", rows, g), g.sum(axis=0)))


@fc_grad.infer_rule
def _(x, weight, grad):
    return x, weight, weight.but(dims=weight.dims[1:])


@op(rowwise=True, like="x", types=FLOATING)
def tanh(x: Dense, /) -> Dense:
    """Return the hyperbolic tangent of every element.

    >>> tanh(np.array([0.]))
    array([0.])
    """
    return np.asarray(np.tanh(check_float(x, "tanh").astype(np.float64)), x.dtype)


@op(rowwise=True, like="out", gradient_of=tanh, types=FLOATING)
def tanh_grad(out: Dense, grad: Dense, /) -> Dense:
    """Return the gradient of ``tanh`` by its input, from its result.

    >>> tanh_grad(np.array([0.5]), np.array([2.]))
    array([1.5])
    """
    check_grad_output(out, grad, "tanh_grad")
    return (grad * (1 - out.astype(np.float64) ** 2)).astype(out.dtype)


@op(rowwise=True, like="x", types=COMPUTED)
def relu(x: Dense, /) -> Dense:
    """Return the larger of every element and 0; NaN stays.

    >>> relu(np.array([-1., 2.]))
    array([0., 2.])
    """
    return np.where(x < 0, 0, check_values(x.dtype, "relu") and x).astype(x.dtype)


@op(rowwise=True, like="out", gradient_of=relu, types=FLOATING)
def relu_grad(out: Dense, grad: Dense, /) -> Dense:
    """Return the gradient of ``relu`` by its input, from its result.

    >>> relu_grad(np.array([0., 2.]), np.array([5., 5.]))
    array([0., 5.])
    """
    check_grad_output(out, grad, "relu_grad")
    return np.where(out > 0, grad, 0).astype(out.dtype)


@op(rowwise=True, like="x", types=FLOATING)
def sigmoid(x: Dense, /) -> Dense:
    """Return ``1 / (1 + exp(-x))`` of every element, without overflow.

    >>> sigmoid(np.array([0.]))
    array([0.5])
    """
    exact = check_float(x, "sigmoid").astype(np.float64)
    small = np.exp(-np.abs(exact))
    return np.asarray(np.where(exact >= 0, 1 / (1 + small), small / (1 + small)), x.dtype)


@op(rowwise=True, like="out", gradient_of=sigmoid, types=FLOATING)
def sigmoid_grad(out: Dense, grad: Dense, /) -> Dense:
    """Return the gradient of ``sigmoid`` by its input, from its result.

    >>> sigmoid_grad(np.array([0.5]), np.array([4.]))
    array([1.])
    """
    exact = check_grad_output(out, grad, "sigmoid_grad").astype(np.float64)
    return (grad * exact * (1 - exact)).astype(out.dtype)


@op(rowwise=True, types=FLOATING)
def softmax_with_cross_entropy(logits: Dense, labels: Dense, /) -> Dense:
    """Return the cross entropy of each row's softmax with its class, shape ``(rows, 1)`` (Paddle).

    Raises
    ------
    RowIndexError
        A label is negative or not below the number of columns.

    Examples
    --------
    >>> softmax_with_cross_entropy(np.zeros((1, 4)), [2]).round(4)
    array([[1.3863]])
    """
    labels = check_labels(logits, labels)
    with np.errstate(divide="ignore"):
        logs = np.log(softmax(logits.astype(np.float64)))
    return -logs[np.arange(len(labels)), labels].reshape(-1, 1).astype(logits.dtype)


@softmax_with_cross_entropy.infer_rule
def _(logits, labels):
    return logits.but(dims=(logits.dims[0], 1))


@op(rowwise=True, like="logits", gradient_of=softmax_with_cross_entropy, types=FLOATING)
def softmax_with_cross_entropy_grad(logits: Dense, labels: Dense, grad: Dense, /) -> Dense:
    """Return the gradient of ``softmax_with_cross_entropy`` by the logits.

    >>> softmax_with_cross_entropy_grad(np.zeros((1, 2)), [0], np.array([[1.]]))
    array([[-0.5,  0.5]])
    """
    labels = check_labels(logits, labels)
    check_gradient(grad, (len(logits), 1))
    result = softmax(logits.astype(np.float64))
    result[np.arange(len(labels)), labels] -= 1
    return (result * grad).astype(logits.dtype)


def check_mean(x):
    """Check the input of ``mean``, which makes no array by whose size NumPy would refuse it."""
    if x.size > MEMORY:
        raise SizeError(
            f"mean: x of shape {x.shape} repeats numbers, by strides of 0: no loop over {x.size} of them ends; "
            "take the mean of those in memory"
        )
    return check_float(x, "mean")


@op(types=FLOATING)
def mean(x: Dense | LoDTensor, /) -> Dense:
    """Return the mean of all elements, shape ``(1,)``; 0 of none.

    >>> mean(np.array([1., 2.]))
    array([1.5])
    """
    x = check_mean(x.values if isinstance(x, LoDTensor) else x)
    return np.array([x.astype(np.float64).sum() / max(x.size, 1)], x.dtype)


@mean.infer_rule
def _(x):
    return x.but(dims=(1,), lod_level=0)


@op(like="x", gradient_of=mean, types=FLOATING)
def mean_grad(x: Dense, grad: Dense, /) -> Dense:
    """Return the gradient of ``mean``: an equal share per element.

    >>> mean_grad(np.zeros(4), np.array([2.]))
    array([0.5, 0.5, 0.5, 0.5])
    """
    check_gradient(grad, (1,))
    return np.full(x.shape, grad[0] / max(x.size, 1), check_float(x, "mean_grad").dtype)


for _operator in (tanh, relu, sigmoid, mean):
    _operator.example(lambda dtype: [((np.ones((2, 3), dtype),), {})])
fc.example(lambda dtype: [((np.ones((2, 3), dtype), np.ones((3, 2), dtype), np.ones(2, dtype)), {})])
softmax_with_cross_entropy.example(lambda dtype: [((np.ones((2, 3), dtype), np.array([0, 2])), {})])
