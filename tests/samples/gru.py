"""Samples of lodkit/ops/gru.py."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor

from ._make import array, ragged, reals


def layer(*levels, width=3, size=2, given="x", bias=3, item=None, dtype=np.float64, **attrs):
    """Make a call of gru: ``given`` has x for an input weight, h for initial states; ``bias`` times the size."""
    make = array if dtype == np.float16 else reals
    draw = lambda *shape: make(*shape, dtype=dtype)  # noqa: E731
    x = ragged(*levels, item=item or (width if "x" in given else 3 * size,), dtype=dtype)
    inputs = x, draw(width, 3 * size) if "x" in given else None, draw(size, 3 * size)
    inputs += (draw(bias * size),) if bias or "h" in given else ()
    return (*inputs, *([draw(len(levels[attrs.get("level", -1)]), size)] if "h" in given else ())), attrs


CASES = [
    layer([3, 0, 1, 4]),
    layer([2, 3], given="h", reverse=True, weight_layout="blocks"),
    layer([4, 1, 2], given="xh", bias=4, reset_after=True, origin_mode=True),
    layer([2, 1], [3, 0, 2], given="", bias=0, origin_mode=True, level=0),
    layer([2, 2], gate_activation="tanh", candidate_activation="relu", reset_after=True),
    layer([3, 5], width=20, size=19, dtype=np.float32),
    layer([3, 2], size=19, given="", bias=4, dtype=np.float32, reset_after=True),
    layer([2, 1], given="", dtype=np.float16),
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
        results = [r.values if isinstance(r, LoDTensor) else r for r in lodkit.gru.definition(*inputs, **attrs)]
        given = (*inputs, *[None] * (5 - len(inputs)))
        by = [array(*r.shape, dtype=r.dtype) for r in results[: 1 + i % 2]]
        yield (*given, *results[::2], *by), attrs


SAMPLES = {"gru": CASES, "gru_grad": [*grads(CASES)]}
_x, _wide, _weight, _bias = layer([2, 1], dtype=np.float32)[0]
PADDLE = {
    "gru": (dict(zip(("Input", "Weight"), layer([2, 1], given="", bias=0, dtype=np.float32)[0][::2], strict=True)), {}),
    "fusion_gru": ({"X": _x, "WeightX": _wide, "WeightH": _weight, "Bias": _bias.reshape(1, -1)}, {}),
}
