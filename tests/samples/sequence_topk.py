"""Samples of lodkit/ops/sequence_topk.py."""

from __future__ import annotations

import numpy as np

import lodkit

from ._make import ragged, reals, rng, with_gradient

TIES = ragged([6, 2], item=()).with_values(np.array([1, np.nan, 3, 3, -np.inf, 3, np.inf, np.inf]))
TOP = [
    ((ragged([3, 0, 1, 7], item=()),), {"k": 2}),
    ((ragged([0, 0, 4, 0, 3, 0], item=()),), {"k": 1}),
    ((ragged([2, 1], [3, 0, 5], item=()),), {"k": 3}),
    ((ragged([1], [2], [9, 4], item=(), dtype=np.float32),), {"k": 100}),
    ((ragged([4, 2], item=(), dtype=np.float16),), {"k": 3}),
    ((ragged([4, 2], item=(), dtype=np.int64),), {"k": 2}),
    ((TIES,), {"k": 3}),
    ((ragged([40], item=()),), {"k": 12}),
    ((ragged([], item=()),), {"k": 2}),
    ((ragged([0, 0], item=()),), {"k": 2}),
]


def top_grad(inputs, attrs):
    indices = lodkit.OPS["sequence_topk"].definition(*inputs, **attrs)[1]
    return (*inputs, indices, reals(*indices.shape, dtype=inputs[0].dtype)), {}


def matrices(rows, columns, channels, topks, dtype=np.float64, item=(1,), above=()):
    """Make a call on matrices of distinct numbers with these rows and columns."""
    lengths = [channels * r * c for r, c in zip(rows, columns, strict=True)]
    x = ragged(*above, lengths, item=item, dtype=dtype)
    x = x.with_values(rng.permutation(x.values.size).reshape(x.shape).astype(dtype))
    attrs = {"topks": topks, "channel_num": channels}
    row, column = (
        ragged(*above, lengths, item=(), dtype=np.int64) for lengths in (rows, columns)
    )  # which are not read
    return (x, row, column), attrs


POOLED = [
    matrices([2, 1], [3, 2], 2, [1, 3]),
    matrices([0, 2, 1, 0], [2, 3, 0, 0], 1, [2]),
    matrices([2, 1, 3], [4, 1, 2], 3, (1, 2, 2, 5), above=([2, 1],), item=()),
    matrices([3], [40], 1, [1, 20], np.float32),
    matrices([2], [3], 1, [2], np.float16),
    matrices([], [], 1, [1]),
    matrices([0, 0], [0, 0], 2, [1, 4]),
    matrices([1, 2], [0, 0], 2, [1, 4]),
]
SAMPLES = {
    "sequence_topk": TOP,
    "sequence_topk_grad": [top_grad(*case) for case in TOP if case[0][0].dtype.kind == "f"],
    "sequence_topk_avg_pooling": POOLED,
    "sequence_topk_avg_pooling_grad": [
        ((*inputs, grad), attrs) for inputs, _, grad, attrs in with_gradient(POOLED, "sequence_topk_avg_pooling")
    ],
}
_INPUTS, _ATTRS = matrices([2, 1], [3, 2], 2, [1, 3])
PADDLE = {"sequence_topk_avg_pooling": (dict(zip(("X", "ROW", "COLUMN"), _INPUTS, strict=True)), _ATTRS)}
