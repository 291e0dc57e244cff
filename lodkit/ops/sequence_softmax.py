"""Softmax of every sequence of a LoDTensor (Paddle's sequence_softmax, at any level, for items of any rank)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..arrays import FLOATING, check_gradient, check_values
from ..lod import LoDTensor
from ..registry import Dense, op
from .sequence_cumsum import sequence_cumsum
from .shared.reductions import log_shares, shares

DOCS_PAGE = "compute"
SEARCH_WORDS = {
    "sequence_softmax": (
        "segment softmax, scatter_softmax, softmax per segment, softmax of groups, attention weights, edge_softmax"
    ),
    "sequence_log_softmax": "scatter_log_softmax, log probabilities",
}


def prepare(name, values, grad=None):
    """Check the values, or the forward result and the output gradient. Returns the dtype of the result."""
    dtype = check_values(values.dtype, name, floating=True)
    if grad is not None:
        check_gradient(grad, values.shape)
    return dtype


def _apply_by_sequence(name, function, x, level, *grads):
    """Apply a function to the rows of every sequence that is not empty, in double precision."""
    dtype, offsets, out = prepare(name, x.values, *grads), x._row_offsets(level), np.zeros(x.values.shape)
    for a, b in pairwise(offsets):
        if a < b:
            out[a:b] = function(*(v[a:b].astype(np.float64) for v in (x.values, *grads)))
    with np.errstate(under="ignore"):
        return x.with_values(out.astype(dtype))


@op(like="x", types=FLOATING)
def sequence_softmax(x: LoDTensor, /, *, level: int = -1) -> LoDTensor:
    """Return the softmax of every sequence, down each column: each column of a sequence sums to 1.

    The maximum of each column is subtracted first, so that large numbers do not overflow. A column with only -inf gives
    zeros. If k entries of a column are +inf, each such entry gets 1/k. NaN makes the column of its sequence NaN. Values
    of float16 are computed in float32. The operator corresponds to Paddle's sequence_softmax.

    Parameters
    ----------
    x : LoDTensor
        Floating values, items of any shape.
    level : int
        The level of the sequences; the innermost by default.

    Returns
    -------
    LoDTensor like x

    Raises
    ------
    DTypeError
        The values are not floating.
    LoDLevelError
        x has no such level.

    Examples
    --------
    >>> sequence_softmax(LoDTensor(np.array([0.0, 0.0, 1000.0, 1000.0, 1000.0, 1000.0]), [[2, 0, 4]])).values
    array([0.5 , 0.5 , 0.25, 0.25, 0.25, 0.25])
    """
    return _apply_by_sequence("sequence_softmax", shares, x, level)


@op(like="x", types=FLOATING)
def sequence_log_softmax(x: LoDTensor, /, *, level: int = -1) -> LoDTensor:
    """Return the logarithm of ``sequence_softmax``, without underflow.

    A column of only -inf gives -inf.

    Parameters
    ----------
    x : LoDTensor
        Floating values, items of any shape.
    level : int
        The level of the sequences; the innermost by default.

    Returns
    -------
    LoDTensor like x

    Raises
    ------
    DTypeError
        The values are not floating.
    LoDLevelError
        x has no such level.

    Examples
    --------
    >>> sequence_log_softmax(LoDTensor(np.array([0.0, 1000.0, 5.0]), [[2, 1]])).values
    array([-1000.,     0.,     0.])
    """
    return _apply_by_sequence("sequence_log_softmax", log_shares, x, level)


@op(like="out", gradient_of=sequence_softmax, types=FLOATING)
def sequence_softmax_grad(out: LoDTensor, grad: Dense, /, *, level: int = -1) -> LoDTensor:
    """Return the gradient of ``sequence_softmax``, from its result: ``(grad - sum(grad * out)) * out``.

    >>> sequence_softmax_grad(LoDTensor(np.array([0.5, 0.5, 1.0]), [[2, 1]]), np.array([2.0, 0.0, 3.0])).values
    array([ 0.5, -0.5,  0. ])
    """
    return _apply_by_sequence("sequence_softmax_grad", lambda y, g: (g - (g * y).sum(axis=0)) * y, out, level, grad)


@op(like="out", gradient_of=sequence_log_softmax, types=FLOATING)
def sequence_log_softmax_grad(out: LoDTensor, grad: Dense, /, *, level: int = -1) -> LoDTensor:
    """Return the gradient of ``sequence_log_softmax``, from its result: ``grad - exp(out) * sum(grad)``.

    An entry of -inf contributes no gradient, and gets none.

    >>> out = LoDTensor(np.log([0.5, 0.5, 1.0]), [[2, 1]])
    >>> sequence_log_softmax_grad(out, np.array([2.0, 0.0, 3.0])).values
    array([ 1., -1.,  0.])
    """
    return _apply_by_sequence("sequence_log_softmax_grad", _log_grad, out, level, grad)


def _log_grad(y, g):
    g = np.where(np.isneginf(y), 0, g)
    return g - np.exp(y) * g.sum(axis=0)


for _operator in (sequence_softmax, sequence_log_softmax):
    _operator.example(sequence_cumsum.example_function)
