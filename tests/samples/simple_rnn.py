"""Samples of lodkit/ops/simple_rnn.py."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor

from ._make import array, ragged, reals


def layer(*levels, width=3, size=2, given="x", item=None, dtype=np.float64, **attrs):
    """Make a call of simple_rnn: ``given`` has x for an input weight, h for initial states."""
    make = array if dtype == np.float16 else reals
    draw = lambda *shape: make(*shape, dtype=dtype)  # noqa: E731
    x = ragged(*levels, item=item or (width if "x" in given else size,), dtype=dtype)
    inputs = x, draw(width, size) if "x" in given else None, draw(size, size), draw(size)
    return (*inputs, *([draw(len(levels[attrs.get("level", -1)]), size)] if "h" in given else ())), attrs


CASES = [
    layer([3, 0, 1, 4]),
    layer([2, 3], given="h", reverse=True, activation="sigmoid"),
    layer([2, 1], [3, 0, 2], given="xh", level=0, activation="relu"),
    layer([3, 5], width=20, size=19, dtype=np.float32),
    layer([2, 1], given="", dtype=np.float16, activation="identity"),
    layer([2], item=(2, 2), width=4),
    layer([]),
    layer([0, 0], given="xh"),
    layer([0, 2], given="xh", reverse=True),
    layer([2, 1], width=2, size=0),
]


def grads(cases):
    """Calls of the gradient: of all states, and in every other case of the last ones too."""
    import lodkit

    for i, (inputs, attrs) in enumerate(cases):
        results = [r.values if isinstance(r, LoDTensor) else r for r in lodkit.simple_rnn.definition(*inputs, **attrs)]
        by = [array(*r.shape, dtype=r.dtype) for r in results[: 1 + i % 2]]
        yield (*inputs, *[None] * (5 - len(inputs)), results[0], *by), attrs


SAMPLES = {"simple_rnn": CASES, "simple_rnn_grad": [*grads(CASES)]}
