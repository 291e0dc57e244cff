"""GRU layers over sequences, without padding: Paddle's formulas and PyTorch's, either direction."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..arrays import FLOATING, zeros_like
from ..base.errors import ShapeMismatchError
from ..lod import LoDTensor, values_of
from ..registry import Dense, op, pooled_desc
from .sequence_pool import with_outer_levels
from .shared import recurrent
from .shared.recurrent import Activation, activate, round_to, slope, to_double

DOCS_PAGE = "recur"
SEARCH_WORDS = {"gru": "GRU, nn.GRU, gated recurrent unit, recurrent layer, dynamic_gru"}

Layout = Literal["columns", "blocks"]


def prepare(x, input_weight, weight, bias, h0, level, reset_after, weight_layout):
    """Check the inputs of gru on any device. Returns the offsets of the sequences and the size of the state."""
    others = {"bias": bias, "h0": h0}
    size, out = recurrent.check_weights("gru", x, 3, input_weight, weight, others)
    if size != out:
        raise ShapeMismatchError(f"gru: the weight has shape {tuple(weight.shape)}; it must be (size, 3 * size)")
    if reset_after and weight_layout != "columns":
        raise ValueError(f"gru: reset_after is one product; its weight_layout is columns, not {weight_layout}")
    recurrent.check_bias("gru", bias, 3 * size, *([4 * size] if reset_after else []))
    offsets = x._row_offsets(level)
    recurrent.check_states("gru", offsets, h0=(h0, size))
    return offsets, size


def split_weight(weight, size, layout):
    """In double precision: the weights of both gates, and of the candidate."""
    w = weight.astype(np.float64)
    if layout == "columns":
        return w[:, : 2 * size], w[:, 2 * size :]
    gates, candidate = np.split(w.reshape(-1), [2 * size * size])
    return gates.reshape(size, 2 * size), candidate.reshape(size, size)


def join_weight(gates, candidate, layout):
    """The reverse."""
    if layout == "columns":
        return np.hstack([gates, candidate])
    return np.concatenate([gates.ravel(), candidate.ravel()]).reshape(len(gates), 3 * len(gates))


def _numbers(weight, bias, size, layout):
    """In double precision: the weights of both gates and of the candidate, the bias, that of the reset product."""
    b = np.zeros(4 * size)
    if bias is not None:
        b[: bias.size] = bias.reshape(-1)
    return *split_weight(weight, size, layout), *np.split(b, [3 * size])


@op(returns=(0, 1), types=FLOATING)
def gru(
    x: LoDTensor,
    input_weight: Dense | None,
    weight: Dense,
    bias: Dense | None = None,
    h0: Dense | None = None,
    /,
    *,
    level: int = -1,
    reverse: bool = False,
    gate_activation: Activation = "sigmoid",
    candidate_activation: Activation = "tanh",
    origin_mode: bool = False,
    reset_after: bool = False,
    weight_layout: Layout = "columns",
) -> tuple[LoDTensor, Dense | LoDTensor, Dense]:
    """Run a GRU over every sequence, without padding.

    Gated recurrent units (Cho et al., 2014), as ``gru`` and ``fusion_gru`` of Paddle. With ``origin_mode=True`` and
    ``reset_after=True`` the formulas are PyTorch's. Columns are in the order update gate, reset gate, candidate. Let
    ``a`` be the products of a row plus the bias, ``before`` the previous state and ``w`` the weight, by gate. Then
    ``update = sigmoid(a[0] + before @ w[0])``, ``reset = sigmoid(a[1] + before @ w[1])``,
    ``candidate = tanh(a[2] + (reset * before) @ w[2])`` and ``hidden = (1 - update) * before + update * candidate``.
    Each step computes only the sequences that have not ended. BLAS computes the products, so the results of a sequence
    alone and in a batch agree up to rounding.

    Parameters
    ----------
    x : LoDTensor
        Rows may have any shape; the operator flattens each row.
    input_weight : array of shape (width, 3 * size) or None
        None if the rows of x are already multiplied by the input weight.
    weight : array of shape (size, 3 * size)
    bias : array of 3 * size elements, optional
        With ``reset_after`` there may be ``size`` more elements, ``bias[3]`` in the formula of ``reset_after``.
    h0 : array of shape (sequences, size), optional
        The state before the first step; zeros by default.
    level : int
        The level of the sequences; the innermost by default.
    reverse : bool
        Run over every sequence from the last row to the first row.
    gate_activation, candidate_activation : str
        identity, relu, sigmoid or tanh.
    origin_mode : bool
        If True, ``hidden = update * before + (1 - update) * candidate``.
    reset_after : bool
        If True, ``candidate = tanh(a[2] + reset * (before @ w[2] + bias[3]))``.
    weight_layout : {"columns", "blocks"}
        "columns": gates and candidate are columns of one matrix. "blocks", as in Paddle: the memory of the weight holds
        a matrix ``(size, 2 * size)`` of both gates, then a matrix ``(size, size)`` of the candidate.

    Returns
    -------
    out : LoDTensor
        The states of all steps, in the structure of x.
    last : array of shape (sequences, size), or LoDTensor if x has outer levels
        The state of each sequence after its last step; with ``reverse`` this is the state at the first row. An empty
        sequence keeps its row of ``h0``. Pass ``last`` as ``h0`` of the next call to continue the sequences.

    Raises
    ------
    ShapeMismatchError
        The shapes of weights, bias or states do not fit.
    DTypeError
        The rows of x are not floating, or another input does not have the type of x.
    LoDLevelError
        x has no such level.
    ValueError
        An activation or a layout is unknown, or ``reset_after`` is used with ``weight_layout="blocks"``.

    Notes
    -----
    The gradient reads the gates, an array of shape (rows, 3 * size) with rows in the order of the steps. If x is
    float16, the gates are float32. ``gru.full`` returns the gates too, after the other results.

    Examples
    --------
    >>> x = LoDTensor(np.full((3, 3), 9.), [[2, 1]])
    >>> out, last = gru(x, None, np.zeros((1, 3)))
    >>> out.values.round(3).ravel(), last.round(3).ravel()
    (array([1., 1., 1.]), array([1., 1.]))
    """
    offsets, size = prepare(x, input_weight, weight, bias, h0, level, reset_after, weight_layout)
    w, w_candidate, b, b_reset = _numbers(weight, bias, size, weight_layout)
    rows, (_, products) = len(x.values), recurrent.rows_of(x, input_weight)
    hidden, gates, first = np.zeros((rows, size)), np.zeros((rows, 3 * size)), to_double(h0, (len(offsets) - 1, size))
    last = first.copy()
    for s, path in enumerate(recurrent.paths(offsets, reverse)):
        h = first[s]
        for t in path:
            update, reset, candidate = np.split(products[t] + b, 3)
            update, reset = (activate(gate_activation, a) for a in np.split(np.concatenate([update, reset]) + h @ w, 2))
            seen = reset * (h @ w_candidate + b_reset) if reset_after else (reset * h) @ w_candidate
            candidate = activate(candidate_activation, candidate + seen)
            keep = update if origin_mode else 1 - update
            h = keep * h + (1 - keep) * candidate
            hidden[t], gates[t] = h, np.concatenate([update, reset, candidate])
        last[s] = h
    gates, dtype = gates[recurrent.Steps(offsets, reverse).rows], x.values.dtype
    states = x.with_values(round_to(hidden, dtype)), with_outer_levels(x, level, round_to(last, dtype))
    return *states, round_to(gates, recurrent.gate_type(dtype))


@gru.infer_rule
def _(x, input_weight, weight, bias=None, h0=None, *, level=-1, **attrs):
    size = weight.dims[0]
    gates = x.but(dims=(x.dims[0], weight.dims[1]), lod_level=0, dtype=recurrent.gate_type(x.dtype))
    return x.but(dims=(x.dims[0], size)), pooled_desc(x, level, (size,)), gates


@gru.gradient(reads_outputs=True)
def _(call, by_hidden, by_last, by_gates):
    recurrent.refuse_gates("gru", by_gates)
    inputs = (*call.inputs, None, None)[:5]
    hidden, _, gates = map(values_of, call.outputs)
    by_hidden = zeros_like(hidden) if by_hidden is None else values_of(by_hidden)
    found = iter(gru_grad(*inputs, hidden, gates, by_hidden, values_of(by_last), **call.attrs))
    return tuple(None if x is None else next(found) for x in call.inputs)


@op(types=FLOATING)
def gru_grad(
    x: LoDTensor,
    input_weight: Dense | None,
    weight: Dense,
    bias: Dense | None,
    h0: Dense | None,
    hidden: Dense,
    gates: Dense,
    grad: Dense,
    grad_last: Dense | None = None,
    /,
    *,
    level: int = -1,
    reverse: bool = False,
    gate_activation: Activation = "sigmoid",
    candidate_activation: Activation = "tanh",
    origin_mode: bool = False,
    reset_after: bool = False,
    weight_layout: Layout = "columns",
) -> tuple:
    """Return the gradients of ``gru`` by its inputs that are not None.

    ``hidden`` and ``gates`` are results of ``gru.full``, ``grad`` and ``grad_last`` the gradients by the states of all
    steps and by the last ones.

    >>> x, weight = LoDTensor(np.zeros((1, 3)), [[1]]), np.zeros((1, 3))
    >>> hidden, _, gates = gru.full(x, None, weight)
    >>> gru_grad(x, None, weight, None, None, hidden.values, gates, np.ones((1, 1)))[0]
    array([[0. , 0. , 0.5]])
    """
    offsets, size = prepare(x, input_weight, weight, bias, h0, level, reset_after, weight_layout)
    recurrent.check_results(len(x.values), (gates, 3 * size), grad, size, hidden=(hidden, size))
    recurrent.check_last_gradient(grad_last, offsets, size)
    w, w_candidate, _, b_reset = _numbers(weight, bias, size, weight_layout)
    hidden, grad, gates = to_double(hidden), to_double(grad), to_double(gates)[recurrent.Steps(offsets, reverse).places]
    by_gates, by_w, by_w_candidate, by_reset_bias = np.zeros(gates.shape), 0 * w, 0 * w_candidate, np.zeros(size)
    first = to_double(h0, (len(offsets) - 1, size))
    by_first = to_double(grad_last, first.shape).copy()
    for s, path in enumerate(recurrent.paths(offsets, reverse)):
        dh = by_first[s]
        for i in range(len(path) - 1, -1, -1):
            t = path[i]
            h = hidden[path[i - 1]] if i else first[s]
            update, reset, candidate = np.split(gates[t], 3)
            dh = dh + grad[t]
            keep, sign = (update, 1) if origin_mode else (1 - update, -1)
            d_update = sign * dh * (h - candidate) * slope(gate_activation, update)
            d_candidate = dh * (1 - keep) * slope(candidate_activation, candidate)
            dh = dh * keep
            if reset_after:
                d_seen = d_candidate * reset
                d_reset = d_candidate * (h @ w_candidate + b_reset)
                by_w_candidate += np.outer(h, d_seen)
                by_reset_bias += d_seen
                dh = dh + w_candidate @ d_seen
            else:
                d_seen = w_candidate @ d_candidate
                d_reset = d_seen * h
                by_w_candidate += np.outer(reset * h, d_candidate)
                dh = dh + d_seen * reset
            d_gates = np.concatenate([d_update, d_reset * slope(gate_activation, reset)])
            by_gates[t] = np.concatenate([d_gates, d_candidate])
            by_w += np.outer(h, d_gates)
            dh = dh + w @ d_gates
        by_first[s] = dh
    rows, _ = recurrent.rows_of(x, input_weight)
    by_x = by_gates if input_weight is None else by_gates @ to_double(input_weight).T
    by_weight = join_weight(by_w, by_w_candidate, weight_layout)
    by_bias = np.concatenate([by_gates.sum(axis=0), by_reset_bias])[: 0 if bias is None else bias.size]
    found = by_x, rows.T @ by_gates, by_weight, by_bias, by_first
    inputs = x.values, input_weight, weight, bias, h0
    return tuple(
        round_to(g.reshape(like.shape), like.dtype) for g, like in zip(found, inputs, strict=True) if like is not None
    )


@gru_grad.infer_rule
def _(x, input_weight, weight, bias, h0, *results, **attrs):
    return x.but(lod_level=0), *recurrent.present(input_weight, weight, bias, h0)


@gru.example
def _(dtype):
    dtype = np.dtype(np.float32) if dtype.kind == "i" else dtype
    x = LoDTensor(np.ones((3, 2), dtype), [[2, 1]])
    return [((x, np.ones((2, 9), dtype), np.ones((3, 9), dtype), np.ones(9, dtype)), {})]
