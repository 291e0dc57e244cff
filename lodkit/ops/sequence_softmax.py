"""Softmax inside every sequence of a LoDTensor (Paddle's sequence_softmax, at any level, of items of any rank)."""

from __future__ import annotations

import numpy as np

from ..arrays import check_gradient, check_values
from ..lod.lod_tensor import LoDTensor, values_of
from ..registry import Dense, op
from .sequence_cumsum import sequence_cumsum
from .sequence_pool import inferred_level
from .shared.reductions import log_shares, shares


def _by_sequence(function, x, level, *others):
    """``function`` of the rows of every sequence that has some, in double precision."""
    offsets, out = x.row_offsets(level), np.zeros(x.values.shape)
    for a, b in zip(offsets[:-1], offsets[1:], strict=True):
        if a < b:
            out[a:b] = function(*(v[a:b].astype(np.float64) for v in (x.values, *others)))
    with np.errstate(under="ignore"):
        return x.with_values(out.astype(x.values.dtype.newbyteorder("=")))


@op
def sequence_softmax(x: LoDTensor, /, *, level: int = -1) -> LoDTensor:
    """Return the softmax of every sequence of a level, down each column of its items: columns sum to 1.

    Shifted by the maximum, so that large numbers do not overflow. A column of -inf alone gives 0; k entries of +inf get
    1/k each; NaN makes its column of the sequence NaN. float16 is computed in float32. sequence_softmax of Paddle.

    Parameters
    ----------
    x : LoDTensor
        Floating values, items of any shape.
    level : int
        Which level's sequences; the innermost by default.

    Returns
    -------
    LoDTensor like x

    Examples
    --------
    >>> sequence_softmax(LoDTensor(np.array([0.0, 0.0, 1000.0, 1000.0, 1000.0, 1000.0]), [[2, 0, 4]])).values
    array([0.5 , 0.5 , 0.25, 0.25, 0.25, 0.25])
    """
    check_values(x.values.dtype, "sequence_softmax", floating=True)
    return _by_sequence(shares, x, level)


@op
def sequence_log_softmax(x: LoDTensor, /, *, level: int = -1) -> LoDTensor:
    """Return the logarithm of ``sequence_softmax``, which does not lose small shares.

    A column of -inf alone gives -inf.

    Parameters
    ----------
    x : LoDTensor
        Floating values, items of any shape.
    level : int
        Which level's sequences; the innermost by default.

    Returns
    -------
    LoDTensor like x

    Examples
    --------
    >>> sequence_log_softmax(LoDTensor(np.array([0.0, 1000.0, 5.0]), [[2, 1]])).values
    array([-1000.,     0.,     0.])
    """
    check_values(x.values.dtype, "sequence_log_softmax", floating=True)
    return _by_sequence(log_shares, x, level)


@op
def sequence_softmax_grad(out: LoDTensor, grad: Dense, /, *, level: int = -1) -> LoDTensor:
    """Return the gradient of ``sequence_softmax``, from its result: ``(grad - sum(grad * out)) * out``.

    >>> sequence_softmax_grad(LoDTensor(np.array([0.5, 0.5, 1.0]), [[2, 1]]), np.array([2.0, 0.0, 3.0])).values
    array([ 0.5, -0.5,  0. ])
    """
    check_grad_output(out.values, grad, "sequence_softmax_grad")
    return _by_sequence(lambda y, g: (g - (g * y).sum(axis=0)) * y, out, level, grad)


@op
def sequence_log_softmax_grad(out: LoDTensor, grad: Dense, /, *, level: int = -1) -> LoDTensor:
    """Return the gradient of ``sequence_log_softmax``, from its result: ``grad - exp(out) * sum(grad)``.

    An entry of -inf gives and gets no gradient.

    >>> out = LoDTensor(np.log([0.5, 0.5, 1.0]), [[2, 1]])
    >>> sequence_log_softmax_grad(out, np.array([2.0, 0.0, 3.0])).values
    array([ 1., -1.,  0.])
    """
    check_grad_output(out.values, grad, "sequence_log_softmax_grad")
    return _by_sequence(_log_grad, out, level, grad)


def _log_grad(y, g):
    g = np.where(np.isneginf(y), 0, g)
    return g - np.exp(y) * g.sum(axis=0)


def check_grad_output(values, grad, name):
    """The result, and what flows into it."""
    check_values(values.dtype, name, floating=True)
    return check_gradient(grad, values.shape)


@sequence_softmax.infer_rule
@sequence_log_softmax.infer_rule
def _(x, *, level=-1):
    inferred_level(x, level)
    return x


@sequence_softmax_grad.infer_rule
@sequence_log_softmax_grad.infer_rule
def _(out, grad, *, level=-1):
    inferred_level(out, level)
    return out


@sequence_softmax.gradient
def _(call, grad):
    return sequence_softmax_grad(call.outputs[0], values_of(grad), level=call.attrs["level"])


@sequence_log_softmax.gradient
def _(call, grad):
    return sequence_log_softmax_grad(call.outputs[0], values_of(grad), level=call.attrs["level"])


for _operator in (sequence_softmax, sequence_log_softmax):
    _operator.example(sequence_cumsum.example_function)
