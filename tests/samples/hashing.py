"""Samples of lodkit/ops/hashing.py."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor

rng = np.random.default_rng(0)
ROWS = [rng.integers(-(2**63), 2**63 - 1, (3, columns)) for columns in (1, 2, 3, 4, 5, 8, 11)]
SAMPLES = {
    "hash_rows": [
        *(((x,), {"num_hash": 3, "mod_by": 100_003}) for x in ROWS),
        ((ROWS[1].astype(np.int32),), {"mod_by": 1}),
        ((np.empty((0, 2), np.int64),), {"mod_by": 10}),
        ((np.empty((2, 0), np.int64),), {"mod_by": 1 << 40}),
        *(((x.astype(np.int32),), {"num_hash": 2, "mod_by": 2**31, "dtype": "int32"}) for x in ROWS),
        ((LoDTensor(ROWS[2].astype(np.int32), [[1, 0, 2]]),), {"mod_by": 10, "dtype": "int32"}),
        (([[1, 2], [3, 4]],), {"num_hash": 2, "mod_by": 2**63 - 1}),
        ((LoDTensor(ROWS[2], [[1, 0, 2]]),), {"mod_by": 10}),
    ]
}
PADDLE = {"hash": ({"X": np.array([[1, 2], [3, 4]])}, {"num_hash": 2, "mod_by": 1000})}
