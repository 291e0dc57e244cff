"""Activations of every element, and the softmax of rows."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import FLOATING, check_gradient, native
from ..base.errors import ShapeMismatchError
from ..registry import Dense, op
from .dense import check_float, tanh
from .dense import softmax as shares

DOCS_PAGE = "layers"
SEARCH_WORDS = {
    "gelu": "gaussian error linear unit",
    "silu": "swish",
    "softmax": "probabilities of classes, logits to probabilities",
}

ROOT = math.sqrt(2 / math.pi)
CUBIC = 0.044715  # of the polynomial inside the tanh that approximates gelu


def check_rows_of_numbers(x, name):
    if x.ndim < 2:
        raise ShapeMismatchError(
            f"{name} is of rows along the last axis; the array has shape {tuple(x.shape)}, one number per row: pass "
            f"x.reshape(1, -1), or for the numbers of a sequence use sequence_softmax"
        )
    return check_float(x, name)


def check_activation(x, grad, name):
    """Check the input of an activation, or its result, and the gradient by the result."""
    check_gradient(grad, check_float(x, name).shape)


def _round_like(result, like):
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(result, native(like.dtype))


@op(rowwise=True, like="x", types=FLOATING)
def softmax(x: Dense, /) -> Dense:
    """Return the softmax along the last axis of rows, shifted by the maximum.

    A row of only -inf gives 0; k entries of +inf get 1/k each. ``sequence_softmax`` is down the rows of sequences.

    >>> softmax(np.array([[0., 0.], [0., 1000.]]))
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    return _round_like(shares(check_rows_of_numbers(x, "softmax").astype(np.float64)), x)


@op(rowwise=True, like="out", gradient_of=softmax, types=FLOATING)
def softmax_grad(out: Dense, grad: Dense, /) -> Dense:
    """Return the gradient of ``softmax``, from its result: ``(grad - sum(grad * out)) * out``.

    >>> softmax_grad(np.array([[0.5, 0.5]]), np.array([[2., 0.]]))
    array([[ 0.5, -0.5]])
    """
    check_activation(check_rows_of_numbers(out, "softmax_grad"), grad, "softmax_grad")
    y, g = out.astype(np.float64), grad.astype(np.float64)
    return _round_like((g - (g * y).sum(axis=-1, keepdims=True)) * y, out)


@op(rowwise=True, like="x", types=FLOATING)
def gelu(x: Dense, /, *, approximate: bool = False) -> Dense:
    """Return ``x`` times the share of a normal distribution that lies below it: the Gaussian error linear unit.

    Parameters
    ----------
    x : array or LoDTensor of float16, float32 or float64
    approximate : bool
        Use ``x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))``.

    Examples
    --------
    >>> gelu(np.array([-1., 0., 1.])).round(4)
    array([-0.1587,  0.    ,  0.8413])
    """
    y = check_float(x, "gelu").astype(np.float64)
    return _round_like(y * (_tanh_below(y)[0] if approximate else _normal_cdf(y)), x)


def _normal_cdf(x):
    return 0.5 * np.vectorize(math.erfc, otypes=[np.float64])(-x / math.sqrt(2))


def _tanh_below(x):
    """The approximate share below x, and its derivative."""
    t = np.tanh(ROOT * (x + CUBIC * x**3))
    return 0.5 * (1 + t), 0.5 * (1 - t * t) * ROOT * (1 + 3 * CUBIC * x**2)


@op(rowwise=True, like="x", gradient_of=gelu, types=FLOATING)
def gelu_grad(x: Dense, grad: Dense, /, *, approximate: bool = False) -> Dense:
    """Return the gradient of ``gelu`` by its input.

    >>> gelu_grad(np.array([0.]), np.array([2.]))
    array([1.])
    """
    check_activation(x, grad, "gelu_grad")
    y = x.astype(np.float64)
    below, density = _tanh_below(y) if approximate else (_normal_cdf(y), np.exp(-y * y / 2) / math.sqrt(2 * math.pi))
    return _round_like(grad * (below + y * density), x)


@op(rowwise=True, like="x", types=FLOATING)
def silu(x: Dense, /) -> Dense:
    """Return ``x * sigmoid(x)`` of every element, also called swish.

    >>> silu(np.array([0., 1.])).round(4)
    array([0.    , 0.7311])
    """
    y = check_float(x, "silu").astype(np.float64)
    with np.errstate(over="ignore"):
        return _round_like(y / (1 + np.exp(-y)), x)


@op(rowwise=True, like="x", gradient_of=silu, types=FLOATING)
def silu_grad(x: Dense, grad: Dense, /) -> Dense:
    """Return the gradient of ``silu`` by its input.

    >>> silu_grad(np.array([0.]), np.array([2.]))
    array([1.])
    """
    check_activation(x, grad, "silu_grad")
    y = x.astype(np.float64)
    with np.errstate(over="ignore"):
        share = 1 / (1 + np.exp(-y))
    return _round_like(grad * share * (1 + y * (1 - share)), x)


for _operator in (gelu, silu):
    _operator.example(tanh.example_function)


@softmax.example
def _(dtype):
    return [((np.ones((2, 3), np.float32 if dtype.kind == "i" else dtype),), {})]
