"""Samples of lodkit/ops/rank_table.py."""

from __future__ import annotations

import numpy as np

import lodkit
from lodkit import LoDTensor

from ._make import array, ragged, reals, vector


def ranked(*lengths, level=0):
    """The table of a batch of these lengths, by the operator's definition."""
    return lodkit.lod_rank_table.definition(LoDTensor(None, [list(level) for level in lengths]), level=level)


THREE, TIES = ranked([2, 1, 3]), ranked([2, 0, 2, 1, 2, 0])
NONE, EMPTY = ranked([]), ranked([0, 0])
RANKED = [
    ((ragged([2, 1, 3], item=(2,)),), {}),
    ((ragged([2, 0, 2, 1, 2, 0], item=()),), {}),
    ((ragged([]),), {}),
    ((ragged([0, 0]),), {}),
    ((ragged([2, 0, 1], [4, 0, 5], item=()),), {"level": 1}),
    ((ragged([2, 0, 1], [2, 1, 2], [1, 0, 3, 1, 1], item=()),), {"level": -2}),
]
ROWS = [
    ((reals(3, 2), THREE), {}),
    ((reals(6), TIES), {}),
    ((ragged([0, 3, 1], item=(2,)), THREE), {}),
    ((ragged([1, 0, 2], [2, 0, 1], item=()), THREE), {}),
    ((reals(3, 64, dtype=np.float32), THREE), {}),
    ((array(3, 4, dtype=np.float16), THREE), {}),
    ((vector(5, 6, 7), THREE), {}),
    ((reals(0, 2), NONE), {}),
    ((reals(2, 0), EMPTY), {}),
]
BACK = [((ragged([0, 3, 1], item=(2,)), THREE), {"inverse": True}), ((reals(6, 2), TIES), {"inverse": True})]
SHRUNK = [
    ((reals(3, 2), THREE), {"step": 0}),
    ((reals(3, 2), THREE), {"step": 1}),
    ((reals(2), THREE), {"step": 2}),
    ((reals(3, 2), THREE), {"step": 7}),
    ((ragged([2, 0, 3], item=(2,)), THREE), {"step": 1}),
    ((ragged([1, 2], [2, 0, 1], item=()), THREE), {"step": 2}),
    ((array(4, 4, dtype=np.float16), TIES), {"step": 1}),
    ((vector(5, 6, 7), THREE), {"step": 2}),
    ((reals(0, 2), NONE), {"step": 0}),
]


def shrink_gradients():
    for (x, table), attrs in SHRUNK:
        out = lodkit.shrink_rnn_memory.definition(x, table, **attrs)
        out = out.values if isinstance(out, LoDTensor) else out
        if out.dtype.kind == "f":
            yield (x, table, array(*out.shape, dtype=out.dtype)), attrs


SAMPLES = {
    "lod_rank_table": RANKED,
    "max_sequence_len": [((table,), {}) for table in (THREE, TIES, NONE, EMPTY)],
    "reorder_lod_tensor_by_rank": ROWS + BACK,
    "shrink_rnn_memory": SHRUNK,
    "shrink_rnn_memory_grad": [*shrink_gradients()],
}
PADDLE = {
    "lod_rank_table": ({"X": ragged([2, 1, 3])}, {"level": 0}),
    "max_sequence_len": ({"RankTable": THREE}, {}),
    "reorder_lod_tensor_by_rank": ({"X": reals(3, 2), "RankTable": THREE}, {}),
    "shrink_rnn_memory": ({"X": reals(3, 2), "RankTable": THREE, "I": vector(1)}, {}),
}
