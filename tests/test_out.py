"""``out=`` of later calls, whose launcher is kept: what the first call refuses they refuse too."""

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
    with pytest.raises(lodkit.OutputError, match="out overlaps"):
        lodkit.embedding_bag(table, ids, out=table[:2])
    np.testing.assert_array_equal(table, TABLE)
    for wrong in (np.empty((3, 2), np.float32), np.empty((2, 2)), np.empty((2, 4), np.float32)[:, ::2]):
        with pytest.raises(lodkit.OutputError):
            lodkit.embedding_bag(table, ids, out=wrong)
    with pytest.raises(lodkit.OutputError, match="overlaps"):
        lodkit.relu(table, out=table)


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
