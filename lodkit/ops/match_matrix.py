"""Match every step of a sequence with every step of its partner: Paddle's match_matrix_tensor."""

from __future__ import annotations

import numpy as np

from ..arrays import FLOATING, check_gradient, check_values, mixed_types, native
from ..arrays.sizes import size_products
from ..base.errors import LoDMismatchError, ShapeMismatchError
from ..lod import LoDTensor, freeze
from ..lod.levels import load_compiled
from ..registry import Dense, op

DOCS_PAGE = "attend"
SEARCH_WORDS = {"match_matrix": "bilinear, text matching, similarity matrix, cosine, interaction matrix"}


def prepare_match(x, y, weight):
    """Check the inputs on any device. Returns the type, and the offsets of the result."""
    dtype = check_values(x.values.dtype, "match_matrix")
    for name, values in (("y", y.values), ("weight", weight)):
        if native(values.dtype) != dtype:
            raise mixed_types(f"match_matrix: {name}", values.dtype, "x", dtype)
    shapes = tuple(x.values.shape), tuple(y.values.shape), tuple(weight.shape)
    if list(map(len, shapes)) != [2, 2, 3] or shapes[2][::2] != (shapes[0][1], shapes[1][1]):
        raise ShapeMismatchError(
            f"match_matrix: x has shape {shapes[0]}, y {shapes[1]}, weight {shapes[2]}; pass (rows, a), (rows, b) and "
            "(a, channels, b)"
        )
    rows, columns = np.diff(x._row_offsets()), np.diff(y._row_offsets())
    if len(rows) != len(columns):
        raise LoDMismatchError(f"match_matrix: x has {len(rows)} sequences, y {len(columns)}; they are pairs")
    what = "rows of x * rows of y * channels of weight"
    sizes = size_products(size_products(rows, columns, what), weight.shape[1], what)
    return dtype, freeze(load_compiled().lengths_to_offsets(sizes, what))


def _pairs(x, y, weight):
    """Per pair of sequences the slices of their rows and of the result, and the shape of its matrices."""
    _, ends = prepare_match(x, y, weight)
    a, b = x._row_offsets(), y._row_offsets()
    for s in range(len(ends) - 1):
        shape = weight.shape[1], a[s + 1] - a[s], b[s + 1] - b[s]
        yield slice(a[s], a[s + 1]), slice(b[s], b[s + 1]), slice(ends[s], ends[s + 1]), shape


@op(types=FLOATING)
def match_matrix(x: LoDTensor, y: LoDTensor, weight: Dense, /) -> LoDTensor:
    """Return ``x[i] @ weight[:, t] @ y[j]`` for each channel t, step i of a sequence of x, and step j of its pair in y.

    The operator corresponds to Paddle's match_matrix_tensor. The products are BLAS's: a pair's result alone and in a
    batch agrees to rounding.

    Parameters
    ----------
    x, y : LoDTensor of floating numbers, shapes (rows, a) and (rows, b)
        With as many innermost sequences.
    weight : array of shape (a, channels, b)

    Returns
    -------
    LoDTensor of shape (rows, 1)
        Per pair ``channels * len(x) * len(y)`` rows: matrices laid end to end. Outer levels are the levels of x.

    Examples
    --------
    >>> x, y = LoDTensor([[1., 2.]], [[1]]), LoDTensor([[3.], [4.]], [[2]])
    >>> match_matrix(x, y, np.array([[[1.]], [[10.]]])).values.ravel()
    array([63., 84.])
    """
    dtype, ends = prepare_match(x, y, weight)
    out = np.zeros((ends[-1], 1))
    for rows, columns, place, _ in _pairs(x, y, weight):
        parts = (part.astype(np.float64) for part in (x.values[rows], weight, y.values[columns]))
        out[place] = np.einsum("ia,atb,jb->tij", *parts).reshape(-1, 1)
    return LoDTensor._wrap(out.astype(dtype), (*x._lod[:-1], ends))


@match_matrix.infer_rule
def _(x, y, weight):
    return x.but(dims=(-1, 1))


@op(like=("x", "y", "weight"), gradient_of=match_matrix, types=FLOATING)
def match_matrix_grad(x: LoDTensor, y: LoDTensor, weight: Dense, grad: Dense, /) -> tuple[Dense, Dense, Dense]:
    """Return the gradients of ``match_matrix`` by the rows of x, the rows of y, and the weight.

    >>> x, y = LoDTensor([[1., 2.]], [[1]]), LoDTensor([[3.], [4.]], [[2]])
    >>> match_matrix_grad(x, y, np.array([[[1.]], [[10.]]]), np.array([[1.], [1.]]))[0]
    array([[ 7., 70.]])
    """
    dtype, ends = prepare_match(x, y, weight)
    check_gradient(grad, (int(ends[-1]), 1))
    by_x, by_y, by_weight = (np.zeros(part.shape) for part in (x.values, y.values, weight))
    for rows, columns, place, shape in _pairs(x, y, weight):
        g, w = grad[place].reshape(shape).astype(np.float64), weight.astype(np.float64)
        by_x[rows] = np.einsum("tij,atb,jb->ia", g, w, y.values[columns])
        by_y[columns] = np.einsum("tij,atb,ia->jb", g, w, x.values[rows])
        by_weight += np.einsum("tij,ia,jb->atb", g, x.values[rows], y.values[columns].astype(np.float64))
    return by_x.astype(dtype), by_y.astype(dtype), by_weight.astype(dtype)


@match_matrix.example
def _(dtype):
    dtype = dtype if np.dtype(dtype).kind == "f" else np.float32
    x = LoDTensor(np.ones((3, 4), dtype), [[1, 2]])
    return [((x, x, np.ones((4, 2, 4), dtype)), {})]
