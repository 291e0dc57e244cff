"""A table that grows, while code of the user's own runs: initializers, and operators."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import lodkit
from lodkit import GrowingTable, LodkitError, SelectedRows


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_of_an_initializer_are_copied(order):
    """Two tables would train the array that it keeps; a table in Fortran's order could not be updated."""
    kept = np.zeros((4, 2), np.float32, order)

    def initializer(count, item, dtype):
        return kept if count == 4 else np.zeros((count, *item), dtype, order)

    a, b = (GrowingTable(2, capacity=4, initializer=initializer) for _ in range(2))
    for keys in ([5], [6, 7, 8, 9]):
        a.slots(keys), b.slots(keys)
        a.update(lodkit.sgd, SelectedRows([0], np.ones((1, 2), np.float32), 4), lr=1.0)
    assert a.lookup([5]).tolist() == [[-2, -2]]
    assert b.lookup([5]).tolist() == [[0, 0]]
    assert not kept.any()


@pytest.mark.parametrize("inner", [[77], [77, 78, 79], [4, 77]])
def test_slots_that_an_initializer_asks_for(inner):
    asked = []

    def initializer(count, item, dtype):
        if count > 4 and not asked:
            asked.append(None)
            asked[0] = table.slots(inner).tolist()
        return np.zeros((count, *item), dtype)

    table = GrowingTable(1, capacity=4, initializer=initializer)
    table.slots([1, 2])
    slots = table.slots([3, 4, 5, 6, 7, 8, 9]).tolist()
    assert table.slots(inner, grow=False).tolist() == asked[0]
    assert table.slots([3, 4, 5, 6, 7, 8, 9], grow=False).tolist() == slots
    assert sorted({*slots, *asked[0], 0, 1}) == [*range(len(table))] == [*range(len({*inner, *range(1, 10)}))]


def test_a_state_that_was_resized_is_refused():
    table = GrowingTable(2, capacity=4)
    table.slots([1, 2, 3])
    table.state("moment").resize((2, 2), refcheck=False)
    with pytest.raises(
        lodkit.ShapeMismatchError, match=r"the state 'moment' has shape \(2, 2\) now, not a row for each of 4"
    ):
        table.slots([4])
    assert len(table) == 3


def own_step(during):
    """An optimizer of the user's own."""

    @lodkit.op
    def own(param: lodkit.Dense, grad: SelectedRows, /, *, lr: float) -> lodkit.Dense:
        return param

    @own.kernel("cpu")
    def _(param: lodkit.Dense, grad: SelectedRows, /, *, lr):
        during()
        param[grad.rows] -= lr * grad.value
        return param

    return own


def test_no_lock_that_others_wait_for_is_held_while_a_users_operator_runs():
    table, other, found = GrowingTable(1, capacity=4), GrowingTable(1, capacity=2), []

    def during():
        thread = threading.Thread(target=lambda: found.append((table.slots([1]), other.slots([1, 2, 3]))), daemon=True)
        thread.start()
        thread.join(20)

    slots = table.slots([1])
    try:
        table.update(own_step(during), SelectedRows(slots, np.ones((1, 1), np.float32), 4), lr=1.0)
    finally:
        lodkit.OPS.pop("own", None)
    assert found and table.lookup([1]).tolist() == [[-1]]


def test_a_table_does_not_grow_during_its_update():
    table = GrowingTable(1, capacity=2)
    slots = table.slots([1])
    try:
        own = own_step(lambda: table.slots([2, 3]))
        with pytest.raises(
            LodkitError, match="would grow from 2 to 4 rows while an update runs, which would lose its s"
        ):
            table.update(own, SelectedRows(slots, np.ones((1, 1), np.float32), 2), lr=1.0)
    finally:
        lodkit.OPS.pop("own", None)
    assert table.slots([2, 3]).tolist() == [1, 2]
