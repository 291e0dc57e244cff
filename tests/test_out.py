"""``out=`` of later calls, which run a plan: what the first call refuses they refuse too."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor

TABLE = np.arange(12, dtype=np.float32).reshape(6, 2)


@pytest.fixture
def bag():
    """A bag that has been called with ``out``, and its arguments."""
    ids, out = LoDTensor(np.array([1, 5, 2]), [[2, 1]]), np.empty((2, 2), np.float32)
    for _ in range(2):
        assert lodkit.embedding_bag(TABLE, ids, out=out) is out
        np.testing.assert_array_equal(out, [[12, 14], [4, 5]])
    return ids, out


def test_other_numbers_of_the_same_types(bag):
    ids, _ = bag
    halves, out = TABLE.astype(np.float16), np.empty((2, 2), np.float16)
    np.testing.assert_array_equal(lodkit.embedding_bag(halves, ids, out=out), [[12, 14], [4, 5]])
    narrow = LoDTensor(ids.values.astype(np.int32), [[1, 2]])
    out = np.empty((2, 2), np.float32)
    np.testing.assert_array_equal(lodkit.embedding_bag(TABLE[::-1], narrow, pool="max", out=out), [[8, 9], [6, 7]])


def test_nothing_is_written_where_a_later_call_is_refused(bag):
    ids, out = bag
    out[...] = 7
    with pytest.raises(lodkit.RowIndexError, match=r"ids\[1\] = 6"):
        lodkit.embedding_bag(TABLE, ids.with_values(np.array([1, 6, 2])), out=out)
    with pytest.raises(ValueError, match="pool"):
        lodkit.embedding_bag(TABLE, ids, pool="summ", out=out)
    with pytest.raises(lodkit.DTypeError, match="ids"):
        lodkit.embedding_bag(TABLE, ids.with_values(np.array([1.0, 2.0, 3.0])), out=out)
    with pytest.raises(lodkit.LoDMismatchError, match="weights"):
        lodkit.embedding_bag(TABLE, ids, LoDTensor(np.ones(3, np.float32), [[1, 2]]), out=out)
    assert (out == 7).all()


def test_out_is_another_array_than_the_inputs(bag):
    ids, _ = bag
    table = TABLE.copy()
    with pytest.raises(lodkit.OutputError, match="out overlaps table"):
        lodkit.embedding_bag(table, ids, out=table[:2])
    np.testing.assert_array_equal(table, TABLE)
    for wrong in (np.empty((3, 2), np.float32), np.empty((2, 2)), np.empty((2, 4), np.float32)[:, ::2]):
        with pytest.raises(lodkit.OutputError):
            lodkit.embedding_bag(table, ids, out=wrong)
    for _ in range(2):
        with pytest.raises(lodkit.OutputError, match="out overlaps x"):
            lodkit.relu(table, out=table)
        lodkit.relu(table, out=np.empty_like(table))
    np.testing.assert_array_equal(table, TABLE)


def test_a_resized_batch_is_refused(bag):
    ids, out = bag
    ids._values.resize(2, refcheck=False)
    out[...] = 7
    with pytest.raises(lodkit.LodkitError):
        lodkit.embedding_bag(TABLE, ids, out=out)
    assert (out == 7).all()


def test_a_parameter_after_plain_arrays(bag):
    ids, out = bag
    parameter = lodkit.parameter(TABLE.copy())
    with lodkit.Tape() as tape:
        loss = lodkit.embedding_bag(parameter, ids).sum()
    (before,) = tape.gradient(loss, [parameter])
    lodkit.embedding_bag(parameter, ids, out=out)
    np.testing.assert_array_equal(out, [[12, 14], [4, 5]])
    np.testing.assert_array_equal(before.to_dense(), [[0, 0], [1, 1], [1, 1], [0, 0], [0, 0], [1, 1]])


def test_a_result_that_is_copied():
    """``relu`` on the CPU fills no array itself: its plan copies what it gives, as the first call does."""
    x, out = LoDTensor(-TABLE, [[2, 4]]), np.ones_like(TABLE)
    for _ in range(2):
        out[...] = 7
        result = lodkit.relu(x, out=out)
        assert result.values is out and result._lod is x._lod and not out.any()
        with pytest.raises(lodkit.OutputError, match="shape"):
            lodkit.relu(x, out=np.empty((5, 2), np.float32))
        with pytest.raises(lodkit.DTypeError, match="complex"):
            lodkit.relu(TABLE.astype(complex), out=out)


def test_selected_rows_into_an_array():
    rows, out = lodkit.SelectedRows([1, 1], TABLE[:2], 3), np.empty((3, 2), np.float32)
    for _ in range(2):
        assert lodkit.selected_rows_to_dense(rows, out=out) is out
        np.testing.assert_array_equal(out, [[0, 0], [2, 4], [0, 0]])
        with pytest.raises(lodkit.OutputError, match="out overlaps"):
            lodkit.selected_rows_to_dense(rows, out=rows.value)


def test_arguments_that_fit_no_plan(bag):
    ids, out = bag
    out[...] = 7
    with pytest.raises(TypeError, match="embedding_bag lacks ids"):
        lodkit.embedding_bag(TABLE, out=out)
    with pytest.raises(TypeError, match="did you mean pool='sum'"):
        lodkit.embedding_bag(TABLE, ids, pol="sum", out=out)
    with pytest.raises(TypeError, match="got str; of a subclass"):
        lodkit.embedding_bag(TABLE, ids, out="here")
    assert (out == 7).all()


def test_tapes_hear_of_what_is_filled(bag):
    """A plan tells them, as the first call does: a value that a tape has read must not change before its gradient."""
    ids, _ = bag
    weight = lodkit.parameter(TABLE.copy())
    value = np.ones((2, 2), np.float32)
    with lodkit.Tape() as tape:
        loss = (lodkit.embedding_bag(weight, ids) * value).sum()
    lodkit.embedding_bag(TABLE, ids, out=value)
    with pytest.raises(lodkit.LodkitError, match=r"changed|written"):
        tape.gradient(loss, [weight])
