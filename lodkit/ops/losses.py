"""Losses: of every element, or their mean."""

from __future__ import annotations

import numpy as np

from ..arrays import FLOATING, cast_to, check_gradient, check_same_type, check_values, is_plain, native
from ..base.errors import DTypeError, LoDMismatchError, ShapeMismatchError
from ..lod import LoDTensor, values_of
from ..registry import Dense, op

DOCS_PAGE = "layers"
SEARCH_WORDS = {
    "mean_squared_error": "mse, MSELoss, regression loss, l2 loss",
    "sigmoid_cross_entropy_with_logits": (
        "binary cross entropy, BCEWithLogitsLoss, click loss, logistic loss, log loss, negative sampling, "
        "word2vec, skip gram"
    ),
}


def check_logits(logits, labels, grad=None):
    """Check logits and a label for each."""
    name = "sigmoid_cross_entropy_with_logits"
    check_values(logits.dtype, name, floating=True)
    if tuple(labels.shape) != tuple(logits.shape):
        raise ShapeMismatchError(
            f"{name}: labels have shape {tuple(labels.shape)}, logits {tuple(logits.shape)}; pass a label per logit"
        )
    if not is_plain(labels.dtype):
        raise DTypeError(
            f"{name}: labels are numbers from 0 to 1, not {labels.dtype}; {cast_to(np.float64, of=labels.dtype)}"
        )
    if grad is not None:
        check_gradient(grad, logits.shape)


@op(rowwise=True, like="logits", types=FLOATING)
def sigmoid_cross_entropy_with_logits(logits: Dense, labels: Dense, /) -> Dense:
    """Return the binary cross entropy of every logit's sigmoid with its label, without overflow (Paddle).

    Parameters
    ----------
    logits : array or LoDTensor
    labels : array or LoDTensor of the same shape
        0, 1, or a probability.

    Returns
    -------
    array or LoDTensor
        Like logits: ``max(x, 0) - x * label + log(1 + exp(-abs(x)))``.

    Examples
    --------
    >>> sigmoid_cross_entropy_with_logits(np.array([0., 1000., -1000.]), np.array([1, 1, 1])).round(4)
    array([6.931e-01, 0.000e+00, 1.000e+03])
    """
    check_logits(logits, labels)
    x = logits.astype(np.float64)
    return (np.maximum(x, 0) - x * labels + np.log1p(np.exp(-np.abs(x)))).astype(native(logits.dtype))


@sigmoid_cross_entropy_with_logits.gradient
def _(call, grad):
    logits, labels = map(values_of, call.inputs)
    by_logits, by_labels = sigmoid_cross_entropy_with_logits_grad(logits, labels, values_of(grad))
    return by_logits, by_labels if call.wanted[1] else None


@op(rowwise=True, types=FLOATING)
def sigmoid_cross_entropy_with_logits_grad(logits: Dense, labels: Dense, grad: Dense, /) -> tuple[Dense, Dense]:
    """Return the gradients of ``sigmoid_cross_entropy_with_logits`` by logits and labels.

    >>> sigmoid_cross_entropy_with_logits_grad(np.array([0.]), np.array([1.]), np.array([2.]))
    (array([-1.]), array([-0.]))
    """
    check_logits(logits, labels, grad)
    x, g = logits.astype(np.float64), grad.astype(np.float64)
    with np.errstate(over="ignore"):
        by_logits = g * (1 / (1 + np.exp(-x)) - labels)
    return by_logits.astype(native(logits.dtype)), (-x * g).astype(native(logits.dtype))


@sigmoid_cross_entropy_with_logits_grad.infer_rule
def _(logits, labels, grad):
    return logits, logits


def prepare_errors(x, target, grad=None):
    """Check values and what they should be. Returns the arrays of both."""
    if isinstance(x, LoDTensor) and isinstance(target, LoDTensor) and not x.same_lod(target):
        raise LoDMismatchError(f"mean_squared_error: x has lod {x.lod()}, the target {target.lod()}")
    x, target = values_of(x), values_of(target)
    check_same_type("mean_squared_error", x, target=target)
    if tuple(x.shape) != tuple(target.shape):
        raise ShapeMismatchError(
            f"mean_squared_error: x has shape {tuple(x.shape)}, the target {tuple(target.shape)}; they must be equal"
        )
    if grad is not None:
        check_gradient(grad, (1,))
    return x, target


@op(types=FLOATING)
def mean_squared_error(x: Dense | LoDTensor, target: Dense | LoDTensor, /) -> Dense:
    """Return the mean of all ``(x - target)**2``, shape ``(1,)``; 0 of none.

    >>> mean_squared_error(np.array([1., 2.]), np.array([1., 4.]))
    array([2.])
    """
    x, target = prepare_errors(x, target)
    squares = (x.astype(np.float64) - target) ** 2
    return np.array([squares.sum() / max(x.size, 1)], native(x.dtype))


@mean_squared_error.infer_rule
def _(x, target):
    return x.but(dims=(1,), lod_level=0)


@op(like=("x", "target"), gradient_of=mean_squared_error, types=FLOATING)
def mean_squared_error_grad(x: Dense, target: Dense, grad: Dense, /) -> tuple[Dense, Dense]:
    """Return the gradients of ``mean_squared_error`` by x and the target.

    >>> mean_squared_error_grad(np.array([1., 2.]), np.array([1., 4.]), np.array([1.]))
    (array([ 0., -2.]), array([-0.,  2.]))
    """
    x, target = prepare_errors(x, target, grad)
    by_x = (x.astype(np.float64) - target) * (2 * np.float64(grad[0]) / max(x.size, 1))
    return by_x.astype(native(x.dtype)), (-by_x).astype(native(x.dtype))


@sigmoid_cross_entropy_with_logits.example
@mean_squared_error.example
def _(dtype):
    x = np.ones(3, np.float32 if dtype.kind == "i" else dtype)
    return [((x, x), {})]
