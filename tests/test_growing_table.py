"""GrowingTable against a dictionary of rows and against a dense table of the same keys."""

from __future__ import annotations

import contextlib
import gc
import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import some_of

import lodkit
from lodkit import GrowingTable, LodkitError, LoDTensor, SelectedRows

OPTIMIZERS = [name for name, op in lodkit.OPS.items() if hasattr(op.definition, "optimizer")]

KEYS = st.lists(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3), max_size=20), max_size=6)


@settings(deadline=None, max_examples=60)
@given(KEYS)
def test_slots_are_those_of_a_dictionary(batches):
    table, slots = GrowingTable(1, capacity=2), {}
    for batch in batches:
        keys = np.array(batch, np.int64)
        unknown = table.slots(keys, grow=False)
        assert unknown.tolist() == [slots.get(k, -1) for k in batch]
        expected = [slots.setdefault(k, len(slots)) for k in batch]
        assert table.slots(keys).tolist() == expected
        assert len(table) == len(slots) < len(table.values)
    assert table.keys.tolist() == list(slots)


UPDATES = {
    "sgd": ((), {}),
    "adagrad": (("moment",), {}),
    "rowwise_adagrad": (("moment",), {}),
    "adam": (("first", "second"), {"iteration": 0, "lazy": True}),
    "ftrl": (("squared", "linear"), {}),
}


@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("threads", [1, 2])
def test_trains_as_a_dense_table_of_all_keys(name, threads):
    lodkit.set_num_threads(threads)
    rng = np.random.default_rng(0)
    names, attrs = UPDATES[name]
    keys = rng.integers(-(2**62), 2**62, 40)
    rowwise = name.startswith("rowwise")
    grown = GrowingTable((3,), np.float32, capacity=2)
    shapes = [(40, 3), *((40,) if rowwise else (40, 3) for _ in names)]
    dense, *states = (np.zeros(shape, np.float32) for shape in shapes)
    for state in names:
        grown.state(state, rowwise=rowwise)
    for n in (1, 3, 10, 30, 30):
        some, flow = rng.integers(0, n + 10, n), rng.normal(size=(n, 3)).astype(np.float32)
        with lodkit.Tape() as tape:
            grown.slots(keys[some])  # grows before what the tape sees
            rows = grown.lookup(LoDTensor(keys[some], [[n]]))
        np.testing.assert_array_equal(rows.values, dense[some])
        (grad,) = tape.gradient(rows, [grown.values], output_gradients=flow)
        assert isinstance(grad, SelectedRows)
        grown.slots(rng.integers(0, 9, 3))  # and after it
        grown.update(lodkit.OPS[name], grad, *names, lr=0.1, **attrs)
        lodkit.OPS[name](dense, SelectedRows(some, flow, 40), *states, lr=0.1, **attrs)
    np.testing.assert_array_equal(grown.lookup(keys[some], training=False), dense[some])


@pytest.mark.parametrize("name", some_of(OPTIMIZERS, 4))
def test_every_optimizer_makes_its_states(name):
    """As the same steps of a table that has all its slots, and slots to come stay as they are made."""
    op = lodkit.OPS[name]
    states = [s for s in list(op.inputs)[2:] if type(None) not in op.inputs[s] or name == "ftrl"]
    grown = GrowingTable(3, np.float64, capacity=4, initializer=lambda n, item, dtype: np.ones((n, *item), dtype))
    count = {name: number for name, number in (("iteration", 0), ("clip_norm", 1.0)) if name in op._needed}
    for keys in ([5, 9], [9, 7, 1, 2, 3, 4]):
        slots = grown.slots(keys)
        grown.update(op, SelectedRows(slots, np.ones((len(slots), 3)), len(grown.values)), *states, lr=0.1, **count)
        assert (grown.values[len(grown) :] == 1).all() and (grown.values[slots] < 1).all()


def test_unknown_keys_read_zeros_and_get_no_gradient():
    table = GrowingTable(2, capacity=4, initializer=lambda n, item, dtype: np.ones((n, *item), dtype))
    assert table.lookup([5, 9]).tolist() == [[1, 1], [1, 1]]
    with lodkit.Tape() as tape:
        rows = table.lookup(LoDTensor([9, 8, 7], [[1, 2]]), training=False)
    assert rows.values.tolist() == [[1, 1], [0, 0], [0, 0]]
    assert rows.recursive_sequence_lengths() == [[1, 2]]
    assert tape.gradient(rows, [table.values])[0].rows.tolist() == [1]
    assert len(table) == 2
    assert table.slots(np.empty((0, 3), np.int64)).shape == (0, 3)


def test_states_grow_with_their_numbers():
    table = GrowingTable(2, capacity=2)
    first, per_row = table.state("first", 0.1), table.state("per_row", 7.0, rowwise=True)
    first[0], per_row[0] = 5, 6
    table.slots(np.arange(9))
    assert table.state("first").shape == table.values.shape == (16, 2)
    assert table.state("first")[0].tolist() == [5, 5]
    np.testing.assert_array_equal(table.state("first")[1:], np.float32(0.1))
    assert table.state("per_row").tolist() == [6, *[7] * 15]
    assert set(table.states) == {"first", "per_row"}


def test_bad_input_changes_nothing():
    table = GrowingTable(2, capacity=2)
    grad = SelectedRows([40], np.ones((1, 2), np.float32), 50)
    for call, error, message in (
        (lambda: table.slots([1.5]), lodkit.DTypeError, "keys"),
        (lambda: table.update(lodkit.sgd, grad, lr=0.1), TypeError, "slots below 2, got SelectedRows of height 50"),
        (lambda: table.update(lodkit.sgd, np.ones(2), lr=0.1), TypeError, "got ndarray"),
        (lambda: GrowingTable(2, capacity=1), ValueError, "capacity"),
        (lambda: GrowingTable(2, np.int64), lodkit.DTypeError, "int64"),
    ):
        with pytest.raises(error, match=message):
            call()
    broken = GrowingTable(2, capacity=2)
    broken._initializer = lambda n, item, dtype: np.ones((n, 9), dtype)
    with pytest.raises(lodkit.ShapeMismatchError, match="initializer"):
        broken.slots([1, 2, 3])
    assert len(broken) == 0
    assert broken.slots([1], grow=False).tolist() == [-1]


def test_values_have_a_row_for_each_slot():
    table = GrowingTable(2, capacity=4)
    for values in (np.zeros((9, 2), np.float32), np.zeros((0, 2), np.float32), np.zeros((4, 2))):
        with pytest.raises(lodkit.ShapeMismatchError, match=r"a row for each slot; keys get more"):
            table.values = values
    with pytest.raises(lodkit.LoDError, match=r"values = .* is a list of uneven lists"):
        table.values = [[1.0, 2.0], 3.0]
    values = np.ones((4, 2), np.float32)
    table.values = values
    assert table.lookup([7]).tolist() == [[1, 1]]
    values.resize((2, 2), refcheck=False)
    with pytest.raises(lodkit.ShapeMismatchError, match="resized since"):
        table.slots([1, 2, 3, 4, 5])
    assert len(table) == 1


@pytest.mark.parametrize("item", [None, "2", (1, 2.5)])
def test_an_item_is_a_shape(item):
    with pytest.raises(TypeError, match="item is the shape of a row"):
        GrowingTable(item)
    with pytest.raises(lodkit.SizeError, match="capacity"):
        GrowingTable(2, capacity=2**62)


def test_states_and_updates_are_checked():
    table = GrowingTable(2)
    for call, message in (
        (lambda: table.state([1]), "name of a state"),
        (lambda: table.state("m", fill=None), "a state has numbers: fill = None"),
        (lambda: table.state("m", dtype="O"), "dtype = object"),
        (lambda: table.update(None, None, lr=0.1), "update takes an operator"),
    ):
        with pytest.raises(TypeError, match=message):
            call()
    with pytest.raises(lodkit.LoDError):
        table.slots([[1], [2, 3]])
    assert table.states == {}


def test_threads_share_a_table():
    table, failures = GrowingTable(1, capacity=2), []
    batches = [np.random.default_rng(k).integers(0, 5000, (20, 400)) for k in range(4)]

    def fill(keys):
        try:
            for some in keys:
                assert (table.lookup(some) == 0).all()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=fill, args=(keys,)) for keys in batches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert sorted(table.keys) == np.unique(batches).tolist()
    assert table.slots(table.keys, grow=False).tolist() == [*range(len(table))]


class Stop(Exception):
    """What another signal's handler raises."""


@pytest.mark.jit
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="has no timers")
def test_interrupted_growth_loses_no_key():
    """By other signals than SIGINT, which waits: some come in each part of it.

    Without garbage collection: Hypothesis has a callback there, and Python drops what a handler raises meanwhile.
    """

    def handler(*_):
        raise Stop

    before, known, new = signal.signal(signal.SIGALRM, handler), np.arange(1023), np.arange(5000, 5020)
    gc.disable()
    try:
        for i in range(300):
            table = GrowingTable(1, capacity=1024)
            slots = table.slots(known)
            with contextlib.suppress(Stop):
                signal.setitimer(signal.ITIMER_REAL, 1e-6 * (1 + i))
                table.slots(new)
                end = time.monotonic() + 1
                while time.monotonic() < end:
                    pass
            assert len(table) in (1023, 1043)
            table.slots(new)
            assert (table.slots(known, grow=False) == slots).all()
            assert table.keys.tolist() == [*known, *new]
    finally:
        gc.enable()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_gradients_of_rows_of_no_key_are_refused():
    """They would be read by unknown keys."""
    table = GrowingTable(2, capacity=8)
    table.slots([5, 6])
    for rows in ([0, 7], [2]):
        grad = SelectedRows(rows, np.ones((len(rows), 2), np.float32), 8)
        with pytest.raises(lodkit.RowIndexError, match=r"rows\[\d\] = \d is the slot of no key, there are 2"):
            table.update(lodkit.sgd, grad, lr=1.0)
    assert not table.values.any()


def test_growth_does_not_lose_gradients():
    table = GrowingTable(1, capacity=4)
    with lodkit.Tape() as tape:
        found = table.lookup([1, 2])
        with pytest.raises(LodkitError, match=r"call table.slots\(keys\) for all keys before the first lookup"):
            table.lookup([3, 4, 5])
    assert len(table) == 2
    earlier = table.values
    table.lookup([3, 4, 5])
    with pytest.raises(LodkitError, match="of a table that grew since"):
        tape.gradient(found, [table.values])
    grad = tape.gradient(found, [earlier])[0]
    table.update(lodkit.sgd, grad, lr=1.0)
    np.testing.assert_array_equal(table.lookup([1, 2, 3]), [[-1.0], [-1.0], [0.0]])


@pytest.mark.parametrize("capacity", [2.5, "8", 1, None])
def test_a_capacity_that_is_none(capacity):
    with pytest.raises(ValueError, match=r"^capacity must be an integer of at least 2, got "):
        GrowingTable(2, capacity=capacity)
