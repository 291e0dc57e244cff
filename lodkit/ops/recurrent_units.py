"""One step of a recurrent layer, for a batch of rows: what decoders call between two steps of a search."""

from __future__ import annotations

import numpy as np

from ..arrays import FLOATING, check_gradient, check_same_type
from ..base.errors import ShapeMismatchError
from ..lod import values_of
from ..registry import Dense, op
from .gru import Layout, join_weight, split_weight
from .shared.recurrent import Activation, activate, round_to, slope, to_double

DOCS_PAGE = "recur"
SEARCH_WORDS = {"gru_unit": "GRUCell, one step of a GRU", "lstm_unit": "LSTMCell, one step of an LSTM"}


def prepare_gru(x, hidden, weight, bias=None, gates=None, reset=None, grads=(None, None, None)):
    """Check the inputs of gru_unit, and those of its gradient. Returns the size of a hidden state."""
    check_same_type("gru_unit", x, hidden=hidden, weight=weight, bias=bias, gates=gates, reset_hidden=reset)
    rows, size = (*hidden.shape, 0, 0)[:2]
    if len(hidden.shape) != 2 or tuple(x.shape) != (rows, 3 * size):
        raise ShapeMismatchError(
            f"gru_unit: x and hidden have shapes {tuple(x.shape)} and {tuple(hidden.shape)}; they must be (rows, 3 * "
            "size) and (rows, size)"
        )
    if tuple(weight.shape) != (size, 3 * size):
        raise ShapeMismatchError(f"gru_unit: weight has shape {tuple(weight.shape)}; it must be {(size, 3 * size)}")
    if bias is not None and tuple(bias.shape) not in ((3 * size,), (1, 3 * size)):
        raise ShapeMismatchError(f"gru_unit: bias has shape {tuple(bias.shape)}; it must be {(3 * size,)}")
    read = {"gates": (gates, x), "reset_hidden": (reset, hidden), "grad": (grads[0], hidden)}
    read |= {"grad_gates": (grads[1], x), "grad_reset": (grads[2], hidden)}
    for name, (array, like) in read.items():
        if array is not None:
            check_gradient(array, like.shape, name)
    return size


@op(rowwise=("x", "hidden"), types=FLOATING)
def gru_unit(
    x: Dense,
    hidden: Dense,
    weight: Dense,
    bias: Dense | None = None,
    /,
    *,
    gate_activation: Activation = "sigmoid",
    candidate_activation: Activation = "tanh",
    origin_mode: bool = False,
    weight_layout: Layout = "columns",
) -> tuple[Dense, Dense, Dense]:
    """Return the hidden state of a gated recurrent unit after a step, of every row. gru_unit of Paddle.

    Let ``a`` be the three parts of x plus the bias, and ``w`` the three parts of the weight. Then ``update =
    sigmoid(a[0] + hidden @ w[0])``, ``reset = sigmoid(a[1] + hidden @ w[1])``, ``candidate = tanh(a[2] + (reset *
    hidden) @ w[2])``, and the result is ``(1 - update) * hidden + update * candidate``. The products are BLAS's: a
    row's result alone and in a batch agrees to rounding.

    Parameters
    ----------
    x : array or LoDTensor of shape (rows, 3 * size)
        Products of the inputs: of the update gate, the reset gate and the candidate.
    hidden : array or LoDTensor of shape (rows, size)
        The state before.
    weight : array of shape (size, 3 * size)
    bias : array of 3 * size elements, optional
    gate_activation, candidate_activation : str
        identity, relu, sigmoid or tanh.
    origin_mode : bool
        Let the update gate keep the state instead: ``(1 - update) * candidate + update * hidden``.
    weight_layout : str
        "columns": the weight has the columns of the update gate, the reset gate and the candidate. "blocks", Paddle's:
        its elements in order are a matrix of the columns of both gates, then a matrix for the candidate.

    Returns
    -------
    hidden : like hidden
    gates : like x
        Update gate, reset gate and candidate.
    reset_hidden : like hidden
        ``reset * hidden``.

    Raises
    ------
    ShapeMismatchError
        Shapes do not fit.

    Examples
    --------
    >>> hidden, gates, _ = gru_unit(np.array([[0., 0., 9.]]), np.array([[3.]]), np.zeros((1, 3)))
    >>> hidden.round(3), gates.round(3)
    (array([[2.]]), array([[0.5, 0.5, 1. ]]))
    """
    size = prepare_gru(x, hidden, weight, bias)
    by_gates, by_candidate = split_weight(weight, size, weight_layout)
    a = to_double(x) + (0 if bias is None else bias)
    h = to_double(hidden)
    update, reset = np.split(activate(gate_activation, a[:, : 2 * size] + h @ by_gates), 2, axis=1)
    candidate = activate(candidate_activation, a[:, 2 * size :] + (reset * h) @ by_candidate)
    new = (1 - update) * candidate + update * h if origin_mode else update * candidate + (1 - update) * h
    results = new, np.concatenate([update, reset, candidate], axis=1), reset * h
    return tuple(round_to(result, x.dtype) for result in results)


@gru_unit.infer_rule
def _(x, hidden, weight, bias=None, **attrs):
    return hidden, x, hidden


@gru_unit.gradient(reads_outputs=True)
def _(call, *grads):
    x, hidden, weight, bias = map(values_of, (*call.inputs, None)[:4])
    results = map(values_of, (*call.outputs[1:], *grads))
    found = gru_unit_grad(x, hidden, weight, bias, *results, **call.attrs)
    return found[: len(call.inputs)]


@op(types=FLOATING)
def gru_unit_grad(
    x: Dense,
    hidden: Dense,
    weight: Dense,
    bias: Dense | None,
    gates: Dense,
    reset_hidden: Dense,
    grad: Dense | None,
    grad_gates: Dense | None = None,
    grad_reset: Dense | None = None,
    /,
    *,
    gate_activation: Activation = "sigmoid",
    candidate_activation: Activation = "tanh",
    origin_mode: bool = False,
    weight_layout: Layout = "columns",
) -> tuple[Dense, Dense, Dense, Dense]:
    """Return the gradients of ``gru_unit`` by x, hidden, weight and bias, from those by its results; None is zeros.

    >>> x, weight = np.zeros((1, 3)), np.zeros((1, 3))
    >>> hidden, gates, reset_hidden = gru_unit(x, np.array([[3.]]), weight)
    >>> gru_unit_grad(x, np.array([[3.]]), weight, None, gates, reset_hidden, np.array([[1.]]))[:2]
    (array([[-0.75,  0.  ,  0.5 ]]), array([[0.5]]))
    """
    size = prepare_gru(x, hidden, weight, bias, gates, reset_hidden, (grad, grad_gates, grad_reset))
    by_gates, by_candidate = split_weight(weight, size, weight_layout)
    h, (update, reset, candidate) = to_double(hidden), np.split(to_double(gates), 3, axis=1)
    g, g_reset = (to_double(each, h.shape) for each in (grad, grad_reset))
    g_gates = np.split(to_double(grad_gates, x.shape), 3, axis=1)
    enter, keep = (1 - update, update) if origin_mode else (update, 1 - update)
    d_update = g * ((h - candidate) if origin_mode else (candidate - h)) + g_gates[0]
    d_candidate = (g * enter + g_gates[2]) * slope(candidate_activation, candidate)
    d_reset_hidden = d_candidate @ by_candidate.T + g_reset
    d_reset = d_reset_hidden * h + g_gates[1]
    d_gates = np.concatenate([d_update, d_reset], axis=1) * slope(gate_activation, to_double(gates[:, : 2 * size]))
    by_hidden = g * keep + d_reset_hidden * reset + d_gates @ by_gates.T
    by_x = np.concatenate([d_gates, d_candidate], axis=1)
    by_weight = join_weight(h.T @ d_gates, to_double(reset_hidden).T @ d_candidate, weight_layout)
    by_bias = by_x.sum(axis=0).reshape((3 * size,) if bias is None else bias.shape)
    return tuple(round_to(g, x.dtype) for g in (by_x, by_hidden, by_weight, by_bias))


@gru_unit_grad.infer_rule
def _(x, hidden, weight, bias, *results, **attrs):
    return x, hidden, weight, weight.but(dims=weight.dims[1:]) if bias is None else bias


def prepare_lstm(x, cell, result=None, grads=(None, None)):
    """Check the inputs of lstm_unit, and those of its gradient. Returns the size of a cell state."""
    check_same_type("lstm_unit", x, cell=cell, out=result)
    rows, size = (*cell.shape, 0, 0)[:2]
    if len(cell.shape) != 2 or tuple(x.shape) != (rows, 4 * size):
        raise ShapeMismatchError(
            f"lstm_unit: x and cell have shapes {tuple(x.shape)} and {tuple(cell.shape)}; they must be (rows, 4 * "
            "size) and (rows, size)"
        )
    for name, array in zip(("out", "grad", "grad_hidden"), (result, *grads), strict=True):
        if array is not None:
            check_gradient(array, cell.shape, name)
    return size


def _lstm_gates(x, forget_bias):
    input_gate, forget_gate, output_gate, candidate = np.split(to_double(x), 4, axis=1)
    opened = (activate("sigmoid", gate) for gate in (input_gate, forget_gate + forget_bias, output_gate))
    return *opened, np.tanh(candidate)


@op(rowwise=True, types=FLOATING)
def lstm_unit(x: Dense, cell: Dense, /, *, forget_bias: float = 0.0) -> tuple[Dense, Dense]:
    """Return cell and hidden state of a long short-term memory after a step, of every row. lstm_unit of Paddle.

    Parameters
    ----------
    x : array or LoDTensor of shape (rows, 4 * size)
        Sums of all products: of the input gate, the forget gate, the output gate and the candidate.
    cell : array or LoDTensor of shape (rows, size)
        The state before.
    forget_bias : float
        Added to the forget gate.

    Returns
    -------
    cell, hidden : like cell
        ``sigmoid(forget + forget_bias) * cell + sigmoid(input) * tanh(candidate)``, and ``sigmoid(output)`` times its
        tanh.

    Raises
    ------
    ShapeMismatchError
        Shapes do not fit.

    Examples
    --------
    >>> cell, hidden = lstm_unit(np.array([[0., 0., 9., 9.]]), np.array([[3.]]))
    >>> cell.round(3), hidden.round(3)
    (array([[2.]]), array([[0.964]]))
    """
    prepare_lstm(x, cell)
    input_gate, forget_gate, output_gate, candidate = _lstm_gates(x, forget_bias)
    new = forget_gate * cell + input_gate * candidate
    return round_to(new, x.dtype), round_to(output_gate * np.tanh(new), x.dtype)


@lstm_unit.infer_rule
def _(x, cell, *, forget_bias=0.0):
    return cell, cell


@lstm_unit.gradient(reads_outputs=True)
def _(call, *grads):
    return lstm_unit_grad(*map(values_of, (*call.inputs, call.outputs[0], *grads)), **call.attrs)


@op(like=("x", "cell"), types=FLOATING)
def lstm_unit_grad(
    x: Dense,
    cell: Dense,
    out: Dense,
    grad: Dense | None,
    grad_hidden: Dense | None = None,
    /,
    *,
    forget_bias: float = 0.0,
) -> tuple[Dense, Dense]:
    """Return the gradients of ``lstm_unit`` by x and cell, from those by its results; None is zeros.

    >>> lstm_unit_grad(np.zeros((1, 4)), np.array([[3.]]), np.array([[1.5]]), np.array([[1.]]))
    (array([[0.  , 0.75, 0.  , 0.5 ]]), array([[0.5]]))
    """
    prepare_lstm(x, cell, out, (grad, grad_hidden))
    input_gate, forget_gate, output_gate, candidate = _lstm_gates(x, forget_bias)
    g_cell, g = (to_double(each, cell.shape) for each in (grad, grad_hidden))
    squashed = np.tanh(to_double(out))
    g_cell = g_cell + g * output_gate * (1 - squashed * squashed)
    gates = g_cell * candidate * slope("sigmoid", input_gate), g_cell * cell * slope("sigmoid", forget_gate)
    rest = g * squashed * slope("sigmoid", output_gate), g_cell * input_gate * slope("tanh", candidate)
    return round_to(np.concatenate([*gates, *rest], axis=1), x.dtype), round_to(g_cell * forget_gate, x.dtype)


@gru_unit.example
def _(dtype):
    x = np.ones((2, 6), np.float32 if dtype.kind == "i" else dtype)
    return [((x, x[:, :2], x, x[0]), {})]


@lstm_unit.example
def _(dtype):
    x = np.ones((2, 8), np.float32 if dtype.kind == "i" else dtype)
    return [((x, x[:, :2]), {})]
