"""Samples of lodkit/ops/sequence_tokens.py."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor

from ._make import ids, ragged, vector

SAMPLES = {
    "sequence_enumerate": [
        ((ids([3, 0, 2]),), {"win_size": 3}),
        ((ragged([1, 2], dtype=np.int32, item=(1,)),), {"win_size": 5, "pad_value": -9}),
        ((ids([2, 1], [1, 0, 4]),), {"win_size": 2, "pad_value": 7}),
        ((ids([1, 1], [0, 2], [1, 3]),), {"win_size": 2}),
        ((ids([4]),), {"win_size": 1}),
        ((ids([0, 0, 4, 0, 3, 0, 0, 5, 0, 0], dtype=np.int32),), {"win_size": 4, "pad_value": -1}),
        ((ids([0, 0]),), {"win_size": 2}),
        ((ids([]),), {"win_size": 2}),
    ],
    "sequence_erase": [
        ((ids([3, 0, 4]),), {"tokens": [2, 3, 5]}),
        ((ragged([2, 3], dtype=np.int32, item=(1,)),), {"tokens": [-1, 0, 1, 2, 9, -8]}),
        ((ids([2, 1], [2, 2, 5]),), {"tokens": vector(1, 0)}),
        ((ids([1, 1], [0, 2], [3, 3]),), {"tokens": [4, 4, 1]}),
        ((ids([4, 2]),), {"tokens": []}),
        ((ids([4, 2]),), {"tokens": range(6)}),
        ((ids([0, 0, 4, 0, 3, 0, 0, 5, 0, 0], dtype=np.int32),), {"tokens": [3, 1 << 40]}),
        ((ids([0, 0]),), {"tokens": [1]}),
        ((ids([]),), {"tokens": [1]}),
    ],
    "sequence_contains": [
        ((ids([3, 0, 2]),), {"tokens": [4, 1, 4]}),
        ((ids([2, 1], [2, 2, 5], dtype=np.int32),), {"tokens": vector(1, 0), "level": 0}),
        ((ids([2, 1], [2, 2, 5]),), {"tokens": [5]}),
        ((ids([4, 2]),), {"tokens": []}),
        ((ids([]),), {"tokens": [1]}),
        ((ids([0, 0]),), {"tokens": [1]}),
        ((LoDTensor(vector(-3, 7, -3).reshape(3, 1), [[1, 2]]),), {"tokens": [-3, 1 << 40]}),
    ],
}
WORDS = LoDTensor(vector(2, 2, 6, 1, 3, 9).reshape(6, 1), [[3, 3]])
PADDLE = {
    "sequence_enumerate": ({"X": WORDS}, {"win_size": 2, "pad_value": 0}),
    "sequence_erase": ({"X": WORDS}, {"tokens": [2, 3, 5]}),
    "filter_by_instag": (
        {"Ins": WORDS.with_values(np.ones((6, 2))), "Ins_tag": WORDS, "Filter_tag": vector(9)},
        {"is_lod": True},
    ),
}
