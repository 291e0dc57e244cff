"""Operators of features: columns, merging, pooling, gradients, and Caffe2's names for them."""

from __future__ import annotations

import numpy as np
import pytest
from test_features import NUMBERS, PAGE, SCORES, Kind, page_of_features  # noqa: F401

import lodkit
from lodkit import (
    DTypeError,
    Features,
    LoDError,
    LoDLevelError,
    LoDMismatchError,
    LoDTensor,
    RowIndexError,
    SelectedRows,
    ShapeMismatchError,
    caffe2,
)


def test_columns_and_dense(page):
    columns = {key: page.feature(key) for key in Kind}
    assert Features.from_columns(columns, {key: page.has(key) for key in Kind}, names=Kind) == page
    assert Features.from_columns({1: [0.5, 1.0]}, [None]).to_list() == [{1: 0.5}, {1: 1.0}]
    scores = Features.from_list(SCORES)
    maps = {key: scores.feature(key) for key in (2, 1)}
    assert Features.from_columns(maps, {key: scores.has(key) for key in maps}) == scores
    dense = Features.from_dense(np.array([[1, 2], [3, 4]]), ["PAGE_ID", 3], [[True, False], [True, True]], names=Kind)
    assert dense.to_list() == [{1: 1}, {1: 3, 3: 4}]
    assert Features.from_dense(np.ones((1, 2)), [1, 2]).to_list() == [{1: 1.0, 2: 1.0}]
    with pytest.raises(LoDError, match="keys has 1 entries for 2 columns"):
        Features.from_dense(np.ones((1, 2)), [1])
    with pytest.raises(ValueError, match="at least one column"):
        Features.from_columns({})
    uneven = LoDTensor([1, 2], [[1, 1]]), LoDTensor([0.5, 0.5], [[2, 0]])
    with pytest.raises(LoDMismatchError, match="keys and values of a map column"):
        Features.from_columns({1: uneven})


def test_merging_refuses_what_does_not_fit(page):
    with pytest.raises(TypeError, match="merge takes Features, got list"):
        page.merge(PAGE)
    with pytest.raises(LoDMismatchError, match="these are list features, those at position 0 map"):
        page.merge(Features.from_list(SCORES))
    with pytest.raises(LoDMismatchError, match="input 1 has 1 examples, input 0 2"):
        page.merge(page[:1])


ROWS, LISTS = np.ones((2, 3)), LoDTensor(np.ones(2), [[1, 1]])


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: lodkit.merge_features(LISTS, LoDTensor(np.ones(2))), LoDLevelError, "input 1 has lod_level 0"),
        (lambda: lodkit.merge_features(LISTS, LoDTensor(np.ones(2), [[2], [1, 1]])), LoDLevelError, "lod_level 2"),
        (lambda: lodkit.merge_features(LISTS, LoDTensor(ROWS, [[1, 1]])), ShapeMismatchError, r"items of shape \(3,\)"),
        (lambda: lodkit.merge_features(LISTS, LoDTensor([1, 2], [[1, 1]])), DTypeError, "input 1 is int64, input 0 f"),
        (lambda: lodkit.merge_features(ROWS), NotImplementedError, "wrap it: LoDTensor"),
        (lambda: lodkit.merge_features(LISTS, LoDTensor(None, [[1, 1]])), LoDError, "structure but no values"),
        (lambda: lodkit.merge_features(), TypeError, "merge_features lacks "),
        (lambda: lodkit.merge_features_grad(ROWS), TypeError, "at least one input"),
        (lambda: lodkit.stack_features(ROWS, LISTS), NotImplementedError, "no cpu kernel"),
        (lambda: lodkit.stack_features(ROWS, ROWS[:1]), LoDMismatchError, "input 1 has 1 examples, input 0 2"),
        (lambda: lodkit.stack_features(ROWS, presence=[[True]]), ShapeMismatchError, r"presence\[0\] has shape \(1,\)"),
        (lambda: lodkit.stack_features(ROWS, presence=[]), ShapeMismatchError, "0 masks for 1 features"),
        (lambda: lodkit.stack_features(ROWS, presence=[[2, 1]]), DTypeError, r"presence\[0\] holds .*2"),
        (lambda: lodkit.stack_features(ROWS, presence=[[0.5, 1]]), DTypeError, "float64"),
        (lambda: lodkit.pack_features(ROWS, presence=[[True]]), ShapeMismatchError, r"presence has shape \(1, 1\)"),
        (lambda: lodkit.pack_features(ROWS[0], presence=[True] * 3), ShapeMismatchError, r"x has shape \(3,\)"),
        (lambda: lodkit.pack_features(ROWS), TypeError, "needs the attribute presence"),
        (lambda: select(keys=[1]), ShapeMismatchError, r"keys have shape \(1,\), the values 2 entries"),
        (lambda: select(feature_keys=[1, 2, 1]), LoDError, "name key 1 twice"),
        (lambda: select(feature_keys=1), ShapeMismatchError, "give a list of keys"),
        (lambda: select(feature_keys=[0.5]), DTypeError, "feature_keys must be integers"),
        (lambda: select(LoDTensor(np.ones(1), [[1], [1], [1]])), LoDLevelError, "values have 3"),
        (lambda: lodkit.stack_features_grad(np.ones(2), np.ones(2, int)), DTypeError, "the gradient takes float"),
    ],
)
def test_wrong_inputs(call, error, match):
    with pytest.raises(error, match=match):
        call()


def select(values=LISTS, keys=(1, 2), feature_keys=(1,)):
    return lodkit.select_features(values, keys=keys, feature_keys=feature_keys)


def test_out_is_filled_or_refused():
    out = np.empty(2)
    merged = lodkit.merge_features(LISTS[:1], LISTS[1:], out=out)
    assert merged.values is out and merged.recursive_sequence_lengths() == [[2]]
    with pytest.raises(lodkit.LodkitError, match="out has shape"):
        lodkit.merge_features(LISTS, LISTS, out=out)


def test_pooling_equals_a_bag_a_key(page):
    rng = np.random.default_rng(0)
    tables = {Kind.POST_ID: rng.normal(size=(200, 3)), 1: rng.normal(size=(20, 2)), "APP_ID": rng.normal(size=(60, 1))}
    tables = {key: lodkit.parameter(table) for key, table in tables.items()}
    with lodkit.Tape() as tape:
        pooled = page.pool(tables, pool="mean")
    bags = [lodkit.embedding_bag(tables[k], page.feature(k), pool="mean") for k in tables]
    np.testing.assert_array_equal(pooled, np.concatenate(bags, axis=1))
    grad_output = rng.normal(size=pooled.shape)
    gradients = tape.gradient(pooled, [*tables.values()], output_gradients=grad_output)
    assert all(isinstance(g, SelectedRows) for g in gradients)
    assert gradients[0].rows.tolist() == [101, 102, 103]
    np.testing.assert_allclose(gradients[0].value, [grad_output[0, :3], grad_output[1, :3] / 2, grad_output[1, :3] / 2])
    np.testing.assert_allclose(gradients[2].to_dense()[50], grad_output[1, 5:])


def test_maps_pool_weighted_by_their_values():
    scores, table = Features.from_list(SCORES), lodkit.parameter(np.arange(24.0).reshape(12, 2))
    with lodkit.Tape() as tape:
        pooled = scores.pool({1: table, 9: table})
    expected = np.zeros((3, 4))
    expected[0, :2] = 0.5 * table[10] + 0.25 * table[11]
    np.testing.assert_allclose(pooled, expected)
    by_table, by_scores = tape.gradient(pooled, [table, scores.values])
    assert by_table.to_dense()[10].tolist() == [0.5, 0.5]
    assert by_scores.to_list() == [[[41.0, 45.0]], [], [[0.0], []]]


def test_scalars_pool_one_row_each():
    ids = Features.from_list([{1: 0, 2: 1}, {2: 0}])
    assert ids.pool({2: np.array([[1.0], [2.0]]), 1: np.array([5.0])}).tolist() == [[2.0, 5.0], [1.0, 0.0]]


def test_pooling_refuses_what_it_cannot_look_up(page):
    with pytest.raises(ValueError, match="at least one table"):
        page.pool({})
    with pytest.raises(RowIndexError, match="outside"):
        page.pool({1: np.ones((11, 2))})
    with pytest.raises(DTypeError, match="ids must be integers"):
        Features.from_list(NUMBERS).pool({1: np.ones((11, 2))})
    with pytest.raises(DTypeError, match=r"the table of columns\[2\] is float32"):
        page.pool({1: np.ones((12, 2)), 2: np.ones((60, 2), np.float32)})


def numbers(*values, dtype=np.int32):
    return np.array(values, dtype)


def test_caffe2_gradients_flow_to_the_values():
    """Of every name to its float values; 0 for what is absent."""
    here, there = np.array([True, False]), np.array([True, True])
    x, y = (lodkit.parameter(numbers(*row, dtype=np.float32)) for row in ((1, 2, 3), (4, 5)))
    keys, inner = numbers(1, 2, dtype=np.int64), numbers(7, 8, 9, dtype=np.int64)
    lists, more = numbers(1, 2), numbers(1, 1)
    calls = [
        (caffe2.MergeSingleListFeatureTensors, (lists, x, here, more, y, there), {"feature_ids": [5, 6]}),
        (
            caffe2.MergeSingleMapFeatureTensors,
            (lists, inner, x, here, more, inner[:2], y, there),
            {"feature_ids": [5, 6]},
        ),
        (caffe2.MergeMultiListFeatureTensors, (more, keys, lists, x, more, keys, more, y), {}),
        (caffe2.MergeMultiMapFeatureTensors, (more, keys, lists, inner, x, more, keys, more, inner[:2], y), {}),
    ]
    for call, inputs, args in calls:
        with lodkit.Tape() as tape:
            *_, values = call(*inputs, **args)
        grad_output = np.arange(1, len(values) + 1, dtype=np.float32)
        by_x, by_y = tape.gradient(values, [x, y], output_gradients=grad_output)
        single = "Single" in call.__name__
        assert values.tolist() == ([1, 4, 5] if single else [1, 4, 2, 3, 5])
        assert by_x.tolist() == ([1, 0, 0] if single else [1, 3, 4])
        assert by_y.tolist() == ([2, 3] if single else [2, 5])
    with lodkit.Tape() as tape:
        *_, values = caffe2.MergeSingleScalarFeatureTensors(y, here, y, there, feature_ids=[5, 6])
    assert tape.gradient(values, [y])[0].tolist() == [2, 1]
    with lodkit.Tape() as tape:
        *_, values = caffe2.MergeMultiScalarFeatureTensors(more, keys, y, lists, inner, x)
    assert values.tolist() == [4, 1, 5, 2, 3] and tape.gradient(values, [x])[0].tolist() == [1, 1, 1]
    dense = lodkit.parameter(np.stack([y, y]))
    with lodkit.Tape() as tape:
        lengths, ids, values = caffe2.MergeDenseFeatureTensors(dense, np.stack([here, there]), feature_ids=[5, 6])
    assert (lengths.tolist(), lengths.dtype, ids.tolist(), ids.dtype) == ([1, 2], np.int32, [5, 5, 6], np.int64)
    assert tape.gradient(values, [dense])[0].tolist() == [[1, 0], [1, 1]]


def test_caffe2_shifts_nothing():
    """An absent sample with a length: its rows are skipped, and those behind stay where they belong."""
    lengths, values, here = numbers(1, 1), numbers(10, 11, dtype=np.float32), np.array([False, True])
    merged = caffe2.MergeSingleListFeatureTensors(lengths, values, here, feature_ids=[7])
    assert [m.tolist() for m in merged] == [[0, 1], [7], [1], [11.0]]
    merged = caffe2.MergeSingleMapFeatureTensors(lengths, numbers(1, 2, dtype=np.int64), values, here, feature_ids=[7])
    assert [m.tolist() for m in merged] == [[0, 1], [7], [1], [2], [11.0]]


def test_caffe2_names_take_int64_lengths_and_refuse_others():
    lengths, values, here = numbers(1, 1, dtype=np.int64), numbers(10, 11), np.array([True, True])
    merged = caffe2.MergeSingleListFeatureTensors(lengths, values, here, feature_ids=[7])
    assert merged[0].dtype == merged[2].dtype == np.int32 and merged[3].tolist() == [10, 11]
    with pytest.raises(TypeError, match="MergeSingleListFeatureTensors takes 3 inputs for each"):
        caffe2.MergeSingleListFeatureTensors(lengths, values, feature_ids=[7])
    with pytest.raises(ValueError, match="feature_ids has 2 ids for 1 features"):
        caffe2.MergeSingleListFeatureTensors(lengths, values, here, feature_ids=[7, 8])
    with pytest.raises(LoDError, match="does not equal"):
        caffe2.MergeSingleListFeatureTensors(lengths[:1], values, here, feature_ids=[7])
    with pytest.raises(LoDError, match="lengths sum to 2"):
        caffe2.MergeMultiScalarFeatureTensors(lengths, numbers(1), numbers(2))
