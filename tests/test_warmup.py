"""Warm-up by example: what it compiles, what it leaves alone, what it refuses."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import lodkit
from lodkit.jit import cache, limits, settings
from lodkit.registry.examples import read_example, zeros_like

TABLE = np.arange(40, dtype=np.float32).reshape(10, 4)
BAGS = lodkit.LoDTensor([3, 1, 4], [[2, 0, 1]])


def test_nothing_that_was_given_is_written():
    param, moment = TABLE.copy(), np.ones((10, 4), np.float32)
    grad, out = lodkit.SelectedRows([3, 3, 5], TABLE[:3].copy(), 10), np.full((3, 4), 7, np.float32)
    usual = vars(settings).copy(), vars(limits).copy()
    weight, none = lodkit.parameter(TABLE.copy()), TABLE[:0]
    updates = [functools.partial(lodkit.adagrad, x, grad, moment, lr=0.5) for x in (param, weight)]
    updates.append(functools.partial(lodkit.sgd, none.copy(), none, lr=0.5))
    lodkit.warmup([*updates, functools.partial(lodkit.embedding_bag, TABLE, BAGS, out=out)], progress=False)
    assert (param == TABLE).all()
    assert (np.asarray(weight) == TABLE).all()
    assert (moment == 1).all()
    assert (out == 7).all()
    assert grad.rows.tolist() == [3, 3, 5]
    assert (vars(settings), vars(limits)) == usual
    # Calls compute as before: 12 and 1 / sqrt(1 + 12 ** 2).
    lodkit.adagrad(param, grad, moment, lr=0.5)
    total = TABLE[0] + TABLE[1]
    np.testing.assert_allclose(moment[3], 1 + total**2)
    np.testing.assert_allclose(param[3], TABLE[3] - 0.5 * total / np.sqrt(1 + total**2), rtol=1e-5)


def test_parameters_lists_and_gradients():
    weight = lodkit.parameter(TABLE.copy())
    lodkit.warmup(functools.partial(lodkit.lookup_table, weight, [3, 1]), gradients=True)
    events = []
    cache.watchers.append(lambda event, name: events.append(name))
    try:
        with lodkit.Tape() as tape:
            rows = lodkit.lookup_table(weight, [2] * 30_000)
        (grad,) = tape.gradient([rows], [weight])
    finally:
        cache.watchers.pop()
    assert events == []
    assert (np.asarray(weight) == TABLE).all()
    assert grad.to_dense()[2].tolist() == [30_000] * 4


@pytest.mark.parametrize("cut", [np.s_[:], np.s_[::2], np.s_[:, 1:3], np.s_[::-1, ::3]])
def test_zeros_have_the_layout_of_what_they_stand_for(cut):
    for array in (TABLE[cut], np.asfortranarray(TABLE)[cut]):
        zeros = zeros_like(array)
        assert (zeros.shape, zeros.dtype, zeros.strides) == (array.shape, array.dtype, array.strides)
        assert not zeros.any()
        assert not np.shares_memory(zeros, array)
        zeros[...] = 1
        assert zeros.sum() == array.size


def test_examples_with_merged_rows_and_with_few_or_many():
    weights = np.array([1, 2, 3], np.float32)
    example = read_example(functools.partial(lodkit.embedding_bag, TABLE, BAGS, weights))
    for count in (0, 1, 5):
        table, ids, longer = example.repeat_first_row(count).inputs
        assert table is TABLE
        assert ids.values.tolist() == [3] * count
        assert ids.recursive_sequence_lengths() == [[count, 0, 0]]
        assert longer.tolist() == [1] * count
    table, ids, longer = example.drop_sequences().inputs
    assert table is TABLE
    assert (len(ids), len(ids.values), len(longer)) == (0, 0, 0)
    grad = lodkit.SelectedRows([5, 3, 5], TABLE[:3], 10)
    example = read_example(functools.partial(lodkit.sgd, TABLE, grad, lr=0.1))
    assert example.repeat_first_row(2).inputs[1].rows.tolist() == [5, 5]
    assert example.merge_rows().inputs[1].rows.tolist() == [3, 5]
    assert example.merge_rows().inputs[0] is TABLE


def test_what_is_no_call_of_an_operator_is_refused():
    for wrong in (functools.partial(len, [1]), lambda: None, 3):
        with pytest.raises(TypeError, match=r"ops must be operators, their names or functools.partial\(op, \*inputs\)"):
            lodkit.warmup(["relu", wrong])
    with pytest.raises(lodkit.RowIndexError, match=r"10"):
        lodkit.warmup(functools.partial(lodkit.embedding_bag, TABLE, lodkit.LoDTensor([10], [[1]])))
    with pytest.raises(TypeError, match="no attribute 'bits'"):
        lodkit.warmup(functools.partial(lodkit.embedding_bag, TABLE, BAGS, bits=8))
