"""Simple recurrent layers over sequences, without padding."""

from __future__ import annotations

import numpy as np

from ..arrays import FLOATING, zeros_like
from ..base.errors import ShapeMismatchError
from ..lod import LoDTensor, values_of
from ..registry import Dense, op, pooled_desc
from .sequence_pool import with_outer_levels
from .shared import recurrent
from .shared.recurrent import Activation, activate, round_to, slope, to_double

DOCS_PAGE = "recur"
SEARCH_WORDS = {"simple_rnn": "RNN, nn.RNN, Elman, recurrent layer, vanilla RNN"}


def prepare(x, input_weight, weight, bias, h0, level):
    """Check the inputs of simple_rnn on any device. Returns the offsets of the sequences and the size of the state."""
    size, out = recurrent.check_weights("simple_rnn", x, 1, input_weight, weight, {"bias": bias, "h0": h0})
    if size != out:
        raise ShapeMismatchError(f"simple_rnn: the weight has shape {tuple(weight.shape)}; it must be square")
    recurrent.check_bias("simple_rnn", bias, size)
    offsets = x._row_offsets(level)
    recurrent.check_states("simple_rnn", offsets, h0=(h0, size))
    return offsets, size


@op(types=FLOATING)
def simple_rnn(
    x: LoDTensor,
    input_weight: Dense | None,
    weight: Dense,
    bias: Dense | None = None,
    h0: Dense | None = None,
    /,
    *,
    level: int = -1,
    reverse: bool = False,
    activation: Activation = "tanh",
) -> tuple[LoDTensor, Dense | LoDTensor]:
    """Run a simple recurrent layer over every sequence: ``tanh(x @ input_weight + before @ weight + bias)``.

    A recurrent network as of Elman (1990). Nothing is padded: each step computes the sequences that are not at their
    end. The products are BLAS's: a sequence's result alone and in a batch agrees to rounding.

    Parameters
    ----------
    x : LoDTensor
        Rows of any shape, which are flattened.
    input_weight : array of shape (width, size) or None
        None if the rows of x are products already.
    weight : array of shape (size, size)
    bias : array of size elements, optional
    h0 : array of shape (sequences, size), optional
        The state before the first step; zeros by default.
    level : int
        The level of the sequences; the innermost by default.
    reverse : bool
        Walk every sequence from its end.
    activation : str
        identity, relu, sigmoid or tanh.

    Returns
    -------
    out : LoDTensor
        The states of all steps, in the structure of x.
    last : array of shape (sequences, size), or LoDTensor when there are levels above
        The state of each sequence after its last step: with ``reverse`` the state of its first row. The state of an
        empty sequence is ``h0``. As h0 of another call it goes on where this one ended.

    Raises
    ------
    ShapeMismatchError
        Weights, bias or states do not fit.
    DTypeError
        The rows of x are not floating, or another input has another type.
    LoDLevelError
        x has no such level.
    ValueError
        The activation is unknown.

    Examples
    --------
    >>> x = LoDTensor(np.ones((3, 1)), [[2, 1]])
    >>> out, last = simple_rnn(x, None, np.array([[10.]]), activation="identity")
    >>> out.values.ravel(), last.ravel()
    (array([ 1., 11.,  1.]), array([11.,  1.]))
    """
    offsets, size = prepare(x, input_weight, weight, bias, h0, level)
    w, b, first = to_double(weight), to_double(bias, size).reshape(-1), to_double(h0, (len(offsets) - 1, size))
    out, (_, products) = np.zeros((len(x.values), size)), recurrent.rows_of(x, input_weight)
    last, dtype = first.copy(), x.values.dtype
    for s, path in enumerate(recurrent.paths(offsets, reverse)):
        for t in path:
            out[t] = last[s] = activate(activation, products[t] + b + last[s] @ w)
    return x.with_values(round_to(out, dtype)), with_outer_levels(x, level, round_to(last, dtype))


@simple_rnn.infer_rule
def _(x, input_weight, weight, bias=None, h0=None, *, level=-1, **attrs):
    size = weight.dims[1]
    return x.but(dims=(x.dims[0], size)), pooled_desc(x, level, (size,))


@simple_rnn.gradient(reads_outputs=True)
def _(call, grad, by_last):
    inputs, hidden = (*call.inputs, None, None)[:5], values_of(call.outputs[0])
    grad = zeros_like(hidden) if grad is None else values_of(grad)
    found = iter(simple_rnn_grad(*inputs, hidden, grad, values_of(by_last), **call.attrs))
    return tuple(None if x is None else next(found) for x in call.inputs)


@op(types=FLOATING)
def simple_rnn_grad(
    x: LoDTensor,
    input_weight: Dense | None,
    weight: Dense,
    bias: Dense | None,
    h0: Dense | None,
    hidden: Dense,
    grad: Dense,
    grad_last: Dense | None = None,
    /,
    *,
    level: int = -1,
    reverse: bool = False,
    activation: Activation = "tanh",
) -> tuple:
    """Return the gradients of ``simple_rnn`` by its inputs that are not None, from its first result.

    ``grad`` and ``grad_last`` are the gradients by the states of all steps and by the last ones.

    >>> x, weight = LoDTensor(np.ones((2, 1)), [[2]]), np.array([[10.]])
    >>> hidden, _ = simple_rnn(x, None, weight, activation="identity")
    >>> simple_rnn_grad(x, None, weight, None, None, hidden.values, np.ones((2, 1)), activation="identity")[1]
    array([[1.]])
    """
    offsets, size = prepare(x, input_weight, weight, bias, h0, level)
    recurrent.check_results(len(x.values), (None, size), grad, size, hidden=(hidden, size))
    recurrent.check_last_gradient(grad_last, offsets, size)
    w, hidden, grad = to_double(weight), to_double(hidden), to_double(grad)
    first = to_double(h0, (len(offsets) - 1, size))
    by_sums, by_w, by_first = np.zeros(hidden.shape), 0 * w, to_double(grad_last, first.shape).copy()
    for s, path in enumerate(recurrent.paths(offsets, reverse)):
        dh = by_first[s]
        for i in range(len(path) - 1, -1, -1):
            t = path[i]
            by_sums[t] = (dh + grad[t]) * slope(activation, hidden[t])
            by_w += np.outer(hidden[path[i - 1]] if i else first[s], by_sums[t])
            dh = w @ by_sums[t]
        by_first[s] = dh
    rows, _ = recurrent.rows_of(x, input_weight)
    by_x = by_sums if input_weight is None else by_sums @ to_double(input_weight).T
    found = by_x, rows.T @ by_sums, by_w, by_sums.sum(axis=0), by_first
    inputs = x.values, input_weight, weight, bias, h0
    return tuple(
        round_to(g.reshape(like.shape), like.dtype) for g, like in zip(found, inputs, strict=True) if like is not None
    )


@simple_rnn_grad.infer_rule
def _(x, input_weight, weight, bias, h0, *results, **attrs):
    return x.but(lod_level=0), *recurrent.present(input_weight, weight, bias, h0)


@simple_rnn.example
def _(dtype):
    dtype = np.dtype(np.float32) if dtype.kind == "i" else dtype
    x = LoDTensor(np.ones((3, 2), dtype), [[2, 1]])
    return [((x, np.ones((2, 3), dtype), np.ones((3, 3), dtype), np.ones(3, dtype)), {})]
