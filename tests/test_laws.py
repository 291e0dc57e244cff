"""Laws with cases of their own: bad ids, accuracy, overlap, tall tables. A call that raises changed nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import some_of

import lodkit
from lodkit import LoDTensor, SelectedRows

TABLE = np.arange(12.0).reshape(6, 2)


@pytest.mark.parametrize("bad", [-1, 6, 1 << 40, -(1 << 40)])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_ids_outside_the_table(bad, kind):
    if kind == np.int32 and abs(bad) > 1 << 31:
        pytest.skip("no int32")
    ids = np.array([0, 5, bad], kind)
    message = rf"ids\[2\] = {bad} is outside \[0, 6\)"
    for call in (
        lambda: lodkit.lookup_table(TABLE, ids),
        lambda: lodkit.lookup_table_grad(TABLE, ids, np.ones((3, 2))),
        lambda: lodkit.embedding_bag(TABLE, LoDTensor(ids, [[1, 2]])),
        lambda: lodkit.embedding_bag_grad(TABLE, LoDTensor(ids, [[1, 2]]), np.ones((2, 2))),
        lambda: lodkit.gather(TABLE, ids),
    ):
        with pytest.raises(lodkit.RowIndexError, match=message):
            call()
    with pytest.raises(IndexError, match=r"ids\[1, 0\] = "):
        lodkit.lookup_table(TABLE, ids[[0, 2]].reshape(2, 1))
    with pytest.raises(lodkit.RowIndexError, match=r"rows\[2\] = "):
        SelectedRows(ids, np.ones((3, 2)), 6)


def test_ids_of_a_wrong_type():
    for ids in (np.array([0.0, 1.0]), np.array([True]), np.array(["1"]), [0.5]):
        with pytest.raises(lodkit.DTypeError, match="must be integers"):
            lodkit.lookup_table(TABLE, ids)
    assert lodkit.lookup_table(TABLE, []).shape == (0, 2)


@pytest.mark.parametrize("dtype", [complex, "U3", object, "M8[s]"])
def test_values_of_a_wrong_type(dtype):
    with pytest.raises(lodkit.DTypeError):
        lodkit.sequence_pool(LoDTensor(np.zeros((3, 1), dtype), [[1, 2]]))


@pytest.mark.parametrize("dtype", [complex, "U3", object])
def test_rows_of_a_wrong_type(dtype):
    for look_up in (lodkit.lookup_table, lodkit.gather):
        with pytest.raises(lodkit.DTypeError):
            look_up(np.zeros((3, 1), dtype), [0])


@pytest.mark.parametrize("pool", ["mean", "sqrt", "logsumexp"])
def test_means_of_integers_are_refused(pool):
    with pytest.raises(lodkit.DTypeError, match="astype"):
        lodkit.sequence_pool(LoDTensor(np.ones((3, 1), np.int32), [[1, 2]]), pool=pool)


def updates():
    sparse = SelectedRows([5, 5], np.ones((2, 2)), 6)
    yield lodkit.sgd, (TABLE.copy(), sparse), {}
    yield lodkit.sgd, (TABLE.copy(), np.ones((6, 2))), {}
    yield lodkit.adagrad, (TABLE.copy(), sparse, np.ones((6, 2))), {}
    yield lodkit.adagrad, (TABLE.copy(), np.ones((6, 2)), np.ones((6, 2))), {}


def broken(inputs):
    """Each input of an update made wrong in each way, with what the message says."""
    param, grad, *states = inputs
    frozen = param.copy()
    frozen.flags.writeable = False
    yield (frozen, grad, *states), "read-only"
    yield (np.asfortranarray(param), grad, *states), "contiguous"
    yield (param.astype(">f8"), grad, *states), "contiguous"
    yield (param[:5], grad, *states), "shape"
    yield (param.astype(np.float32), grad, *states), "is float64"
    if isinstance(grad, np.ndarray):
        yield (param, param, *states), "overlaps"
    if states:
        yield (param, grad, param), "overlaps"
        yield (param, grad, states[0][:5]), "moment has shape"


@pytest.mark.parametrize("case", range(4))
def test_updates_refuse_what_they_cannot_do_and_change_nothing(case):
    op, inputs, attrs = list(updates())[case]
    for args, text in broken(inputs):
        before = [getattr(x, "value", x).copy() for x in args]
        with pytest.raises((ValueError, TypeError), match=text):
            op(*args, lr=0.1, **attrs)
        for x, b in zip(args, before, strict=True):
            np.testing.assert_array_equal(getattr(x, "value", x), b)
    for lr in (np.ones(2), "0.1", None):
        with pytest.raises(TypeError, match="lr must be"):
            op(*inputs, lr=lr)


def test_a_row_that_the_parameter_lacks():
    param = SelectedRows([1, 3], np.ones((2, 2)), 6)
    with pytest.raises(lodkit.RowIndexError, match=r"rows\[1\] = 2"):
        lodkit.sgd(param, SelectedRows([3, 2], np.ones((2, 2)), 6), lr=0.1)
    np.testing.assert_array_equal(param.value, np.ones((2, 2)))


@pytest.mark.parametrize(
    ("segments", "by", "text"),
    [
        ([1, 1], "lengths", "lengths add up to 2, but the data has 3 rows"),
        ([4, -1], "lengths", r"lengths\[1\] = -1 is negative"),
        ([[1, 2]], "lengths", "one-dimensional"),
        ([0, 2], "offsets", "the last offset is 2"),
        ([1, 3], "offsets", "start at 1"),
        ([0, 3, 2, 3], "offsets", "decrease at position 2: 3, then 2"),
        ([], "offsets", "are empty"),
        ([0, 1, 0], "ids", "decrease at position 2: 1, then 0"),
        ([-1, 0, 0], "ids", r"segment_ids\[0\] = -1 is negative"),
        ([0, 1], "ids", "segment_ids number 2"),
    ],
)
def test_malformed_segments(segments, by, text):
    with pytest.raises(ValueError, match=text):
        lodkit.segment_reduce(np.ones((3, 1)), np.array(segments, np.int64), by=by)


def test_segment_ids_past_their_number():
    with pytest.raises(lodkit.SegmentIdError, match=r"segment_ids\[2\] = 4 is outside \[0, 2\)"):
        lodkit.segment_reduce(np.ones((3, 1)), [0, 1, 4], by="ids", num_segments=2)
    assert lodkit.segment_reduce(np.ones((3, 1)), [0, 1, 4], by="ids").shape == (5, 1)


@pytest.mark.jit
@pytest.mark.parametrize(
    ("dtype", "item"),
    some_of([*((np.float32, item) for item in [(3,), (), (1,), (16,)]), (np.float16, (16,)), (np.float16, ())], 6),
)
def test_a_million_equal_values(dtype, item):
    value = dtype(0.1)
    n = 1_000_000 if dtype == np.float32 else 100_000
    x = LoDTensor(np.full((n, *item), value), [[n]])
    expected = float(value)
    found = lodkit.sequence_pool(x, pool="mean")
    tolerance = 1e-5 if dtype == np.float32 else 1e-3
    np.testing.assert_allclose(found.astype(np.float64), expected, rtol=tolerance)
    if dtype == np.float32:
        np.testing.assert_allclose(lodkit.sequence_pool(x), n * expected, rtol=tolerance)
        merged = SelectedRows(np.zeros(n, np.int64), x.values, 3).merge()
        np.testing.assert_allclose(merged.value[0], n * expected, rtol=tolerance)


def test_four_thousand_halves():
    x = LoDTensor(np.ones((4096, 1), np.float16), [[4096]])
    assert lodkit.sequence_pool(x)[0, 0] == 4096


def test_halves_that_overflow_are_infinite():
    """Without a warning, in whatever they were computed."""
    big = np.full((3, 2), 60000, np.float16)
    x, filter, image = LoDTensor(big, [[3]]), np.ones((4, 1), np.float16), np.ones((1, 1, 1, 3), np.float16)
    assert np.isinf(lodkit.sequence_conv(x, filter, context_length=2).values).all()
    assert np.isinf(lodkit.row_conv(x, big).values).all()
    grad_output = np.full((3, 1), 60000, np.float16)
    grads = [
        lodkit.run("sequence_conv_grad", x, filter, grad_output, context_length=2)[1][2:],
        *lodkit.run("row_conv_grad", x, big, big),
        lodkit.run("slice_columns_grad", big, np.tile(big, 2), ranges=[(0, 2), (0, 2)]),
        lodkit.run("im2sequence_grad", image, big[:2], kernels=(1, 2))[..., 1],
    ]
    assert all(np.isinf(grad).all() for grad in grads)


def test_duplicates_update_once_by_their_sum():
    grad = SelectedRows([1, 1], np.array([[1.0], [2.0]]), 3)
    dense, sparse = np.zeros((3, 1)), np.zeros((3, 1))
    moments = np.zeros((3, 1)), np.zeros((3, 1))
    lodkit.adagrad(dense, grad.to_dense(), moments[0], lr=0.5)
    lodkit.adagrad(sparse, grad, moments[1], lr=0.5)
    np.testing.assert_array_equal(dense, sparse)
    one_by_one = np.zeros((3, 1))
    lodkit.adagrad(one_by_one, grad, np.zeros((3, 1)), lr=0.5, duplicates="sequential")
    assert one_by_one[1] != sparse[1]


def test_a_table_taller_than_int32():
    height = 1 << 40
    grad = SelectedRows([height - 1, 5, height - 1], np.ones((3, 2), np.float32), height)
    merged = grad.merge()
    assert merged.rows.tolist() == [5, height - 1]
    np.testing.assert_array_equal(merged.value, [[1, 1], [2, 2]])
    widest = SelectedRows(np.array([(1 << 62), 1, 1 << 62] * 40), np.ones((120, 1)), (1 << 62) + 1).merge()
    assert widest.rows.tolist() == [1, 1 << 62]
    assert widest.value.ravel().tolist() == [40, 80]


def test_padding_idx_is_checked_and_never_updated():
    with pytest.raises(lodkit.RowIndexError, match="padding_idx = 6"):
        lodkit.lookup_table(TABLE, [0], padding_idx=6)
    for is_sparse in (True, False):
        grad = lodkit.lookup_table_grad(TABLE, np.array([1, 2, 1]), np.ones((3, 2)), padding_idx=1, is_sparse=is_sparse)
        dense = grad.to_dense() if is_sparse else grad
        np.testing.assert_array_equal(dense[1], [0, 0])
        np.testing.assert_array_equal(dense[2], [1, 1])


def test_embedding_bag_needs_bags():
    with pytest.raises(lodkit.LoDLevelError, match="attach lengths"):
        lodkit.embedding_bag(TABLE, LoDTensor(np.array([0, 1])))
    with pytest.raises(lodkit.LoDError, match="one weight per row"):
        lodkit.embedding_bag(TABLE, LoDTensor([0, 1], [[2]]), np.ones(3))
    with pytest.raises(ValueError, match="weights have a meaning with sum and mean"):
        lodkit.embedding_bag(TABLE, LoDTensor([0, 1], [[2]]), np.ones(2), pool="max")


lengths = st.lists(st.integers(0, 5), max_size=12)


@given(lengths, st.sampled_from(["sum", "mean", "max", "min", "logsumexp", "first", "last"]), st.integers(0, 3))
@settings(deadline=None, max_examples=60)
def test_any_lengths(lengths, pool, width):
    data = np.random.default_rng(len(lengths)).normal(size=(sum(lengths), width))
    x = LoDTensor(data, [lengths])
    expected = lodkit.sequence_pool.definition(x, pool=pool, pad_value=0.25)
    np.testing.assert_allclose(lodkit.sequence_pool(x, pool=pool, pad_value=0.25), expected, rtol=1e-12, atol=1e-12)
    by_ids = lodkit.segment_reduce(
        data, np.repeat(np.arange(len(lengths)), lengths), by="ids", num_segments=len(lengths)
    )
    np.testing.assert_allclose(by_ids, lodkit.sequence_pool(x), rtol=1e-12, atol=1e-12)


@given(st.lists(st.integers(0, 9), max_size=200), st.integers(10, 1 << 45))
@settings(deadline=None, max_examples=60)
def test_merge_of_any_rows(rows, height):
    rows = np.array(rows, np.int64) * (height // 10)
    grad = SelectedRows(rows, np.ones((len(rows), 1)), height)
    unique, counts = np.unique(rows, return_counts=True)
    merged = grad.merge()
    np.testing.assert_array_equal(merged.rows, unique)
    np.testing.assert_array_equal(merged.value.ravel(), counts)
    assert merged.merge() is merged


@pytest.mark.parametrize("sparse", [False, True])
def test_no_gradient_is_no_step_whatever_epsilon(sparse):
    grad = np.array([[0.0], [1.0]])
    grad = lodkit.SelectedRows([1], grad[1:], 2) if sparse else grad
    param, moment = lodkit.adagrad(np.ones((2, 1)), grad, np.zeros((2, 1)), lr=0.5, epsilon=0.0)
    assert param.tolist() == [[1.0], [0.5]] and moment.tolist() == [[0.0], [1.0]]


@pytest.mark.jit
def test_a_million_equal_gradients_of_a_bias():
    n = 1_000_000
    x, w, g = np.ones((n, 1), np.float32), np.ones((1, 3), np.float32), np.full((n, 3), 0.1, np.float32)
    np.testing.assert_allclose(lodkit.fc_grad(x, w, g)[2], n * np.float64(np.float32(0.1)), rtol=1e-6)
