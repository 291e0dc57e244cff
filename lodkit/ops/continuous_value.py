"""Show and click counts in the first two columns of a row, as Paddle's click models take them."""

from __future__ import annotations

import numpy as np

from ..arrays import FLOATING, check_gradient, check_values
from ..base.errors import ShapeMismatchError
from ..registry import Dense, op

DOCS_PAGE = "layers"
SEARCH_WORDS = {"continuous_value_model": "CVM, show and click, CTR"}


def check_counts(x, dtype):
    """Check rows of shows, clicks and other columns. Returns their type."""
    dtype = check_values(dtype, "continuous_value_model")
    if len(x.shape) != 2 or x.shape[1] < 2:
        raise ShapeMismatchError(f"x has shape {tuple(x.shape)}; a row holds shows, clicks and other numbers")
    return dtype


def result_shape(dims, use_cvm):
    return (dims[0], dims[1] if use_cvm or dims[1] < 0 else dims[1] - 2)


@op(rowwise=True, types=FLOATING)
def continuous_value_model(x: Dense, /, *, use_cvm: bool = True) -> Dense:
    """Replace the first two columns, counts of shows and of clicks, by logarithms: of the shows, and of clicks a show.

    ``log(show + 1)`` and ``log(click + 1) - log(show + 1)``; without ``use_cvm`` both are dropped. The operator
    corresponds to Paddle's cvm.

    >>> continuous_value_model(np.array([[0., np.e - 1, 5.]]))
    array([[0., 1., 5.]])
    """
    dtype = check_counts(x, x.dtype)
    if not use_cvm:
        return x[:, 2:].astype(dtype)
    out = x.astype(np.float64)
    with np.errstate(all="ignore"):
        out[:, :2] = np.log(out[:, :2] + 1)
    out[:, 1] -= out[:, 0]
    return out.astype(dtype)


@continuous_value_model.infer_rule
def _(x, *, use_cvm=True):
    return x.but(dims=result_shape(x.dims, use_cvm))


@op(rowwise=True, like="x", gradient_of=continuous_value_model, types=FLOATING)
def continuous_value_model_grad(x: Dense, grad: Dense, /, *, use_cvm: bool = True) -> Dense:
    """Return the gradient of ``continuous_value_model``; dropped columns get 0.

    >>> continuous_value_model_grad(np.array([[0., 1., 5.]]), np.array([[1., 2., 3.]]))
    array([[-1.,  1.,  3.]])
    """
    dtype = check_counts(x, x.dtype)
    check_gradient(grad, result_shape(x.shape, use_cvm))
    if not use_cvm:
        return np.concatenate([np.zeros((len(x), 2), dtype), grad], axis=1).astype(dtype)
    out, counts = grad.astype(np.float64), x[:, :2].astype(np.float64) + 1
    out[:, 0] -= out[:, 1]
    with np.errstate(all="ignore"):
        out[:, :2] /= counts
    return out.astype(dtype)


continuous_value_model.example(
    lambda dtype: [((np.ones((3, 4), dtype if np.dtype(dtype).kind == "f" else np.float32),), {})]
)
