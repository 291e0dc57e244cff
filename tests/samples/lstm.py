"""Samples of lodkit/ops/lstm.py."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor

from ._make import array, ragged, reals


def layer(*levels, width=3, size=2, out=None, given="xb", item=None, dtype=np.float64, **attrs):
    """Make a call of lstm, with what ``given`` says.

    x: an input weight, b: a bias, p: a bias with peepholes, h: initial states, c: initial cells.
    """
    make = array if dtype == np.float16 else reals
    draw = lambda *shape: make(*shape, dtype=dtype)  # noqa: E731
    back, sequences = out or size, len(levels[attrs.get("level", -1)])
    x = ragged(*levels, item=item or (width if "x" in given else 4 * size,), dtype=dtype)
    weights = draw(width, 4 * size) if "x" in given else None, draw(back, 4 * size)
    bias = draw(7 * size) if "p" in given else draw(1, 4 * size) if "b" in given else None
    states = draw(sequences, back) if "h" in given else None, draw(sequences, size) if "c" in given else None
    inputs = x, *weights, bias, *states, None if out is None else draw(size, out)
    while inputs[-1] is None and len(inputs) > 3:
        inputs = inputs[:-1]
    return inputs, attrs


CASES = [
    layer([3, 0, 1, 4]),
    layer([2, 3], given="ph", reverse=True, cell_clip=0.4),
    layer([2, 1], [3, 0, 2], given="xpc", level=0),
    layer([4, 1, 2], given="xbhc", out=3, projection_activation="tanh", projection_clip=0.3),
    layer([2, 2], gate_activation="tanh", candidate_activation="identity", cell_activation="relu"),
    layer([3, 5], width=20, size=19, given="xp", dtype=np.float32),
    layer([2, 1], given="", dtype=np.float16),
    layer([2], item=(2, 2), width=4),
    layer([]),
    layer([0, 0], given="xbhc"),
    layer([0, 2], given="xbhc", reverse=True),
    layer([2, 1], width=2, size=0),
]


def grads(cases):
    """Calls of the gradient: of the hidden states alone, and in every other case of the cells and the last ones too."""
    import lodkit

    for i, (inputs, attrs) in enumerate(cases):
        results = [r.values if isinstance(r, LoDTensor) else r for r in lodkit.lstm.definition(*inputs, **attrs)]
        hidden, last, last_cell, cell, gates = results
        given = (*inputs, *[None] * (7 - len(inputs)))
        by = [array(*r.shape, dtype=r.dtype) for r in (hidden, cell, last, last_cell)[: 1 if i % 2 == 0 else 4]]
        yield (*given, hidden, cell, gates, *by), attrs


SAMPLES = {"lstm": CASES, "lstm_grad": [*grads(CASES)]}


def _paddle(slots, given, out=None, **sizes):
    (x, wide, weight, *others), _ = layer([2, 1], given=given, out=out, dtype=np.float32, **sizes)
    found = dict(zip(slots, (x, weight, others[0].reshape(1, -1)), strict=True))
    return found | ({"WeightX": wide} if wide is not None else {}) | ({"ProjWeight": others[-1]} if out else {})


PADDLE = {
    "lstm": (_paddle(("Input", "Weight", "Bias"), "p"), {}),
    "lstmp": (_paddle(("Input", "Weight", "Bias"), "b", 3), {"use_peepholes": False, "proj_clip": 0.5}),
    "fusion_lstm": (_paddle(("X", "WeightH", "Bias"), "xp"), {"is_reverse": True}),
}
