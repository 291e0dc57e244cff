"""Nested features: the value type, reading, merging, pooling, and Caffe2's names for it."""

from __future__ import annotations

import enum
import pickle
import warnings

import numpy as np
import pytest

import lodkit
from lodkit import DTypeError, Features, LoDError, LoDMismatchError, LoDTensor, RowIndexError


class Kind(enum.IntEnum):
    PAGE_ID, APP_ID, POST_ID = 1, 2, 3


class Other(enum.IntEnum):
    PAGE_ID = 1


EX1, EX2 = {1: {10, 11}, 3: {101}}, {1: {11}, 2: {50}, 3: {102, 103}}
PAGE = [{1: [10, 11], 3: [101]}, {1: [11], 2: [50], 3: [102, 103]}]
SCORES = [{1: {10: 0.5, 11: 0.25}}, {}, {2: {3: 1.0}, 1: {}}]
NUMBERS = [{1: 0.5, 3: 0.75}, {2: 0.5, 3: 0.25, 5: 0.125}]


@pytest.fixture(name="page")
def page_of_features():
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
        (([1], [0.5], [1], [5]), DTypeError, "keys must be integers, not float64"),
        (([1.0], [1], [1], [5]), DTypeError, "lengths must be integers"),
        (([[1]], [1], [1], [5]), LoDError, "lengths must be one-dimensional"),
        (([1], [1], [1], [5], [1, 2]), LoDError, "map_keys has 2 entries for 1 values"),
        (([1], [1], None, [5], [1]), LoDError, "map_keys need values_lengths"),
        (([1], [1], [1], [5], np.array([0.5])), DTypeError, "map_keys must be integers"),
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


@pytest.mark.parametrize("count", [3, 3000])
@pytest.mark.parametrize(
    "make",
    [
        lambda n: Features(np.ones(n, int), np.arange(n), None, np.arange(n)),
        lambda n: Features.from_dense(np.arange(n).reshape(n, 1), [4]),
        lambda n: Features.from_columns({3: np.arange(n)}),
        lambda n: Features.from_list([{1: [i]} for i in range(n)])[list(range(n))],
        lambda n: Features.from_list([{1: [i]} for i in range(n + 1)])[1:],
        lambda n: Features.from_list([{1: [0]}] * n).merge(Features.from_list([{2: [1]}] * n)),
        lambda n: lodkit.concat([Features.from_list([{1: [i]}]) for i in range(n)]),
    ],
)
def test_no_flag_makes_keys_writable(make, count):
    features = make(count)
    before, keys = features.to_list(), features.keys
    for array in (keys, keys.base):
        with pytest.raises((ValueError, AttributeError)):
            array.flags.writeable = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of NumPy 2.5
        keys.shape = (1, -1)
    assert features.keys.shape == (len(keys[0]),)
    assert features.to_list() == before


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
    with pytest.raises(TypeError, match=r"takes an object with __arrow_c_array__ .* got list"):
        Features.from_arrow(PAGE)
    with pytest.raises(DTypeError, match="keys must be integers, not words"):
        Features.from_arrow(pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())))
    with pytest.raises(DTypeError, match="the values must be numbers, not words"):
        Features.from_arrow(pa.array([[(1, "a")]], pa.map_(pa.int64(), pa.string())))
    with pytest.raises(DTypeError, match="one number per value"):
        Features.from_list([{1: [[1, 2]]}]).to_arrow()


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: Features.from_columns({1: ()}), TypeError, r"columns\[1\] is a tuple of 0; maps are a pair"),
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
    with pytest.raises(lodkit.RowIndexError, match=r"keys\[0\] = 18446744073709551615 is above 2\^63 - 1"):
        Features.from_arrow(maps)
    small = pa.array([[(1, [1, 2])]], type=pa.map_(pa.uint32(), pa.list_(pa.uint8())))
    assert Features.from_arrow(small).feature(1).to_list() == [[1, 2]]


@pytest.mark.parametrize("kind", ["scalar", "list", "map"])
def test_the_structure_of_what_is_handed_out_may_change(kind):
    """Of a LoDTensor of its own: the features keep theirs, which their keys have."""
    counts, map_keys = (None, None) if kind == "scalar" else ([2, 0, 1], [1, 2, 3] if kind == "map" else None)
    features = Features([2, 1], [5, 6, 5], counts, np.arange(3.0), map_keys)
    before = features.to_list()
    for tensor in (features.values, features.map_keys):
        if tensor is not None:
            tensor.set_lod([[0, 5], [0, 1, 2, 3, 3, 3]])
            tensor.set_values(np.zeros(3))
    assert features.to_list() == before
    assert lodkit.concat([features, features]).to_list() == before * 2
    assert features.merge(features).keys.tolist() == [5, 6, 5, 6, 5, 5]
    features.values.values[0] = 7
    assert features.feature(5) is not None and features.values.values[0] == 7


def test_values_of_features_that_were_resized():
    for map_keys in (None, [1, 2, 3]):
        features = Features([2, 1], [5, 6, 5], [2, 0, 1], np.arange(3.0), map_keys)
        features.values.values.resize((1,), refcheck=False)
        for call in (
            lambda x: x.__arrow_c_array__(),
            repr,
            lambda x: x.feature(5),
            lambda x: x[1:],
            lambda x: x.to_list(),
        ):
            with pytest.raises(lodkit.LoDError, match="was cut into 3 rows, its values have 1 now"):
                call(features)
