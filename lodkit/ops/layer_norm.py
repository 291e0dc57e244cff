"""Layer normalization: each row to mean 0 and variance 1 over its own elements."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import FLOATING, check_gradient, check_same_type, native
from ..base.errors import ShapeMismatchError
from ..registry import Dense, op

DOCS_PAGE = "layers"
SEARCH_WORDS = {"layer_norm": "LayerNorm, nn.LayerNorm, normalization, normalisation"}


def check_layer_norm(x, scale, bias=None, grad=None, *, epsilon):
    check_same_type("layer_norm", x, scale=scale, bias=bias)
    # The root of a negative number is NaN.
    if not 0 <= epsilon < math.inf:
        raise ValueError(f"layer_norm: epsilon must be finite and at least 0, got {epsilon}")
    if x.ndim < 1:
        raise ShapeMismatchError("layer_norm: x has no dimension; the first one counts rows, pass x.reshape(1, -1)")
    for name, array in (("scale", scale), ("bias", bias)):
        if array is not None and tuple(array.shape) != tuple(x.shape[1:]):
            raise ShapeMismatchError(
                f"layer_norm: the {name} has shape {tuple(array.shape)}, it must be {tuple(x.shape[1:])}: one per "
                f"element of a row"
            )
    if grad is not None:
        check_gradient(grad, x.shape)
    return tuple(range(1, x.ndim)), max(math.prod(x.shape[1:]), 1)


def _normal(x, axes, size, epsilon):
    """Rows of mean 0 and variance 1, and what they were multiplied by."""
    centred = x - x.sum(axis=axes, keepdims=True) / size
    factor = 1 / np.sqrt((centred**2).sum(axis=axes, keepdims=True) / size + epsilon)
    return centred * factor, factor


@op(rowwise=("x",), like="x", types=FLOATING)
def layer_norm(x: Dense, scale: Dense | None = None, bias: Dense | None = None, /, *, epsilon: float = 1e-5) -> Dense:
    """Normalize each row over all its elements: ``(x - mean) / sqrt(variance + epsilon) * scale + bias``.

    Parameters
    ----------
    x : array or LoDTensor
        Rows of any shape.
    scale, bias : array of the shape of a row, optional
    epsilon : float
        At least 0.

    Returns
    -------
    array or LoDTensor
        Like x. Values of float16 are computed in float32.

    Raises
    ------
    ShapeMismatchError
        ``scale`` or ``bias`` does not have the shape of a row.
    DTypeError
        x is not floating, or scale or bias have another type.
    ValueError
        ``epsilon`` is negative or not finite.

    Examples
    --------
    >>> layer_norm(np.array([[1., 3.], [4., 4.]]), np.array([1., 10.]), np.array([0., 5.])).round(3)
    array([[-1., 15.],
           [ 0.,  5.]])
    """
    axes, size = check_layer_norm(x, scale, bias, epsilon=epsilon)
    out, _ = _normal(x.astype(np.float64), axes, size, epsilon)
    out = out if scale is None else out * scale
    return (out if bias is None else out + bias).astype(native(x.dtype))


@op(gradient_of=layer_norm, types=FLOATING)
def layer_norm_grad(
    x: Dense, scale: Dense | None, grad: Dense, /, *, epsilon: float = 1e-5
) -> tuple[Dense, Dense, Dense]:
    """Return the gradients of ``layer_norm`` by x, scale and bias.

    >>> layer_norm_grad(np.array([[1., 3.]]), None, np.array([[0., 2.]]), epsilon=0.)[1:]
    (array([0., 2.]), array([0., 2.]))
    """
    axes, size = check_layer_norm(x, scale, None, grad, epsilon=epsilon)
    normal, factor = _normal(x.astype(np.float64), axes, size, epsilon)
    g = grad.astype(np.float64)
    by_normal = g if scale is None else g * scale
    mean = by_normal.sum(axis=axes, keepdims=True) / size
    slope = (by_normal * normal).sum(axis=axes, keepdims=True) / size
    by_x = (by_normal - mean - normal * slope) * factor
    return tuple(d.astype(native(x.dtype)) for d in (by_x, (g * normal).sum(axis=0), g.sum(axis=0)))


@layer_norm_grad.infer_rule
def _(x, scale, grad, *, epsilon=1e-5):
    row = x.but(dims=x.dims[1:])
    return x, row, row


@layer_norm.example
def _(dtype):
    dtype = np.dtype(np.float32) if dtype.kind == "i" else dtype
    return [((np.ones((2, 3), dtype), np.ones(3, dtype), np.ones(3, dtype)), {})]
