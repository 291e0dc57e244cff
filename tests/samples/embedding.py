"""Samples of lodkit/ops/embedding.py."""

from __future__ import annotations

import numpy as np

from ._make import BAGS, LOOKUPS, PLAIN_LOOKUPS, TABLE, TABLES, array, reals, vector, with_gradient


def bag_cases():
    for table in TABLES:
        for bags in BAGS[:4]:
            yield (table, bags), {"pool": "sum"}
    for bags in BAGS:
        for pool in ("sum", "mean", "sqrt", "max", "min"):
            yield (TABLE, bags), {"pool": pool, "pad_value": 0.5}
        weights = reals(len(bags.values)) + 3
        yield (TABLE, bags, weights), {"pool": "sum", "padding_idx": 1}
        yield (TABLE, bags, weights), {"pool": "mean"}
    yield (TABLES[3], BAGS[5]), {"pool": "max", "padding_idx": 2, "is_sparse": False}
    yield (TABLES[4], BAGS[5]), {"pool": "mean", "dtype": "float32"}
    yield (array(6, 3, dtype=np.int64), BAGS[0]), {}
    for dtype in ("float16", "float64"):
        weights = (reals(len(BAGS[5].values)) + 3).astype(dtype)
        yield (array(6, 3, dtype=dtype), BAGS[5], weights), {"pool": "mean", "padding_idx": 1}


BAG = list(bag_cases())
BAG_GRADS = [((i[0], i[1], g, *i[2:]), a) for i, o, g, a in with_gradient(BAG, "embedding_bag", ("pad_value", "dtype"))]
SAMPLES = {
    "embedding_bag": [*BAG, ((TABLE, BAGS[3], BAGS[3].with_values(reals(7))), {"pool": "mean"})],
    "embedding_bag_grad": BAG_GRADS,
    "embedding_bag_weights_grad": [
        (i, {k: v for k, v in a.items() if k != "is_sparse"}) for i, a in BAG_GRADS if len(i) == 4
    ],
    "lookup_table": [
        *LOOKUPS,
        *(((array(6, 3).astype(t), vector(4, 0, 4)), {"padding_idx": 0}) for t in (np.int8, np.int16, np.uint8, bool)),
    ],
    "lookup_table_grad": [
        ((t, i, array(*i.shape, *t.shape[1:], dtype=t.dtype)), a) for (t, i), a in PLAIN_LOOKUPS if t.dtype.kind == "f"
    ]
    + [((TABLE, vector(*[1, 5, 1] * 30), reals(90, 3)), {"is_sparse": False})],
}
PADDLE = {
    "lookup_table": ({"W": np.ones((4, 2)), "Ids": np.array([[1], [2]])}, {}),
    "lookup_table_v2": ({"W": np.ones((4, 2)), "Ids": np.array([1, 2])}, {"padding_idx": -1}),
}
