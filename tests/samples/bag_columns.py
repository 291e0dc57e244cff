"""Samples of lodkit/ops/bag_columns.py."""

from __future__ import annotations

import numpy as np

from ._make import BAGS, TABLES, array, ids, reals

PAIR = (reals(6, 3), reals(4, 2))
COLUMNS = (BAGS[0], ids([0, 2, 1], height=4), ids([1, 1, 0], dtype=np.int32))
SHARED = {"tables": [0, 1, 0]}
WEIGHTS = [reals(len(column.values)) + 3 for column in COLUMNS]
LONG = (ids([4, 30, 0], height=6), ids([40, 0, 1], height=4), ids([1, 1, 20]))

SAMPLES = {
    "embedding_bag_columns": [
        *(((*PAIR, *COLUMNS), {**SHARED, "pool": pool, "pad_value": 0.5}) for pool in ("sum", "mean", "sqrt", "max")),
        ((*PAIR, *COLUMNS), {**SHARED, "pool": "logsumexp", "names": ["a", "b", "c"]}),
        ((*PAIR, *COLUMNS, *WEIGHTS), {**SHARED, "padding_idx": 1}),
        ((*PAIR, *COLUMNS, *WEIGHTS), {**SHARED, "pool": "mean", "is_sparse": False}),
        ((*PAIR, *LONG), {**SHARED, "pool": "mean", "padding_idx": 3}),
        ((reals(6), reals(6, 2, 3), BAGS[0], BAGS[0]), {"tables": (0, 1)}),
        ((TABLES[3], reals(6, 16, dtype=np.float32), BAGS[0], BAGS[0]), {"tables": (1, 0)}),
        ((TABLES[3], *[BAGS[0]] * 10), {"tables": [0] * 10, "pool": "min"}),
        ((TABLES[4], array(6, 3, dtype=np.float16), BAGS[0], BAGS[0]), {"tables": [0, 1]}),
        ((TABLES[4], BAGS[0]), {"tables": [0], "pool": "mean", "dtype": "float32"}),
        ((array(6, 3, dtype=np.int64), BAGS[0], BAGS[0]), {"tables": [0, 0]}),
        ((*PAIR, ids([3, 3, 3], [2, 0, 1] * 3, height=4)), {**SHARED, "pool": "mean"}),
        ((*PAIR, ids([0, 0, 0], [], height=4)), SHARED),
        ((TABLES[4], ids([2, 2], [2, 30, 1, 0])), {"tables": [0, 0], "padding_idx": 2}),
        ((*PAIR, BAGS[1], BAGS[1]), {"tables": [0, 1]}),
        ((reals(0, 2), PAIR[0], BAGS[2], BAGS[2]), {"tables": [0, 1]}),
        ((reals(6, 0), PAIR[0], BAGS[0], BAGS[0]), {"tables": [0, 1]}),
    ]
}
