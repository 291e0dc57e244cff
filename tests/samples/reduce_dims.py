"""Samples of lodkit/ops/reduce_dims.py."""

from __future__ import annotations

import numpy as np

import lodkit

from ._make import array, reals, vector

_CASES = [
    ((reals(3, 4, 5),), {"reduce": r, "where": w, "num_dims": 2})
    for r in ("sum", "mean", "max", "logsumexp")
    for w in ("front", "back")
]
_CASES += [
    ((reals(3, 2), None, vector(2, 0)), {"reduce": "mean"}),
    ((reals(3, 2), None, vector(1, 2, 0, dtype=np.int32)), {"where": "back", "reduce": "max"}),
    ((reals(3, 4), reals(3) + 3), {}),
    ((reals(3, 4), reals(3) + 3), {"reduce": "mean"}),
    ((reals(5),), {"reduce": "prod"}),
    ((array(2, 20, dtype=np.float16),), {}),
    ((array(2, 3, dtype=np.int32),), {"where": "back"}),
    ((reals(0, 5),), {}),
    ((reals(2, 0),), {"where": "back", "reduce": "max"}),
]


def _gradients():
    for inputs, attrs in _CASES:
        if inputs[0].dtype.kind == "f":
            out = lodkit.reduce_dims.definition(*inputs, **attrs)
            yield inputs, out, array(*out.shape, dtype=out.dtype), attrs


SAMPLES = {
    "reduce_dims": _CASES,
    "reduce_dims_grad": [((i[0], o, g, *i[1:]), a) for i, o, g, a in _gradients()],
    "reduce_dims_weights_grad": [((i[0], o, g, i[1]), a) for i, o, g, a in _gradients() if len(i) == 2],
}
CAFFE2 = {f"Reduce{w}{r}": (np.ones((2, 3)),) for w in ("Front", "Back") for r in ("Sum", "Mean", "Max")}
CAFFE2["ReduceFrontWeightedSum"] = (np.ones((2, 3)), np.ones(2))
