"""Samples of lodkit/ops/columns.py."""

from __future__ import annotations

import numpy as np

from ._make import array, reals, with_gradient

COLUMNS = [
    ((reals(3, 2), reals(3), reals(3, 4)), {}),
    ((reals(0, 2), reals(0, 1)), {}),
    ((array(2, 1, dtype=np.float16), array(2, 3, dtype=np.float16)), {}),
    ((array(2, 2, dtype=np.int64),), {}),
    ((reals(2, 0, dtype=np.float32), reals(2, 5, dtype=np.float32)), {}),
]

SAMPLES = {
    "concat_columns": COLUMNS,
    "concat_columns_grad": [((grad, *xs), {}) for xs, _, grad, _ in with_gradient(COLUMNS, "concat_columns")],
}
