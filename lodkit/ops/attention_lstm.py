"""An LSTM that attends to its whole input sequence at every step."""

from __future__ import annotations

import typing

import numpy as np

from ..arrays import FLOATING, check_same_type, native
from ..base.errors import ShapeMismatchError
from ..lod import LoDTensor
from ..registry import Dense, inferred_level, op
from .shared.recurrent import Activation, activate
from .shared.reductions import shares

DOCS_PAGE = "recur"
SEARCH_WORDS = {"attention_lstm": "attention over a sequence in an LSTM"}


class Sizes(typing.NamedTuple):
    """Offsets of the sequences, elements of a row and of a state."""

    offsets: np.ndarray
    width: int
    size: int


def prepare(x, c0, attention_weight, weight, bias, h0, attention_bias, scalar, scalar_bias, level):
    """Check the inputs of attention_lstm on any device. Returns its Sizes."""
    name, offsets = "attention_lstm", x._row_offsets(level)
    if len(x.values.shape) != 2 or len(c0.shape) != 2:
        shapes = f"{tuple(x.values.shape)} and {tuple(c0.shape)}"
        raise ShapeMismatchError(
            f"{name}: x and c0 have shapes {shapes}; they must be (rows, width), (sequences, size)"
        )
    if scalar is None and scalar_bias is not None:
        raise ValueError(f"{name}: attention_scalar_bias is added to scores times attention_scalar; pass that too")
    count, width, size = len(offsets) - 1, x.values.shape[1], c0.shape[1]
    fitting = {
        "c0": (c0, (count, size)),
        "h0": (h0, (count, size)),
        "weight": (weight, (size + width, 4 * size)),
        "bias": (bias, (4 * size,), (1, 4 * size)),
        "attention_weight": (attention_weight, (width + size,), (width + size, 1)),
        **{
            what: (number, (1,), (1, 1))
            for what, number in (
                ("attention_bias", attention_bias),
                ("attention_scalar", scalar),
                ("attention_scalar_bias", scalar_bias),
            )
        },
    }
    check_same_type(name, x.values, **{what: array for what, (array, *_) in fitting.items()})
    for what, (array, *shapes) in fitting.items():
        if array is not None and tuple(array.shape) not in shapes:
            raise ShapeMismatchError(
                f"{name}: {what} has shape {tuple(array.shape)}; it must be {shapes[0]}, for {count} sequences of "
                f"rows of {width} elements and states of {size}"
            )
    return Sizes(offsets, width, size)


def _number(x):
    return 0.0 if x is None else float(x.reshape(-1)[0])


@op(types=FLOATING)
def attention_lstm(
    x: LoDTensor,
    c0: Dense,
    attention_weight: Dense,
    weight: Dense,
    bias: Dense,
    h0: Dense | None = None,
    attention_bias: Dense | None = None,
    attention_scalar: Dense | None = None,
    attention_scalar_bias: Dense | None = None,
    /,
    *,
    level: int = -1,
    gate_activation: Activation = "sigmoid",
    cell_activation: Activation = "tanh",
    candidate_activation: Activation = "tanh",
) -> tuple[LoDTensor, LoDTensor]:
    """Run an LSTM over every sequence whose input at each step is a mean of all rows of the sequence.

    attention_lstm of Paddle, for inference: it has no gradient. The attention is additive (Bahdanau et al., 2015):
    weights are the softmax of the scores of a sequence's rows. Scores are ``relu(row @ weight_of_rows + attention_bias
    + cell @ weight_of_cells)``; with an ``attention_scalar`` ``relu(scores * attention_scalar +
    attention_scalar_bias)``. A sequence of n rows takes n steps, and work that grows with n squared. The
    products are BLAS's: a sequence's result alone and in a batch agrees to rounding.

    Parameters
    ----------
    x : LoDTensor of shape (rows, width)
    c0 : array of shape (sequences, size)
        Cells before the first step.
    attention_weight : array of width + size elements
        The weight of rows, then the weight of cells.
    weight : array of shape (size + width, 4 * size)
        Rows multiply the previous hidden state, then the mean; columns are the forget gate, the input gate, the output
        gate and the candidate.
    bias : array of 4 * size elements
    h0 : array of shape (sequences, size), optional
        Hidden states before the first step; zeros by default.
    attention_bias, attention_scalar, attention_scalar_bias : array of one element, optional
    level : int
        The level of the sequences; the innermost by default.
    gate_activation, cell_activation, candidate_activation : str
        identity, relu, sigmoid or tanh.

    Returns
    -------
    hidden, cell : LoDTensor of shape (rows, size)
        In the structure of x.

    Raises
    ------
    ShapeMismatchError
        Weights or states do not fit.
    DTypeError
        The rows of x are not floating, or another input has another type.
    LoDLevelError
        x has no such level.
    ValueError
        There is an ``attention_scalar_bias`` and no ``attention_scalar``, or an activation is unknown.

    Examples
    --------
    >>> x = LoDTensor(np.array([[1.], [3.], [5.]]), [[2, 1]])
    >>> weight = np.array([[0., 0., 0., 0.], [0., 0., 0., 1.]])
    >>> relu = {"candidate_activation": "relu", "cell_activation": "relu"}
    >>> hidden, cell = attention_lstm(x, np.zeros((2, 1)), np.zeros(2), weight, np.zeros(4), **relu)
    >>> cell.values.ravel(), hidden.values.ravel()
    (array([1. , 1.5, 2.5]), array([0.5 , 0.75, 1.25]))
    """
    others = h0, attention_bias, attention_scalar, attention_scalar_bias
    sizes = prepare(x, c0, attention_weight, weight, bias, *others, level)
    attend, w = attention_weight.astype(np.float64).reshape(-1), weight.astype(np.float64)
    rows, add = x.values.astype(np.float64), bias.astype(np.float64).reshape(-1)
    found = np.zeros((2, len(rows), sizes.size))
    for s, (start, stop) in enumerate(zip(sizes.offsets[:-1], sizes.offsets[1:], strict=True)):
        cell, hidden = c0[s].astype(np.float64), np.zeros(sizes.size) if h0 is None else h0[s].astype(np.float64)
        by_rows = rows[start:stop] @ attend[: sizes.width] + _number(attention_bias)
        for t in range(start, stop):
            scores = np.maximum(by_rows + cell @ attend[sizes.width :], 0)
            if attention_scalar is not None:
                scores = np.maximum(scores * _number(attention_scalar) + _number(attention_scalar_bias), 0)
            mean = shares(scores) @ rows[start:stop]
            forget_gate, input_gate, output_gate, candidate = np.split(np.concatenate([hidden, mean]) @ w + add, 4)
            forget_gate, input_gate, output_gate = (
                activate(gate_activation, gate) for gate in (forget_gate, input_gate, output_gate)
            )
            cell = forget_gate * cell + input_gate * activate(candidate_activation, candidate)
            hidden = output_gate * activate(cell_activation, cell)
            found[:, t] = hidden, cell
    with np.errstate(over="ignore", under="ignore"):
        hidden, cell = found.astype(native(x.dtype))
    return x.with_values(hidden), x.with_values(cell)


@attention_lstm.infer_rule
def _(x, c0, *others, level=-1, **attrs):
    inferred_level(x, level)
    state = x.but(dims=(x.dims[0], c0.dims[1]))
    return state, state


@attention_lstm.example
def _(dtype):
    dtype = np.dtype(np.float32) if dtype.kind == "i" else dtype
    x = LoDTensor(np.ones((3, 2), dtype), [[2, 1]])
    states, weights = np.ones((2, 2), dtype), (np.ones(4, dtype), np.ones((4, 8), dtype), np.ones(8, dtype))
    return [((x, states, *weights), {})]
