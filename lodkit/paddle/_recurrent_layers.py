"""Recurrent layers over sequences.

Paddle's workspaces, as BatchGate and BatchedInput, are not returned. As in Paddle, no gradient flows from Cell; the
operator ``lodkit.lstm`` has it.
"""

from __future__ import annotations

from ._types import SlotError, last, op_type


def _check_peepholes(name, weight, bias, use_peepholes):
    """Refuse a bias that has peepholes where none are used, and the reverse, if both shapes are known."""
    columns, given = last(weight), last(bias)
    if columns and given and (4 * given == 7 * columns) != use_peepholes:
        wanted = 7 * columns // 4 if use_peepholes else columns
        raise SlotError(f"{name} with use_peepholes={use_peepholes} takes a Bias of {wanted} elements, got {given}")


@op_type
def lstm(
    ops, Input, Weight, Bias, H0=None, C0=None, *, use_peepholes=True, is_reverse=False, gate_activation="sigmoid",
    cell_activation="tanh", candidate_activation="tanh",
):  # fmt: skip
    _check_peepholes("lstm", Weight, Bias, use_peepholes)
    attrs = {"gate_activation": gate_activation, "cell_activation": cell_activation, "reverse": is_reverse}
    attrs |= {"candidate_activation": candidate_activation, "cell_gradient": False}
    hidden, _, _, cell, _ = ops.lstm(Input, None, Weight, Bias, H0, C0, **attrs)
    return {"Hidden": hidden, "Cell": cell}


@op_type
def lstmp(
    ops, Input, Weight, ProjWeight, Bias, H0=None, C0=None, *, use_peepholes=True, is_reverse=False, cell_clip=0.0,
    proj_clip=0.0, gate_activation="sigmoid", cell_activation="tanh", candidate_activation="tanh",
    proj_activation="tanh",
):  # fmt: skip
    _check_peepholes("lstmp", Weight, Bias, use_peepholes)
    activations = {"gate_activation": gate_activation, "cell_activation": cell_activation}
    activations |= {"candidate_activation": candidate_activation, "projection_activation": proj_activation}
    clips = {"cell_clip": cell_clip, "projection_clip": proj_clip}
    inputs = Input, None, Weight, Bias, H0, C0, ProjWeight
    projection, _, _, cell, _ = ops.lstm(*inputs, reverse=is_reverse, cell_gradient=False, **activations, **clips)
    return {"Projection": projection, "Cell": cell}


@op_type
def fusion_lstm(
    ops, X, WeightX, WeightH, Bias, H0=None, C0=None, *, use_peepholes=True, is_reverse=False,
    gate_activation="sigmoid", cell_activation="tanh", candidate_activation="tanh",
):  # fmt: skip
    _check_peepholes("fusion_lstm", WeightH, Bias, use_peepholes)
    attrs = {"gate_activation": gate_activation, "cell_activation": cell_activation, "reverse": is_reverse}
    attrs |= {"candidate_activation": candidate_activation, "cell_gradient": False}
    hidden, _, _, cell, _ = ops.lstm(X, WeightX, WeightH, Bias, H0, C0, **attrs)
    return {"Hidden": hidden, "Cell": cell}


def _modes(gate_activation, activation, is_reverse, origin_mode):
    modes = {"reverse": is_reverse, "origin_mode": origin_mode, "weight_layout": "blocks"}
    return modes | {"gate_activation": gate_activation, "candidate_activation": activation}


@op_type
def gru(
    ops, Input, Weight, Bias=None, H0=None, *, activation="tanh", gate_activation="sigmoid", is_reverse=False,
    origin_mode=False,
):  # fmt: skip
    modes = _modes(gate_activation, activation, is_reverse, origin_mode)
    return {"Hidden": ops.gru(Input, None, Weight, Bias, H0, **modes)[0]}


@op_type
def fusion_gru(
    ops, X, WeightX, WeightH, Bias=None, H0=None, *, activation="tanh", gate_activation="sigmoid", is_reverse=False,
    origin_mode=False,
):  # fmt: skip
    modes = _modes(gate_activation, activation, is_reverse, origin_mode)
    return {"Hidden": ops.gru(X, WeightX, WeightH, Bias, H0, **modes)[0]}
