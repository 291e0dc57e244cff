"""How many functions of lodkit a call passes, from its third on."""

from __future__ import annotations

import numpy as np
import pytest
from calls import functions_of

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.registry.open_tapes import listeners

PARAM, MOMENT = np.ones((40, 16), np.float32), np.ones((40, 16), np.float32)
ROWS = SelectedRows([3, 1, 3], np.ones((3, 16), np.float32), 40)
TABLE, BAGS = np.ones((50, 16), np.float32), LoDTensor([3, 1, 4, 1, 5], [[2, 0, 3]])
WEIGHTS = np.ones(5, np.float32)
WIDE = np.ones((50, 32), np.float32)
MANY = LoDTensor(np.arange(80_000) % 50, [[20] * 4000])
LONG = LoDTensor(MANY.values, [[80_000]])
CALLS = {
    "bags": (lambda: lodkit.embedding_bag(TABLE, BAGS), 3),
    "bags with padding": (lambda: lodkit.embedding_bag(TABLE, BAGS, padding_idx=3), 3),
    "means with padding": (lambda: lodkit.embedding_bag(TABLE, BAGS, padding_idx=3, pool="mean"), 3),
    "weighted bags": (lambda: lodkit.embedding_bag(TABLE, BAGS, WEIGHTS), 4),
    "many bags": (lambda: lodkit.embedding_bag(TABLE, MANY), 7),
    "a strided table": (lambda: lodkit.embedding_bag(WIDE[:, ::2], MANY), 9),
    "a long bag": (lambda: lodkit.embedding_bag(TABLE, LONG), 16),
    "bags into an array": (lambda: lodkit.embedding_bag(TABLE, BAGS, out=POOLED), 8),
    "rectified into an array": (lambda: lodkit.relu(PARAM, out=COPY), 8),
    "pooling": (lambda: lodkit.sequence_pool(LOOKED_UP, pool="max"), 4),
    "sgd": (lambda: lodkit.sgd(PARAM, ROWS, lr=0.1), 6),
    "sgd with decay": (lambda: lodkit.sgd(PARAM, ROWS, lr=0.1, weight_decay=0.1), 8),
    "sgd of clipped rows": (lambda: lodkit.sgd(PARAM, ROWS, lr=0.1, clip_value=0.1, lazy=True), 8),
    "adagrad": (lambda: lodkit.adagrad(PARAM, ROWS, MOMENT, lr=0.1), 6),
    "a step of Adam": (lambda: STEPPED.step({"param": ROWS}), 31),
}
STEPPED = lodkit.optim.Adam({"param": PARAM.copy()}, lr=0.1, lazy=True)
POOLED, COPY = np.empty((3, 16), np.float32), np.empty_like(PARAM)
LOOKED_UP = BAGS.with_values(TABLE[:5].copy())


@pytest.mark.jit
@pytest.mark.parametrize("call", CALLS)
def test_a_call_passes_few_functions(call, monkeypatch):
    run, most = CALLS[call]
    # Tapes of other tests, which wait for a collection, hear of updates too.
    monkeypatch.setattr(listeners, "data", set())
    names = functions_of(run)
    assert len(names) <= most, names


@pytest.mark.jit
def test_a_call_on_a_tape_runs_the_plan_of_its_arrays():
    param = lodkit.parameter(TABLE)
    with lodkit.Tape():
        names = functions_of(lambda: lodkit.embedding_bag(param, BAGS))
    assert "plan" in names
    assert len(names) <= 50, names
