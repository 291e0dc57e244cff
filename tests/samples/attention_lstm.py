"""Samples of lodkit/ops/attention_lstm.py."""

from __future__ import annotations

import numpy as np

from ._make import ragged, reals

OPTIONAL = ("h0", "attention_bias", "attention_scalar", "attention_scalar_bias")


def layer(*levels, width=3, size=4, dtype=np.float64, given=(), **attrs):
    """Make a call with some of the optional inputs."""
    x = ragged(*levels, item=(width,), dtype=dtype)
    count = len(levels[attrs.get("level", -1)])
    shapes = (count, size), (width + size, 1), (size + width, 4 * size), (1, 4 * size)
    optional = ((count, size), (1, 1), (1,), (1, 1))
    extra = [reals(*s, dtype=dtype) if what in given else None for what, s in zip(OPTIONAL, optional, strict=True)]
    return (x, *(reals(*shape, dtype=dtype) for shape in shapes), *extra), attrs


SAMPLES = {
    "attention_lstm": [
        layer([5, 0, 2, 3], given=OPTIONAL),
        layer([2, 1], [3, 0, 2], given=("h0", "attention_bias")),
        layer([1], [4], given=("attention_scalar",), gate_activation="relu", candidate_activation="sigmoid"),
        layer([3, 6], width=20, size=17, dtype=np.float32, given=("attention_bias",)),
        layer([3, 1], dtype=np.float16, cell_activation="identity"),
        layer([0, 0]),
        layer([]),
        layer([2], size=0),
    ]
}
_INPUTS, _ = layer([2, 1], dtype=np.float32, given=("h0", "attention_bias"))
_SLOTS = ("X", "C0", "AttentionWeight", "LSTMWeight", "LSTMBias", "H0", "AttentionBias")
PADDLE = {
    "attention_lstm": (
        dict(zip(_SLOTS, _INPUTS[: len(_SLOTS)], strict=True)),
        {"gate_activation": "sigmoid", "cell_activation": "tanh", "candidate_activation": "tanh"},
    )
}
