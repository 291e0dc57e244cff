"""Samples of lodkit/ops/products.py."""

from __future__ import annotations

import numpy as np

from ._make import array, ragged, reals
from .elementwise import ARRAYS, RAGGED, SELECTED, WHOLE

#: Shapes of two arrays of which axes repeat, and the axis of the second.
REPEATING = [
    ((2, 1), (2,), {}),
    ((2, 1), (2,), {"axis": 0}),
    ((2, 3, 4), (3,), {"axis": 1}),
    ((2, 3, 4), (2, 3), {"axis": 0}),
    ((2, 3, 4), (4, 1), {"axis": 2}),
    ((3, 1), (2, 1, 4), {}),
    ((2, 3), (2, 3), {"axis": 1}),
    ((0, 3), (3,), {}),
    ((2, 1, 3), (4, 1), {}),
    ((1,), (1, 1), {}),
]
PAIRS = [((reals(*a), reals(*b)), attrs) for a, b, attrs in REPEATING]
SAMPLES = {
    "elementwise_mul": [
        *(((x, reals(1, dtype=getattr(x, "values", x).dtype)), {}) for x in (*ARRAYS[:-1], *RAGGED)),
        *(((x, np.array([2], x.dtype)), {}) for x in (*SELECTED, *WHOLE)),
        *(((x, reals(*x.shape, dtype=x.dtype)), {}) for x in (*ARRAYS[:-1], *SELECTED)),
        *PAIRS,
        ((array(2, 3, dtype=np.float16), array(3, dtype=np.float16)), {}),
        ((ragged([2, 0, 1], item=(2,)), reals(3, 1)), {}),
        ((ragged([2, 0, 1], item=(2,)), reals(3)), {"axis": 0}),
    ],
    "sum_repeated": [
        *(((reals(*np.broadcast_shapes((2, 3, 4), shape)), reals(*shape)), {}) for shape in ((3, 1), (4,), (2, 1, 1))),
        ((reals(2, 3, dtype=np.float32), np.zeros((2, 3))), {}),
        ((reals(2, 3, dtype=np.float32), np.zeros(2)), {"axis": 0}),
        ((array(2, 3, dtype=np.float16), np.zeros((), int)), {}),
        ((reals(0, 3), np.zeros(3)), {}),
    ],
}
