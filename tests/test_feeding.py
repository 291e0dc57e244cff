"""DataFeeder, create_lod_tensor, create_random_int_lodtensor: Paddle's rules, any depth, and errors that say where."""

from __future__ import annotations

import re

import numpy as np
import pytest

from lodkit import DTypeError, LoDError, LodkitError, LoDMismatchError, LoDTensor, VarDesc, VarType
from lodkit.paddle import DataFeeder, create_lod_tensor, create_random_int_lodtensor
from lodkit.testing import assert_equal


def fed(level, column, dtype=np.int64, shape=(1,)):
    return DataFeeder([("x", level, dtype, shape)]).feed([(entry,) for entry in column])["x"]


def test_a_batch_of_several_fields():
    feeder = DataFeeder(
        [
            ("image", 0, np.float32, [2, 2]),
            ("words", 1, "int64", [1]),
            ("turns", 2, np.int64),
            ("label", 0, np.int64, [1]),
        ]
    )
    examples = [([1, 2, 3, 4], [5, 6], [[7], []], 0), ([1] * 4, [], [], 1), (np.zeros(4), (8,), [[9, 9]], 2)]
    batch = feeder.feed(iter(examples))
    assert list(batch) == ["image", "words", "turns", "label"]
    assert_equal(batch["image"], np.array([[[1, 2], [3, 4]], np.ones((2, 2)), np.zeros((2, 2))], np.float32))
    assert_equal(batch["words"], LoDTensor([[5], [6], [8]], [[2, 0, 1]]))
    assert_equal(batch["turns"], LoDTensor([7, 9, 9], [[2, 0, 1], [1, 0, 2]]))
    assert_equal(batch["label"], np.array([[0], [1], [2]]))
    assert_equal(feeder.feed([]), {name: value[:0] for name, value in batch.items()})


def test_descriptions_as_fields():
    descs = [
        VarDesc("words", VarType.LOD_TENSOR, np.int64, (-1, 1), 1),
        VarDesc("image", VarType.LOD_TENSOR, np.float32, (-1, -1, 3)),
    ]
    batch = DataFeeder(descs, place="cpu").feed([([1, 2], np.zeros((4, 3)))])
    assert batch["words"].shape == (2, 1)
    assert batch["image"].shape == (1, 4, 3)
    assert all(desc.unknown_batch().covers(VarDesc.of(batch[desc.name])) for desc in descs[:1])
    with pytest.raises(LoDError, match="SELECTED_ROWS; only LOD_TENSOR can be fed"):
        DataFeeder([VarDesc("w", VarType.SELECTED_ROWS, np.float32, (10, 2))])


@pytest.mark.parametrize("level", range(4))
def test_every_depth_and_nothing(level):
    empty = fed(level, [])
    assert empty.shape == (0, 1)
    example, expected = 5, np.array([[5], [5]])
    for _ in range(level):
        example = [example]
    assert_equal(fed(level, [example] * 2), LoDTensor(expected, [[1, 1]] * level) if level else expected)
    if level:
        none = fed(level, [[], []])
        assert none.recursive_sequence_lengths() == [[0, 0], *[[]] * (level - 1)]
        assert none.shape == (0, 1)


def test_arrays_stand_for_lists():
    arrays = [np.arange(6).reshape(3, 2), np.empty((0, 2)), np.array([[9, 9]])]
    lists = [a.tolist() for a in arrays]
    for shape in (None, (2,), (2, 1)):
        assert_equal(fed(1, arrays, shape=shape), fed(1, lists, shape=shape))
        assert_equal(fed(2, [arrays], shape=shape), fed(2, [lists], shape=shape))
    rows = fed(1, arrays, shape=None)
    assert rows.shape == (4, 2)
    rows.values[:] = 0
    assert arrays[2].tolist() == [[9, 9]]
    assert fed(1, arrays[1:2], shape=None).shape == (0, 2)
    assert fed(1, [[np.zeros(3), np.ones(3)], []], np.float32, (3,)).to_list() == [[[0.0] * 3, [1.0] * 3], []]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64"])
def test_numbers_keep_their_value(dtype):
    assert_equal(fed(1, [[1, 0], [1.0]], dtype), LoDTensor(np.array([[1], [0], [1]], dtype), [[2, 1]]))


WRONG = [
    (1, [[1], 7], "example 1, field 'x': 7 is not a list; with lod_level 1, rows are 1 lists deep"),
    (1, [[1], "ab"], "example 1, field 'x': 'ab' is not a list"),
    (2, [[[1], [2]], [[3], 4]], "example 1, field 'x', at [1] (depth 1): 4 is not a list"),
    (3, [[], [[[1], None]]], "example 1, field 'x', at [0][1] (depth 2): None is not a list"),
    (1, [[1, 2], [3, [4, 5]]], "example 1, field 'x', at [1] (depth 1): the row has shape (2,), the first one ()"),
    (1, [[1], [[[2], [3, 4]]]], "at [0] (depth 1): the row is a list of uneven lists; raise the field's lod_level"),
    (1, [[[1, 2]], [[3, 4]]], "example 0, field 'x', at [0] (depth 1): a row has shape (2,), the field (1,)"),
    (
        1,
        [np.zeros((2, 1), int), np.zeros((2, 3), int)],
        "example 1, field 'x', at [0] (depth 1): the row has shape (3,)",
    ),
    (0, [1, [1, 2]], "example 1, field 'x': the row has shape (2,), the first one ()"),
    (
        1,
        [[1, 2], [], [3, 2.5]],
        "example 2, field 'x', at [1] (depth 1): int64 cannot hold 2.5; change the field's dtype",
    ),
    (1, [[1], [float("nan")]], "example 1, field 'x', at [0] (depth 1): int64 cannot hold nan"),
    (1, [[], ["a"]], "example 1, field 'x', at [0] (depth 1): rows are <U1, the field is int64"),
    (0, [1j], "rows are complex128"),
]


@pytest.mark.parametrize(("level", "column", "message"), WRONG)
def test_errors_say_where(level, column, message):
    with pytest.raises(LodkitError, match=re.escape(message)):
        fed(level, column)


def test_numbers_that_do_not_fit():
    for dtype, number in (("int8", 200), ("uint8", -1), ("bool", 2), ("int64", 2.0**63), ("float16", 1e6)):
        with pytest.raises(DTypeError, match=f"{dtype} cannot hold"):
            fed(0, [0, number], dtype)
    assert fed(0, [np.inf], "float16").tolist() == [[np.inf]]


def test_wrong_examples_and_fields():
    feeder = DataFeeder([("a", 0, int), ("b", 0, int)])
    with pytest.raises(LoDError, match=r"example 1 has 1 entries for 2 fields \(a, b\)"):
        feeder.feed([(1, 2), (1,)])
    with pytest.raises(TypeError, match="example 0 is a int; give a tuple"):
        feeder.feed([1, 2])
    for wrong, message in (
        ([("a", 0, int)] * 2, "the name 'a' twice"),
        ([("a", 0)], r"feed_list\[0\] is \('a', 0\)"),
        (["a"], "feed_list"),
        ([(3, 0, int)], "name must be a string"),
        ([("a", -1, int)], "lod_level must be an integer from 0"),
        ([("a", 0, int, [-1, 1])], "without unknown sizes"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            DataFeeder(wrong)


def test_create_lod_tensor():
    made = create_lod_tensor([[1, 2], [3]], [[2, 1]], "cpu")
    assert_equal(made, LoDTensor([[1], [2], [3]], [[2, 1]]))
    deep = create_lod_tensor([[[1, 2], []], [[3]]], [[2, 1], [2, 0, 1]])
    assert deep.recursive_sequence_lengths() == [[2, 1], [2, 0, 1]]
    rows = np.ones((3, 4), np.float32)
    of_array = create_lod_tensor(rows, [[1, 2]])
    assert not np.shares_memory(of_array.values, rows)
    assert_equal(create_lod_tensor(of_array, [[3]]), LoDTensor(rows, [[3]]))
    assert_equal(create_lod_tensor([1, 2], []), LoDTensor([[1], [2]]))
    with pytest.raises(
        LoDMismatchError, match=r"level 0; first difference at sequence 0: 2 vs 1; LoDTensor\.from_nested"
    ):
        create_lod_tensor([[1, 2], [3]], [[1, 2]])
    with pytest.raises(LoDError, match="1 too many"):
        create_lod_tensor(rows, [[4]])
    with pytest.raises(TypeError, match="data must be an array"):
        create_lod_tensor("abc", [[3]])


def test_create_random_int_lodtensor():
    made = create_random_int_lodtensor([[2, 1], [100, 0, 200]], [2, 3], None, 4, 6, seed=1)
    assert made.recursive_sequence_lengths() == [[2, 1], [100, 0, 200]]
    assert made.shape == (300, 2, 3)
    assert made.dtype == np.int64
    assert set(made.values.ravel().tolist()) == {4, 5, 6}
    assert made.equals(create_random_int_lodtensor([[2, 1], [100, 0, 200]], [2, 3], None, 4, 6, seed=1))
    assert create_random_int_lodtensor([[]], [], None, 0, 0).shape == (0,)
    with pytest.raises(ValueError, match="low = 5 is more than high = 3"):
        create_random_int_lodtensor([[1]], [], None, 5, 3)


@pytest.mark.parametrize(
    "column",
    [
        [[(1 << 53) + 1, 5.0]],
        [[(1 << 53) + 1], [5.0]],
        [np.array([(1 << 53) + 1], np.uint64), np.array([5])],
        [[np.uint64((1 << 53) + 1), 5]],
        [[np.array((1 << 53) + 1), np.array(5.0)]],
    ],
)
def test_large_ids_beside_floats_keep_their_digits(column):
    feeder = DataFeeder([("ids", 1, np.int64)])
    batch = feeder.feed([(part,) for part in column])
    assert batch["ids"].values.tolist() == [(1 << 53) + 1, 5]
