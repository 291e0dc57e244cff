"""Samples of lodkit/ops/recurrent_units.py."""

from __future__ import annotations

import numpy as np

import lodkit
from lodkit import LoDTensor

from ._make import array, plain, reals


def gru(rows, size, dtype=np.float64, bias=None, **attrs):
    """Make a call with a bias of this number of dimensions, or none."""
    make = array if dtype == np.float16 else reals
    x, hidden, weight = (make(*shape, dtype=dtype) for shape in ((rows, 3 * size), (rows, size), (size, 3 * size)))
    if bias is None:
        return (x, hidden, weight), attrs
    return (x, hidden, weight, make(*(1,) * (bias - 1), 3 * size, dtype=dtype)), attrs


def lstm(rows, size, dtype=np.float64, **attrs):
    make = array if dtype == np.float16 else reals
    return (make(rows, 4 * size, dtype=dtype), make(rows, size, dtype=dtype)), attrs


def ragged(case, lengths):
    (x, state, *weights), attrs = case
    return (LoDTensor(x, lengths), LoDTensor(state, lengths), *weights), attrs


GRUS = [
    gru(3, 2, bias=2),
    gru(4, 5, bias=1, candidate_activation="relu", gate_activation="tanh", origin_mode=True),
    gru(2, 3, candidate_activation="identity", gate_activation="identity", weight_layout="blocks"),
    gru(2, 1, candidate_activation="sigmoid", gate_activation="relu"),
    ragged(gru(3, 2, origin_mode=True), [[2, 0, 1]]),
    gru(5, 20, np.float32, bias=2),
    gru(3, 4, np.float16, bias=2, weight_layout="blocks"),
    gru(0, 3, bias=1),
    gru(2, 0),
]
LSTMS = [
    lstm(3, 2),
    lstm(4, 5, forget_bias=1.0),
    ragged(lstm(3, 2, forget_bias=-0.5), [[1, 1], [2, 1]]),
    (lstm(1, 2)[0][0] * 1e3, reals(1, 2)),
    lstm(5, 20, np.float32),
    lstm(3, 4, np.float16),
    lstm(0, 3),
    lstm(2, 0),
]
LSTMS[3] = (LSTMS[3], {})


def gradients(name, cases, keep, optional):
    """Calls of the gradient: what of the results it reads, and gradients by them, some of which are None."""
    for i, (inputs, attrs) in enumerate(plain(cases)):
        inputs = [*inputs, None][:4] if name == "gru_unit" else inputs
        results = lodkit.OPS[name].definition(*inputs, **attrs)
        grads = [array(*y.shape, dtype=y.dtype) for y in results]
        for at in optional[i % len(optional)]:
            grads[at] = None
        yield (*inputs, *(results[k] for k in keep), *grads), attrs


SAMPLES = {
    "gru_unit": GRUS,
    "gru_unit_grad": [*gradients("gru_unit", GRUS, (1, 2), ((1, 2), (), (0,)))],
    "lstm_unit": LSTMS,
    "lstm_unit_grad": [*gradients("lstm_unit", LSTMS, (0,), ((), (0,), (1,)))],
}
_GRU, _LSTM = gru(3, 2, np.float32, bias=2)[0], lstm(3, 2, np.float32)[0]
PADDLE = {
    "gru_unit": (
        dict(zip(("Input", "HiddenPrev", "Weight", "Bias"), _GRU, strict=True)),
        {"activation": 2, "gate_activation": 1, "origin_mode": False},
    ),
    "lstm_unit": (dict(zip(("X", "C_prev"), _LSTM, strict=True)), {"forget_bias": 1.0}),
}
