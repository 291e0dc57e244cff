"""Single steps of recurrent layers, and the LSTM that attends to its whole input."""

from __future__ import annotations

from ..arrays import is_integer
from ._types import op_type

ACTIVATIONS = {0: "identity", 1: "sigmoid", 2: "tanh", 3: "relu"}  # the numbers of gru_unit


def _activation(number):
    if not is_integer(number) or number not in ACTIVATIONS:
        known = ", ".join(f"{code} ({name})" for code, name in ACTIVATIONS.items())
        raise ValueError(f"gru_unit: an activation must be one of {known}, got {number!r}")
    return ACTIVATIONS[number]


@op_type
def gru_unit(ops, Input, HiddenPrev, Weight, Bias=None, *, activation=2, gate_activation=1, origin_mode=False):
    attrs = {"gate_activation": _activation(gate_activation), "candidate_activation": _activation(activation)}
    attrs |= {"origin_mode": origin_mode, "weight_layout": "blocks"}
    hidden, gate, reset = ops.gru_unit(Input, HiddenPrev, Weight, Bias, **attrs)
    return {"Gate": gate, "ResetHiddenPrev": reset, "Hidden": hidden}


@op_type
def lstm_unit(ops, X, C_prev, *, forget_bias=0.0):
    cell, hidden = ops.lstm_unit(X, C_prev, forget_bias=forget_bias)
    return {"C": cell, "H": hidden}


@op_type
def attention_lstm(
    ops,
    X,
    C0,
    AttentionWeight,
    LSTMWeight,
    LSTMBias,
    H0=None,
    AttentionBias=None,
    AttentionScalar=None,
    AttentionScalarBias=None,
    *,
    gate_activation="sigmoid",
    cell_activation="tanh",
    candidate_activation="tanh",
):
    """AttentionScalarBias is ignored without AttentionScalar. The workspaces of Paddle's kernel are no outputs."""
    numbers = AttentionBias, AttentionScalar, None if AttentionScalar is None else AttentionScalarBias
    activations = {
        "gate_activation": gate_activation,
        "cell_activation": cell_activation,
        "candidate_activation": candidate_activation,
    }
    hidden, cell = ops.attention_lstm(X, C0, AttentionWeight, LSTMWeight, LSTMBias, H0, *numbers, **activations)
    return {"Hidden": hidden, "Cell": cell}
