"""LSTM layers over sequences, without padding: peepholes, projection, clipping, either direction."""

from __future__ import annotations

import typing

import numpy as np

from ..arrays import FLOATING, zeros_like
from ..base.errors import ShapeMismatchError
from ..lod import LoDTensor, values_of
from ..registry import Dense, op, pooled_desc
from .sequence_pool import with_outer_levels
from .shared import recurrent
from .shared.recurrent import Activation, activate, round_to, slope, to_double

DOCS_PAGE = "recur"
SEARCH_WORDS = {
    "lstm": (
        "LSTM, nn.LSTM, long short-term memory, recurrent layer, PackedSequence, bidirectional, dynamic_lstm, lstmp"
    )
}


class Sizes(typing.NamedTuple):
    """Offsets of the sequences, sizes of cells and of the output, and whether the bias has peepholes."""

    offsets: np.ndarray
    cell: int
    out: int
    peepholes: bool


def prepare(
    x, input_weight, weight, bias, h0, c0, projection, level, cell_clip, projection_clip, projection_activation
):
    """Check the inputs of lstm on any device. Returns its sizes."""
    others = {"bias": bias, "h0": h0, "c0": c0, "projection": projection}
    size, out = recurrent.check_weights("lstm", x, 4, input_weight, weight, others)
    _check_projection(projection, weight, size, out, projection_clip, projection_activation)
    recurrent.check_bias("lstm", bias, 4 * size, 7 * size)
    offsets = x._row_offsets(level)
    recurrent.check_states("lstm", offsets, h0=(h0, out), c0=(c0, size))
    for name, clip in (("cell_clip", cell_clip), ("projection_clip", projection_clip)):
        if not clip >= 0:
            raise ValueError(f"lstm: {name} must be at least 0, which does not clip, got {clip}")
    return Sizes(offsets, size, out, bias is not None and bias.shape[-1] == 7 * size)


def _check_projection(projection, weight, size, out, clip, activation):
    """Check that the output is the cells', or that a projection makes it; and that there is one to clip or activate."""
    fits = f"lstm: a weight of shape {tuple(weight.shape)} is for {size} cells and an output of {out}; the projection "
    if projection is not None:
        if tuple(projection.shape) != (size, out):
            raise ShapeMismatchError(f"{fits}must be {(size, out)}, it has shape {tuple(projection.shape)}")
    elif out != size:
        raise ShapeMismatchError(f"{fits}must be {(size, out)}")
    elif clip or activation != "identity":
        raise ValueError(
            f"lstm: projection_clip={clip} and projection_activation={activation!r} are for a projection; pass one, or "
            "leave them out"
        )


def prepare_grad(x, hidden, cell, gates, grad, grad_cell, grad_last, grad_last_cell, sizes):
    """Check what the gradient reads of the layer's results, and the gradients by them."""
    rows = len(x.values)
    others = {"hidden": (hidden, sizes.out), "cell": (cell, sizes.cell)}
    recurrent.check_results(rows, (gates, 4 * sizes.cell), grad, sizes.out, **others)
    if grad_cell is not None:
        recurrent.check_gradient(grad_cell, (rows, sizes.cell), "grad_cell")
    recurrent.check_last_gradient(grad_last, sizes.offsets, sizes.out)
    recurrent.check_last_gradient(grad_last_cell, sizes.offsets, sizes.cell, "grad_last_cell")


def _numbers(weight, bias, projection, sizes):
    """The weights in double precision: recurrent, bias, peepholes of input, forget and output gate, projection."""
    bias = to_double(bias, 4 * sizes.cell).reshape(-1)
    peepholes = bias[4 * sizes.cell :] if sizes.peepholes else np.zeros(3 * sizes.cell)
    return weight.astype(np.float64), bias[: 4 * sizes.cell], np.split(peepholes, 3), to_double(projection, (0, 0))


@op(returns=(0, (1, 2)), types=FLOATING)
def lstm(
    x: LoDTensor,
    input_weight: Dense | None,
    weight: Dense,
    bias: Dense | None = None,
    h0: Dense | None = None,
    c0: Dense | None = None,
    projection: Dense | None = None,
    /,
    *,
    level: int = -1,
    reverse: bool = False,
    gate_activation: Activation = "sigmoid",
    cell_activation: Activation = "tanh",
    candidate_activation: Activation = "tanh",
    projection_activation: Activation = "identity",
    cell_clip: float = 0.0,
    projection_clip: float = 0.0,
    cell_gradient: bool = True,
) -> tuple[LoDTensor, Dense | LoDTensor, Dense | LoDTensor, LoDTensor, Dense]:
    """Run an LSTM over every sequence.

    The operator is a long short-term memory (Hochreiter and Schmidhuber, 1997) with forget gates and, if the bias has
    them, peepholes (Gers et al., 2000). ``projection`` adds a projection (Sak et al., 2014). BLAS computes the
    products, so the results of a sequence alone and in a batch agree only up to rounding. The operator corresponds to
    Paddle's lstm, lstmp and fusion_lstm.

    The gates of a row are columns in the order candidate, input, forget, output. Let ``a`` be the sum of the products
    of the row with ``input_weight`` and of the previous output with ``weight``, and of the bias. Then ``candidate =
    tanh(a[0])``, ``input = sigmoid(a[1] + before * peephole[0])``, ``forget = sigmoid(a[2] + before * peephole[1])``,
    ``cell = candidate * input + before * forget``, ``output = sigmoid(a[3] + cell * peephole[2])`` and ``hidden =
    output * tanh(cell)``, where ``before`` is the previous cell. Nothing is padded: each step computes the sequences
    that have not ended.

    Parameters
    ----------
    x : LoDTensor
        Rows of any shape, which are flattened.
    input_weight : array of shape (width, 4 * size) or None
        None if the rows of x are already multiplied with this weight.
    weight : array of shape (out, 4 * size)
        ``out`` is ``size`` without a projection.
    bias : array of 4 * size elements, or 7 * size, optional
        The last 3 * size are the peepholes of the input, forget and output gate.
    h0, c0 : array of shape (sequences, out) and (sequences, size), optional
        Output and cell before the first step; zeros by default.
    projection : array of shape (size, out), optional
        The output, and the input of the next step, is ``hidden @ projection``.
    level : int
        The level of the sequences; the innermost by default.
    reverse : bool
        If True, each sequence is read from its last row to its first.
    gate_activation, cell_activation, candidate_activation, projection_activation : str
        identity, relu, sigmoid or tanh.
    cell_clip, projection_clip : float
        Largest absolute value of cells, and of the output of the projection; 0 does not clip.
    cell_gradient : bool
        If False, no gradient flows back from the returned cells, as in Paddle.

    Returns
    -------
    out : LoDTensor
        The hidden states of all steps, in the structure of x.
    (hidden, cell) : arrays of shape (sequences, out) and (sequences, size), or LoDTensors when there are levels above
        Output and cell of each sequence after its last step. With ``reverse`` the last step is the first row. For an
        empty sequence output and cell are ``h0`` and ``c0``. To continue the sequences in another call, pass these
        arrays as h0 and c0.

    Raises
    ------
    ShapeMismatchError
        Weights, bias, states or the projection do not fit.
    DTypeError
        The rows of x are not floating, or another input has another type.
    LoDLevelError
        x has no such level.
    ValueError
        A clip is negative, an activation is unknown, or a clip or activation of the projection is given without a
        projection.

    Notes
    -----
    The gradient reads the cells of all steps, and the gates. ``out, hidden, cell, cells, gates = lstm.full(...)``
    also returns these values. The gates are an array of shape (rows, 4 * size) in the order of the steps, float32 if x
    is float16. A loss may also depend on the cells of all steps.

    Examples
    --------
    >>> x = LoDTensor(np.zeros((3, 4)), [[2, 1]])
    >>> out, (hidden, cell) = lstm(x, None, np.zeros((1, 4)), np.array([9., 9., 9., 9.]))
    >>> cell.round(3).ravel()
    array([2., 1.])
    """
    sizes = prepare(
        x, input_weight, weight, bias, h0, c0, projection, level, cell_clip, projection_clip, projection_activation
    )
    w, b, peepholes, w_projection = _numbers(weight, bias, projection, sizes)
    rows, n, limit = len(x.values), len(sizes.offsets) - 1, cell_clip or np.inf
    _, products = recurrent.rows_of(x, input_weight)
    hidden, cell, gates = (np.zeros((rows, width)) for width in (sizes.out, sizes.cell, 4 * sizes.cell))
    last_hidden, last_cell = to_double(h0, (n, sizes.out)).copy(), to_double(c0, (n, sizes.cell)).copy()
    for s, path in enumerate(recurrent.paths(sizes.offsets, reverse)):
        h, c = last_hidden[s], last_cell[s]
        for t in path:
            candidate, input_gate, forget_gate, output_gate = np.split(products[t] + b + h @ w, 4)
            candidate = activate(candidate_activation, candidate)
            input_gate, forget_gate = (
                activate(gate_activation, a + c * p) for a, p in zip((input_gate, forget_gate), peepholes, strict=False)
            )
            c = np.clip(candidate * input_gate + c * forget_gate, -limit, limit)
            output_gate = activate(gate_activation, output_gate + c * peepholes[2])
            h = output_gate * activate(cell_activation, c)
            if projection is not None:
                h = activate(projection_activation, h @ w_projection)
                h = np.clip(h, -projection_clip, projection_clip) if projection_clip else h
            hidden[t], cell[t], gates[t] = h, c, np.concatenate([candidate, input_gate, forget_gate, output_gate])
        last_hidden[s], last_cell[s] = h, c
    gates, dtype = gates[recurrent.Steps(sizes.offsets, reverse).rows], x.values.dtype
    out, cells = (x.with_values(round_to(a, dtype)) for a in (hidden, cell))
    last = (with_outer_levels(x, level, round_to(a, dtype)) for a in (last_hidden, last_cell))
    return out, *last, cells, round_to(gates, recurrent.gate_type(dtype))


@lstm.infer_rule
def _(x, input_weight, weight, bias=None, h0=None, c0=None, projection=None, *, level=-1, **attrs):
    out, size, rows = weight.dims[0], weight.dims[1] // 4, x.dims[0]
    last = (pooled_desc(x, level, (width,)) for width in (out, size))
    gates = x.but(dims=(rows, weight.dims[1]), lod_level=0, dtype=recurrent.gate_type(x.dtype))
    return x.but(dims=(rows, out)), *last, x.but(dims=(rows, size)), gates


@lstm.gradient(reads_outputs=True)
def _(call, by_hidden, by_last, by_last_cell, by_cell, by_gates):
    recurrent.refuse_gates("lstm", by_gates)
    inputs = (*call.inputs, *[None] * (7 - len(call.inputs)))
    hidden, _, _, cell, gates = map(values_of, call.outputs)
    by_hidden = zeros_like(hidden) if by_hidden is None else by_hidden
    attrs = dict(call.attrs)
    if not attrs.pop("cell_gradient"):
        by_cell = by_last_cell = None
    by_results = map(values_of, (by_hidden, by_cell, by_last, by_last_cell))
    found = iter(lstm_grad(*inputs, hidden, cell, gates, *by_results, **attrs))
    return tuple(None if x is None else next(found) for x in call.inputs)


@op(types=FLOATING)
def lstm_grad(
    x: LoDTensor,
    input_weight: Dense | None,
    weight: Dense,
    bias: Dense | None,
    h0: Dense | None,
    c0: Dense | None,
    projection: Dense | None,
    hidden: Dense,
    cell: Dense,
    gates: Dense,
    grad: Dense,
    grad_cell: Dense | None = None,
    grad_last: Dense | None = None,
    grad_last_cell: Dense | None = None,
    /,
    *,
    level: int = -1,
    reverse: bool = False,
    gate_activation: Activation = "sigmoid",
    cell_activation: Activation = "tanh",
    candidate_activation: Activation = "tanh",
    projection_activation: Activation = "identity",
    cell_clip: float = 0.0,
    projection_clip: float = 0.0,
) -> tuple:
    """Return the gradients of ``lstm`` by its inputs that are not None.

    ``hidden``, ``cell`` and ``gates`` are results of all steps, as ``lstm.full`` returns them. ``grad`` and
    ``grad_cell`` are the gradients by the first two, ``grad_last`` and ``grad_last_cell`` by the last hidden states and
    cells.

    >>> x, weight = LoDTensor(np.zeros((1, 4)), [[1]]), np.zeros((1, 4))
    >>> hidden, _, _, cell, gates = lstm.full(x, None, weight)
    >>> results = hidden.values, cell.values, gates
    >>> lstm_grad(x, None, weight, None, None, None, None, *results, np.ones((1, 1)))[0]
    array([[0.25, 0.  , 0.  , 0.  ]])
    """
    sizes = prepare(
        x, input_weight, weight, bias, h0, c0, projection, level, cell_clip, projection_clip, projection_activation
    )
    prepare_grad(x, hidden, cell, gates, grad, grad_cell, grad_last, grad_last_cell, sizes)
    w, _, peepholes, w_projection = _numbers(weight, bias, projection, sizes)
    n = len(sizes.offsets) - 1
    values, _ = recurrent.rows_of(x, input_weight)
    hidden, cell, grad = map(to_double, (hidden, cell, grad))
    by_cell, gates = to_double(grad_cell, cell.shape), to_double(gates)[recurrent.Steps(sizes.offsets, reverse).places]
    by_gates, by_peepholes = np.zeros(gates.shape), np.zeros((3, sizes.cell))
    by_w, by_projection = 0 * w, 0 * w_projection
    h0s, c0s = to_double(h0, (n, sizes.out)), to_double(c0, (n, sizes.cell))
    by_h0, by_c0 = to_double(grad_last, h0s.shape).copy(), to_double(grad_last_cell, c0s.shape).copy()
    for s, path in enumerate(recurrent.paths(sizes.offsets, reverse)):
        dh, dc = by_h0[s], by_c0[s]
        for i in range(len(path) - 1, -1, -1):
            t, previous = path[i], path[i - 1] if i else None
            h, c = (h0s[s], c0s[s]) if previous is None else (hidden[previous], cell[previous])
            candidate, input_gate, forget_gate, output_gate = np.split(gates[t], 4)
            y = activate(cell_activation, cell[t])
            dh = dh + grad[t]
            if projection is not None:
                inside = np.abs(hidden[t]) < projection_clip if projection_clip else 1
                dh = dh * slope(projection_activation, hidden[t]) * inside
                by_projection += np.outer(output_gate * y, dh)
                dh = w_projection @ dh
            d_output = dh * y * slope(gate_activation, output_gate)
            dc = dc + by_cell[t] + dh * output_gate * slope(cell_activation, y) + d_output * peepholes[2]
            dc = np.where(np.abs(cell[t]) < cell_clip, dc, 0) if cell_clip else dc
            d_candidate = dc * input_gate * slope(candidate_activation, candidate)
            d_input = dc * candidate * slope(gate_activation, input_gate)
            d_forget = dc * c * slope(gate_activation, forget_gate)
            by_gates[t] = np.concatenate([d_candidate, d_input, d_forget, d_output])
            by_peepholes += [d_input * c, d_forget * c, d_output * cell[t]]
            by_w += np.outer(h, by_gates[t])
            dc = dc * forget_gate + d_input * peepholes[0] + d_forget * peepholes[1]
            dh = w @ by_gates[t]
        by_h0[s], by_c0[s] = dh, dc
    by_x = by_gates if input_weight is None else by_gates @ to_double(input_weight).T
    by_bias = np.concatenate([by_gates.sum(axis=0), *by_peepholes[: 3 * sizes.peepholes]])
    found = by_x.reshape(x.values.shape), values.T @ by_gates, by_w, by_bias, by_h0, by_c0, by_projection
    inputs = x.values, input_weight, weight, bias, h0, c0, projection
    return tuple(
        round_to(g.reshape(like.shape), like.dtype) for g, like in zip(found, inputs, strict=True) if like is not None
    )


@lstm_grad.infer_rule
def _(x, input_weight, weight, bias, h0, c0, projection, *results, **attrs):
    return x.but(lod_level=0), *recurrent.present(input_weight, weight, bias, h0, c0, projection)


@lstm.example
def _(dtype):
    dtype = np.dtype(np.float32) if dtype.kind == "i" else dtype
    x = LoDTensor(np.ones((3, 2), dtype), [[2, 1]])
    return [((x, np.ones((2, 12), dtype), np.ones((3, 12), dtype), np.ones(12, dtype)), {})]
