"""Levels replaced and appended, rows re-cut, batches split and merged: laws, what is refused, and Paddle's defects."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import copy

import lodkit
from lodkit import LoDError, LoDLevelError, LoDMismatchError, LoDTensor, ShapeMismatchError, paddle

X = LoDTensor(np.arange(12.0).reshape(6, 2), [[2, 1, 3]])
DEEP = LoDTensor(np.arange(6.0), [[2, 0, 2], [1, 0, 2, 3]])
MASK = np.array([False, True, False])

#: (operator, inputs, attributes, error, what the message says)
WRONG = [
    ("lod_reset", (X,), {}, TypeError, "y or target_lod=, got neither"),
    ("lod_reset", (X, np.array([6])), {"target_lod": [0, 6]}, TypeError, "got both"),
    ("lod_reset", (X, np.array([2, 3])), {}, LoDError, r"last offset 5 at level 0 does not equal values.shape\[0\]=6"),
    ("lod_reset", (X, np.array([7, -1])), {}, LoDError, r"\[1\] = -1 is negative"),
    ("lod_reset", (X, np.array([[6]])), {}, LoDError, "one-dimensional"),
    ("lod_reset", (X,), {"target_lod": [0, 4, 2, 6]}, LoDError, "decrease at position 2"),
    ("lod_reset", (X,), {"target_lod": [1, 6]}, LoDError, "they start at 0"),
    ("lod_reset", (X, DEEP[:1]), {}, LoDError, "last offset 1 at level 1"),
    ("lod_reset", (np.array(1.0), np.array([1])), {}, ShapeMismatchError, "x has no dimension"),
    ("lod_append", (X, np.array([3, 3])), {}, LoDError, "2 sequences are appended below level 0, which has 6"),
    ("lod_append", (X, np.ones(6, int) * 2), {}, LoDError, "last offset 12 at level 1"),
    ("sequence_reshape", (X,), {"new_dim": 4}, LoDError, "sequence 1 has 1 rows of 2 numbers, 2 in all.* new_dim = 4"),
    ("sequence_reshape", (X,), {"new_dim": 0}, ValueError, "new_dim = 0"),
    ("sequence_reshape", (LoDTensor(np.ones((2, 2))),), {"new_dim": 1}, LoDLevelError, "lod_level 0"),
    ("split_lod_tensor", (X, MASK[:2]), {}, LoDMismatchError, r"mask has shape \(2,\) for 3 sequences"),
    ("split_lod_tensor", (X, np.array([0, 2, 1])), {}, lodkit.DTypeError, "mask holds .*2"),
    ("split_lod_tensor", (X, MASK), {"level": 1}, LoDLevelError, "level 1 does not exist"),
    ("split_lod_tensor", (np.array(1.0), np.ones(1, bool)), {}, ShapeMismatchError, "x has no dimension"),
    ("split_lod_tensor", (X.values, np.ones(6, bool)), {"level": 1}, LoDLevelError, "x has no levels"),
    ("merge_lod_tensor", (X, X, MASK), {}, LoDMismatchError, r"mask has shape \(3,\) for 6 sequences"),
    ("merge_lod_tensor", (X[:2], X[:1], MASK), {}, LoDMismatchError, "the mask has 1 True, in_true 2 sequences"),
    ("merge_lod_tensor", (X[:1], DEEP[:2], MASK), {}, ShapeMismatchError, "input 1 has items of shape"),
    ("merge_lod_tensor", (DEEP, LoDTensor(np.ones(3), [[3]]), MASK), {}, LoDLevelError, "in_true has lod_level 2"),
    ("merge_lod_tensor", (X[:1], X[1:], MASK), {"level": 1}, LoDLevelError, "level 1 does not exist"),
    (
        "merge_lod_tensor",
        (DEEP, DEEP, np.array([1, 1, 1, 0, 0, 0, 1, 0])),
        {"level": 1},
        LoDMismatchError,
        "number 0 has 2 in in_true, and the mask 3 True",
    ),
]


@pytest.mark.parametrize(("name", "inputs", "attrs", "error", "text"), WRONG)
def test_wrong_inputs_are_refused(name, inputs, attrs, error, text, place):
    """By the kernels and by the definition."""
    with pytest.raises(error, match=text):
        lodkit.run(name, *(place.to(copy(x)) for x in inputs), **attrs)
    with pytest.raises(error, match=text):
        lodkit.OPS[name].definition(*map(copy, inputs), **attrs)


def test_rows_are_shared():
    for made in (lodkit.lod_reset(X, [6]), lodkit.lod_append(X, [1] * 6), lodkit.sequence_reshape(X, new_dim=1)):
        assert np.shares_memory(made.values, X.values)


def test_shared_rows_are_another_variable(place):
    """The gradient goes through the operator once, and comes back in the structure of x."""
    x = place.to(X)
    with lodkit.Tape() as tape:
        made = lodkit.lod_append(lodkit.lod_reset(x, [5, 1]), [1] * 6)
        pooled = lodkit.sequence_pool(made, level=0)
    assert [place.home(g).values.tolist() for g in tape.gradient(made, [x])] == [[[1, 1]] * 6]
    gradient = place.home(tape.gradient(pooled, [x], output_gradients=pooled)[0])
    assert gradient.values[:, 0].tolist() == [20] * 5 + [10] and gradient.same_lod(X)


@pytest.mark.parametrize("level", [0, 1])
def test_merge_is_the_inverse_of_split(level, place):
    rng = np.random.default_rng(level)
    counts = rng.integers(0, 4, 20)
    lengths = rng.integers(0, 3, counts.sum())
    x = LoDTensor(rng.normal(size=(lengths.sum(), 2)), [counts, lengths])
    for share in (0.0, 0.3, 1.0):
        mask = rng.random((20, counts.sum())[level]) < share
        parts = lodkit.split_lod_tensor(place.to(x), place.to(mask), level=level)
        assert place.home(lodkit.merge_lod_tensor(*parts, place.to(mask), level=level)).equals(x)


def test_levels_above_count_what_is_left():
    true, false = lodkit.split_lod_tensor(DEEP, [True, False, False, True], level=1)
    assert true.to_list() == [[[0.0]], [], [[3.0, 4.0, 5.0]]]
    assert false.to_list() == [[[]], [], [[1.0, 2.0]]]
    assert [len(part) for part in lodkit.split_lod_tensor(DEEP, [True, False, False, True], level=-1)] == [3, 3]


def test_one_part_may_have_no_gradient():
    with lodkit.Tape() as tape:
        true, false = lodkit.split_lod_tensor(X, MASK)
        merged = lodkit.merge_lod_tensor(true, false, MASK)
    assert tape.gradient(true, [X])[0].values[:, 0].tolist() == [0, 0, 1, 0, 0, 0]
    assert tape.gradient(merged, [X])[0].values.tolist() == [[1, 1]] * 6


def test_paddle_merges_empty_sequences():
    """Paddle takes a wrong sequence after an empty one, and leaves the end uninitialised."""
    x = LoDTensor(np.array([[1.0], [2.0], [3.0], [4.0]]), [[0, 1, 3]])
    mask = np.array([[False], [True], [False]])
    parts = paddle.run_op("split_lod_tensor", {"X": x, "Mask": mask})
    whole = {"X": x, "Mask": mask, "InTrue": parts["OutTrue"], "InFalse": parts["OutFalse"]}
    assert paddle.run_op("merge_lod_tensor", whole)["Out"].equals(x)


def test_paddle_resets_by_offsets():
    y = np.array([0, 2, 6], np.int32)
    assert paddle.run_op("lod_reset", {"X": X, "Y": y})["Out"].lod() == [[0, 2, 6]]
    ones = {"target_lod": [*range(7)], "append": True}
    assert paddle.run_op("lod_reset", {"X": X}, ones)["Out"].lod() == [[0, 2, 3, 6], [*range(7)]]
    assert paddle.run_op("lod_reset", {"X": X.values, "Y": DEEP}, {"append": True})["Out"].same_lod(DEEP)


def test_infer_op_where_paddle_infers_something_else():
    """Paddle: lod_level 0, a width of 1, as many rows as images."""
    infer, numbers = paddle.infer_op, np.array([[1], [0], [1]])
    x, one = (lodkit.VarDesc.of(v).unknown_batch() for v in (X, numbers))
    mask = lodkit.VarDesc.of(numbers == 1).unknown_batch()
    parts = infer("split_lod_tensor", {"X": x, "Mask": mask})
    whole = infer("merge_lod_tensor", {"X": x, "Mask": mask, "InTrue": parts["OutTrue"], "InFalse": parts["OutFalse"]})
    cut = infer("sequence_slice", {"X": x, "Offset": one, "Length": one})
    assert [found.lod_level for found in (*parts.values(), whole["Out"], cut["Out"])] == [1, 1, 1, 1]
    padded = infer("sequence_pad", {"X": x, "PadValue": lodkit.VarDesc.of(np.zeros(1))})
    assert padded["Out"].dims == (-1, -1, 2)
    images = lodkit.VarDesc.of(np.zeros((2, 1, 3, 3)))
    assert infer("im2sequence", {"X": images.unknown_batch()}, {"kernels": [2, 2]})["Out"].dims == (-1, 4)


def test_operators_as_programs_tell_them():
    """Every slot a list, and attributes that say where the operator came from."""
    attrs = {"op_role": 0, "op_callstack": ["..."], "target_lod": [0, 3, 6]}
    assert paddle.run_op("lod_reset", {"X": [X]}, attrs)["Out"].lod() == [[0, 3, 6]]
    assert paddle.infer_op("lod_reset", {"X": [lodkit.VarDesc.of(X)]}, attrs)["Out"].lod_level == 1


def test_lengths_that_are_appended_are_named():
    with pytest.raises(lodkit.LoDError, match=r"lengths\[1\] = -1 is negative"):
        X.append_level([1, -1, 6])
