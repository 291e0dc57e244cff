"""Samples of lodkit/ops/sequence_scatter.py."""

from __future__ import annotations

import numpy as np

from ._make import array, ids, ragged, reals, vector, with_gradient


def scatter(x, ids, make=reals):
    return (x, ids, ids.with_values(make(len(ids.values), *x.shape[2:], dtype=x.dtype))), {}


SCATTERED = [
    scatter(reals(3, 6), ids([3, 0, 5])),
    scatter(reals(5, 6, 2), ids([0, 2, 0, 3, 0])),
    ((reals(1, 6, 4, dtype=np.float32), ids([3]), ids([3]).with_values(reals(3, 4, 1, dtype=np.float32))), {}),
    scatter(reals(3, 6, 2, 2), ids([2, 1], [2, 1, 3])),
    scatter(reals(2, 6), ids([1], [2], [4, 1], dtype=np.int32)),
    scatter(reals(1, 6, 64, dtype=np.float32), ids([7])),
    scatter(array(2, 2, 3, dtype=np.float16), ids([3, 2], height=2), array),
    scatter(array(2, 3, dtype=np.int64), ids([4, 1], height=3), array),
    scatter(reals(1, 2), ragged([40], item=()).with_values(vector(*[1] * 40))),
    scatter(reals(0, 6), ids([])),
    scatter(reals(2, 6), ids([0, 0])),
]
SAMPLES = {
    "sequence_scatter": SCATTERED,
    "sequence_scatter_grad": [((*inputs, g), {}) for inputs, _, g, _ in with_gradient(SCATTERED, "sequence_scatter")],
}
_IDS = ids([2, 1], height=3)
PADDLE = {
    "sequence_scatter": (
        {"X": reals(2, 3), "Ids": _IDS.with_values(_IDS.values[:, None]), "Updates": _IDS.with_values(reals(3, 1))},
        {},
    )
}
