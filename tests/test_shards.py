"""Rows split over shards and brought together again: inverse of each other, gradients, wrong inputs."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit

KEYS = np.array([4, 7, -1, 6, 4])
ROWS = np.arange(10.0).reshape(5, 2)


@pytest.mark.parametrize("shape", [(60,), (6, 10), (0, 3)])
@pytest.mark.parametrize("shards", [1, 3, 8])
def test_gathering_undoes_the_partition(shape, shards):
    rng = np.random.default_rng(0)
    keys, rows = rng.integers(-99, 99, shape), rng.normal(size=(*shape, 3)).astype(np.float32)
    parts = lodkit.partition(keys, rows, num_outputs=2 * shards)
    for p in range(shards):
        np.testing.assert_array_equal(parts[2 * p], keys[keys % shards == p])
    np.testing.assert_array_equal(lodkit.gather_by_key(keys, *parts[1::2]), rows)
    packed = lodkit.partition(keys, num_outputs=shards, pack_first_input=True)
    whole = [x * shards + p for p, x in enumerate(packed)]
    np.testing.assert_array_equal(lodkit.gather_by_key(keys, *whole), keys)


def test_gathering_fills_out():
    out = np.empty((2, 1), np.float32)
    found = lodkit.gather_by_key(np.array([[1], [2]]), np.float32([7]), np.float32([5]), out=out)
    assert found is out and out.tolist() == [[5], [7]]


def test_every_segment_is_split():
    parts = lodkit.lengths_partition([2, 0, 3], KEYS, ROWS, num_outputs=6)
    assert [x.tolist() for x in parts[::3]] == [[1, 0, 2], [1, 0, 1]]
    whole = lodkit.lengths_partition([2, 0, 3], KEYS, num_outputs=2)
    assert whole[0].tolist() == [2, 0, 3] and whole[1].tolist() == KEYS.tolist()


@pytest.mark.parametrize("lengths", [(), ([2, 3],)])
def test_the_gradient_of_a_partition_gathers(lengths):
    """Only what flows into some of the shards flows back; the rows of the others get none."""
    op = lodkit.OPS["lengths_partition" if lengths else "partition"]
    rows, other, first = lodkit.parameter(ROWS), lodkit.parameter(ROWS + 1), len(lengths)
    with lodkit.Tape() as tape:
        parts = op(*lengths, KEYS, rows, other, num_outputs=2 * (first + 3))
        one = parts[first + 1]
    grad_output = np.array([[1.0, 2], [3, 4], [5, 6]])
    by_rows, by_other = tape.gradient(one, [rows, other], grad_output, unconnected="none")
    assert by_rows.tolist() == [[1, 2], [0, 0], [0, 0], [3, 4], [5, 6]] and by_other is None
    both = [x for x in parts if x.dtype == np.float64]
    assert (tape.gradient(both, [other])[0] == 1).all()


def test_the_gradient_of_gathering_is_the_partition():
    parts = [lodkit.parameter(lodkit.partition(KEYS, ROWS, num_outputs=4)[i].copy()) for i in (1, 3)]
    with lodkit.Tape() as tape:
        out = lodkit.caffe2.GatherByKey(KEYS, *parts)
    for got, expected in zip(tape.gradient(out, parts, output_gradients=10 * ROWS), parts, strict=True):
        np.testing.assert_array_equal(got, 10 * expected)


WRONG = [
    ("partition", (KEYS, ROWS), {"num_outputs": 3}, ValueError, "num_outputs = 3 is no multiple of the 2 inputs"),
    ("partition", (KEYS,), {"num_outputs": 0}, ValueError, "num_outputs = 0 is no multiple"),
    ("partition", (KEYS,), {}, TypeError, "needs the attribute num_outputs"),
    ("partition", (ROWS,), {"num_outputs": 2}, lodkit.DTypeError, "keys must be integers, not float64"),
    ("partition", (3,), {"num_outputs": 2}, lodkit.LoDError, "keys have no dimension"),
    ("partition", (KEYS, ROWS[:4]), {"num_outputs": 2}, lodkit.ShapeMismatchError, r"data 0 has shape \(4, 2\)"),
    ("partition", (KEYS, ROWS, np.ones(6)), {"num_outputs": 3}, lodkit.ShapeMismatchError, r"data 1 has shape \(6,\)"),
    ("partition", (KEYS, ROWS * 1j), {"num_outputs": 2}, lodkit.DTypeError, "data 0 takes"),
    ("lengths_partition", ([2, 2], KEYS), {"num_outputs": 2}, lodkit.LoDError, "lengths add up to 4, but there are 5"),
    ("lengths_partition", ([7, -2], KEYS), {"num_outputs": 2}, lodkit.LoDError, r"lengths\[1\] = -2 is negative"),
    ("lengths_partition", ([5], KEYS), {"num_outputs": 3}, ValueError, "no multiple of the 2 inputs"),
    ("lengths_partition", ([1], KEYS[None]), {"num_outputs": 2}, lodkit.LoDError, "keys must be one-dimensional"),
    ("lengths_partition", ([5], KEYS, ROWS[1:]), {"num_outputs": 3}, lodkit.ShapeMismatchError, "data 0 has shape"),
    ("gather_by_key", (KEYS,), {}, TypeError, "one array per shard, got keys alone"),
    ("gather_by_key", (KEYS, ROWS, ROWS), {}, lodkit.ShapeMismatchError, "shard 0 has 5 rows, but 3 of the keys"),
    ("gather_by_key", (KEYS, ROWS[:3], ROWS[:1]), {}, lodkit.ShapeMismatchError, "shard 1 has 1 rows, but 2 of"),
    ("gather_by_key", (KEYS, ROWS[:3], ROWS[:2, :1]), {}, lodkit.ShapeMismatchError, r"shard 1 has rows of shape \(1,"),
    ("gather_by_key", (KEYS, ROWS[:3], np.float32(ROWS[:2])), {}, lodkit.DTypeError, "shard 1 is float32, shard 0 flo"),
]


@pytest.mark.parametrize(("name", "inputs", "attrs", "error", "text"), WRONG)
def test_wrong_inputs(name, inputs, attrs, error, text):
    with pytest.raises(error, match=text):
        lodkit.OPS[name](*inputs, **attrs)


def test_published_types():
    """Lengths and keys keep their types."""
    keys, lengths = KEYS.astype(np.int32), np.array([2, 3], np.int64)
    parts = lodkit.caffe2.LengthsPartition(lengths, keys, ROWS, num_outputs=6, pack_first_input=1)
    assert [x.dtype.name for x in parts] == ["int64", "int32", "float64"] * 2
    assert parts[1].tolist() == [2, 3, 2] and parts[4].tolist() == [3, -1]
    assert lodkit.caffe2.Partition(keys, num_outputs=1)[0].dtype == np.int32
