"""Nested features: the value type, reading, merging, pooling, and Caffe2's names for it."""

from __future__ import annotations

import enum
import pickle

import numpy as np
import pytest

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


class Kind(enum.IntEnum):
    PAGE_ID, APP_ID, POST_ID = 1, 2, 3


class Other(enum.IntEnum):
    PAGE_ID = 1


EX1, EX2 = {1: {10, 11}, 3: {101}}, {1: {11}, 2: {50}, 3: {102, 103}}
PAGE = [{1: [10, 11], 3: [101]}, {1: [11], 2: [50], 3: [102, 103]}]
SCORES = [{1: {10: 0.5, 11: 0.25}}, {}, {2: {3: 1.0}, 1: {}}]
NUMBERS = [{1: 0.5, 3: 0.75}, {2: 0.5, 3: 0.25, 5: 0.125}]


@pytest.fixture
def page():
    return Features.from_list([EX1, EX2], names=Kind)


def test_the_page(page):
    """values, values_lengths, keys and example_lengths as printed there."""
    assert page.values.values.tolist() == [10, 11, 101, 11, 50, 102, 103]
    assert page.values_lengths.tolist() == [2, 1, 1, 1, 2]
    assert page.keys.tolist() == [1, 3, 1, 2, 3]
    assert page.lengths.tolist() == [2, 3]
    assert page.to_list() == PAGE
    again = Features(page.lengths, page.keys, page.values_lengths, page.values.values)
    assert again == page and again.to_list() == PAGE
    assert page.kind == "list" and len(page) == 2 and page.dtype == np.int64 and page.device == "cpu"
    assert page[0:1].values.recursive_sequence_lengths() == [[2], [2, 1]]


def test_reading_by_key(page):
    assert page.feature(1).to_list() == [[10, 11], [11]]
    assert page[Kind.APP_ID].to_list() == page["APP_ID"].to_list() == [[], [50]]
    assert page.feature(99).to_list() == [[], []]
    assert page.has(Kind.APP_ID).tolist() == [False, True]
    assert Features.from_list(NUMBERS).feature(3).to_list() == [[0.75], [0.25]]
    keys, values = Features.from_list(SCORES).feature(1)
    assert keys.to_list() == [[10, 11], [], []] and values.to_list() == [[0.5, 0.25], [], []]
    with pytest.raises(TypeError, match=r"features\[1\] is ambiguous"):
        page[1]
    with pytest.raises(RowIndexError, match="'PAGE'; names are PAGE_ID"):
        page["PAGE"]
    with pytest.raises(RowIndexError, match="give names="):
        Features.from_list(PAGE)["PAGE_ID"]
    with pytest.raises(TypeError, match="not a member of Kind"):
        page[Other.PAGE_ID]
    with pytest.raises(TypeError, match="a feature key is an integer, got True"):
        page.feature(True)


def test_a_key_twice_reads_as_both(page):
    twice = page.merge(page[:])
    assert twice.feature(1).to_list() == [[10, 11, 10, 11], [11, 11]]
    assert twice.lengths.tolist() == [4, 6]
    with pytest.raises(LoDError, match=r"example 0 has key <Kind.PAGE_ID: 1> twice"):
        twice.to_list()
    maps = Features([1], [1], [2], [0.5, 0.5], [7, 7])
    with pytest.raises(LoDError, match="the map has a key twice"):
        maps.to_list()


def test_examples_are_sliced(page):
    assert page[1:].to_list() == PAGE[1:]
    assert page[[1, 0, 1]].to_list() == [PAGE[1], PAGE[0], PAGE[1]]
    assert page[np.array([True, False])].to_list() == PAGE[:1]
    assert page[5:].to_list() == [] and len(page[:0]) == 0
    assert [*page] == PAGE
    view = page[1:]
    view.values.values[0] = 12
    assert page.values.values[3] == 12
    maps = Features.from_list(SCORES)
    assert maps[1:].to_list() == SCORES[1:] and maps[[2]].to_list() == SCORES[2:]


def test_examples_are_joined_and_batched(page):
    both = lodkit.concat([page, page[1:]])
    assert both.to_list() == [*PAGE, PAGE[1]] and both.names is Kind
    assert lodkit.concat([Features.from_list(SCORES)] * 2).to_list() == SCORES * 2
    seen = [(len(f), label.tolist()) for f, label in lodkit.batches(both, np.arange(3), size=2, seed=0, bucket=True)]
    assert sorted(n for n, _ in seen) == [1, 2] and sorted(i for _, label in seen for i in label) == [0, 1, 2]
    with pytest.raises(LoDMismatchError, match="part 1 is scalar features, part 0 list features"):
        lodkit.concat([page, Features.from_list(NUMBERS)])
    with pytest.raises(LoDMismatchError, match="part 1 is ndarray"):
        lodkit.concat([page, np.ones(2)])


def test_equality(page):
    assert page == Features.from_list(PAGE) and page == pickle.loads(pickle.dumps(page))
    assert page != Features.from_list([{3: [101], 1: [10, 11]}, PAGE[1]])
    assert page != page[:1] and page != Features.from_list(NUMBERS) and page != PAGE
    assert Features.from_list([{1: float("nan")}]) == Features.from_list([{1: float("nan")}])
    with pytest.raises(TypeError, match="unhashable"):
        hash(page)
    assert pickle.loads(pickle.dumps(page)).names is Kind


def test_repr(page):
    first = "{PAGE_ID: [10, 11], POST_ID: [101]}, {PAGE_ID: [11], APP_ID: [50], POST_ID: [102, 103]}"
    assert repr(page) == f"Features([{first}], dtype=int64)"
    assert repr(Features.from_list(NUMBERS[:1])) == "Features([{1: 0.5, 3: 0.75}], dtype=float64)"
    assert repr(Features.from_list(SCORES)) == (
        "Features([{1: {10: 0.5, 11: 0.25}}, {}, {2: {3: 1.}, 1: {}}], dtype=float64)"
    )
    big = repr(lodkit.concat([page] * 1000))
    assert "2000 examples, 5000 lists, 7000 values" in big and "PAGE_ID (2000 times)" in big and len(big) < 500
    assert repr(Features.from_list([])) == "Features([], dtype=int64)"


@pytest.mark.parametrize("examples", [PAGE, NUMBERS, SCORES, [], [{}, {}], [{1: []}], [{-5: [1, 2], 1 << 40: []}]])
def test_dictionaries_and_back(examples):
    assert Features.from_list(examples).to_list() == examples


def test_dictionaries_of_other_things():
    assert Features.from_list([{Kind.APP_ID: (1, 2)}, {"APP_ID": np.array([3])}], names=Kind).keys.tolist() == [2, 2]
    assert Features.from_list([{1: [1, 2]}], dtype=np.float32).dtype == np.float32
    assert Features.from_list([{}], kind="map").kind == "map"
    assert Features.from_list([{}], kind="scalar").kind == "scalar"
    assert Features.from_list([{1: [[1, 2], [3, 4]]}]).values.shape == (2, 2)


@pytest.mark.parametrize(
    ("examples", "error", "match"),
    [
        ({1: [2]}, TypeError, "must be a list of dictionaries, got dict"),
        ([{1: [2]}, [3]], TypeError, "example 1 must be a dictionary of features, got list"),
        ([{1: [2]}, {2.5: [3]}], TypeError, "example 1: a feature key is an integer, got 2.5"),
        ([{1: [2], 3: 4}], LoDError, "example 0, key 3: 4 is not a list"),
        ([{1: 2}, {3: [4]}], LoDError, r"example 1, key 3: \[4\] is not a scalar"),
        ([{1: "words"}], LoDError, "key 1: 'words' is not a list"),
        ([{1: {2.5: 1}}], LoDError, "has keys that are not integers"),
        ([{1: [1, "a"]}], (DTypeError, LoDError), "numbers"),
        ([{1: [1, [2]]}], LoDError, "differ in shape"),
        ([{1 << 70: [1]}], DTypeError, "keys must fit int64"),
    ],
)
def test_what_is_no_dictionary_of_features(examples, error, match):
    with pytest.raises(error, match=match):
        Features.from_list(examples)


@pytest.mark.parametrize(
    ("args", "error", "match"),
    [
        (([2], [1], [1], [5]), LoDError, "lengths sum to 2, but there are 1 keys"),
        (([-1, 2], [1], [1], [5]), LoDError, r"lengths\[0\] = -1 is negative"),
        (([1], [1], [2], [5]), LoDError, "values_lengths sum to 2, but there are 1 values"),
        (([1], [1], [-2], [5]), LoDError, r"values_lengths\[0\] = -2 is negative"),
        (([1], [1], [1, 0], [5]), LoDError, "values_lengths has 2 entries for 1 keys"),
        (([1], [1], None, [5, 6]), LoDError, "values has 2 entries for 1 keys"),
        (([1], [0.5], [1], [5]), DTypeError, "keys must be int32 or int64, not float64"),
        (([1.0], [1], [1], [5]), DTypeError, "lengths must be int32 or int64"),
        (([[1]], [1], [1], [5]), LoDError, "lengths must be one-dimensional"),
        (([1], [1], [1], [5], [1, 2]), LoDError, "map_keys has 2 entries for 1 values"),
        (([1], [1], None, [5], [1]), LoDError, "map_keys need values_lengths"),
        (([1], [1], [1], [5], np.array([0.5])), DTypeError, "map_keys must be int32 or int64"),
    ],
)
def test_malformed_structure(args, error, match):
    with pytest.raises(error, match=match):
        Features(*args)


def test_names_are_a_type_of_int_enum():
    with pytest.raises(TypeError, match="names must be a type of enum"):
        Features([1], [1], [1], [5], names={1: "PAGE_ID"})


def test_structure_is_copied_in():
    lengths, keys = np.array([1]), np.array([7])
    features = Features(lengths, keys, [1], [5])
    keys[0] = lengths[0] = 0
    assert features.to_list() == [{7: [5]}]
    with pytest.raises(ValueError, match="read-only"):
        features.keys[0] = 1


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
        (lambda: lodkit.merge_features(), TypeError, "got 0 inputs"),
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
        (lambda: select(feature_keys=[0.5]), DTypeError, "feature_keys must be int32 or int64"),
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
    scores, table = Features.from_list(SCORES), np.arange(24.0).reshape(12, 2)
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
    with pytest.raises(DTypeError, match="ids must be int32 or int64"):
        Features.from_list(NUMBERS).pool({1: np.ones((11, 2))})
    with pytest.raises(DTypeError, match="input 1 is float32"):
        page.pool({1: np.ones((12, 2)), 2: np.ones((60, 2), np.float32)})


def test_arrow():
    pa = pytest.importorskip("pyarrow")
    lists = pa.array([list(map(list, map(dict.items, PAGE)))], pa.list_(pa.map_(pa.int64(), pa.list_(pa.int64()))))
    page = Features.from_list(PAGE)
    assert Features.from_arrow(lists) == page == Features.from_arrow(lists[0])
    maps = page.to_arrow()
    assert maps.type == pa.map_(pa.int64(), pa.list_(pa.int64()))
    assert Features.from_arrow(maps, names=Kind)["APP_ID"].to_list() == [[], [50]]
    assert Features.from_arrow(maps[1:]) == page[1:] and Features.from_arrow(maps[:0]).to_list() == []
    assert Features.from_arrow(pa.chunked_array([maps, maps[1:]])) == lodkit.concat([page, page[1:]])
    for examples in (NUMBERS, SCORES):
        features = Features.from_list(examples)
        assert Features.from_arrow(features.to_arrow()) == features
        assert Features.from_arrow(features.to_arrow()[1:]) == features[1:]
    with pytest.raises(ValueError, match="null at position 1"):
        Features.from_arrow(pa.array([[(1, [1])], None], maps.type))
    with pytest.raises(LoDError, match="the values is null at position 0"):
        Features.from_arrow(pa.array([[(1, None)]], maps.type))
    with pytest.raises(TypeError, match="takes maps, or lists of maps, not int64"):
        Features.from_arrow(pa.array([1]))
    with pytest.raises(TypeError, match="takes an Arrow array, got list"):
        Features.from_arrow(PAGE)
    with pytest.raises(DTypeError, match="keys must be integers, not string"):
        Features.from_arrow(pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())))
    with pytest.raises(DTypeError, match="the values must be numbers, not string"):
        Features.from_arrow(pa.array([[(1, "a")]], pa.map_(pa.int64(), pa.string())))
    with pytest.raises(DTypeError, match="one number per value"):
        Features.from_list([{1: [[1, 2]]}]).to_arrow()


def numbers(*values, dtype=np.int32):
    return np.array(values, dtype)


def test_caffe2_gradients_flow_to_the_values():
    """Of every name to its float values; 0 for what is absent."""
    here, there = np.array([True, False]), np.array([True, True])
    x, y = numbers(1, 2, 3, dtype=np.float32), numbers(4, 5, dtype=np.float32)
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
    dense = np.stack([y, y])
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


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: Features.from_columns({1: np.ones(2)}, presence={2: [True, True]}), ValueError, "presence has key 2"),
        (lambda: Features.from_list([{1: [2.7]}], dtype=np.int64), lodkit.DTypeError, "int64 would truncate"),
        (
            lambda: Features.from_columns({1: (LoDTensor([0.5], [[1]]), LoDTensor([1.0], [[1]]))}),
            lodkit.DTypeError,
            "keys of a map column must be integers",
        ),
    ],
)
def test_nothing_is_cut_or_left_out_silently(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_keys_of_arrow_that_fit_no_int64_are_refused():
    pa = pytest.importorskip("pyarrow")
    maps = pa.array([[(2**64 - 1, [1])]], type=pa.map_(pa.uint64(), pa.list_(pa.int64())))
    with pytest.raises(lodkit.DTypeError, match="keys must be int32 or int64, not uint64"):
        Features.from_arrow(maps)
    small = pa.array([[(1, [1, 2])]], type=pa.map_(pa.uint32(), pa.list_(pa.uint8())))
    assert Features.from_arrow(small).feature(1).to_list() == [[1, 2]]
