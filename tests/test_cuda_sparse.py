"""CUDA operators whose ids are columns or rows of a dense array: ids outside, and matrices of more than one block."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("greenlet")
pytest.importorskip("numba_cuda")
pytest.importorskip("array_api_compat")

from emulated import to_numpy
from test_cuda_laws import any_gpu  # noqa: F401

import lodkit
from lodkit import LoDTensor


def calls(gpu, ids):
    """Everything that takes ids, with ids outside 6 columns, or rows."""
    batch, ones = gpu(LoDTensor(ids, [[1, 2]])), gpu(np.ones(3))
    yield lambda: lodkit.sparse_to_dense(gpu(ids), ones, num_rows=6)
    yield lambda: lodkit.sparse_matrix(batch, ones, num_columns=6)
    yield lambda: lodkit.batch_sparse_to_dense(batch, ones, num_columns=6)
    yield lambda: lodkit.batch_dense_to_sparse(batch, gpu(np.ones((2, 6))))
    yield lambda: lodkit.batch_sparse_to_dense_grad(batch, ones, gpu(np.ones((2, 6))))
    yield lambda: lodkit.segment_one_hot(batch, size=6)
    yield lambda: lodkit.one_hot(gpu(ids), size=6)


@pytest.mark.parametrize("bad", [-1, 6, 1 << 40])
def test_ids_outside_raise(gpu, bad):
    for call in calls(gpu, np.array([0, 5, bad])):
        with pytest.raises(lodkit.RowIndexError, match=rf"\[2\] = {bad} is outside \[0, 6\)"):
            call()
    with pytest.raises(lodkit.RowIndexError, match=rf"ids\[1, 0\] = {bad} is outside \[0, 3\)"):
        lodkit.one_hot(gpu(np.array([[1], [bad]])), size=3)


@pytest.mark.parametrize("bad", [-1, 6, 1 << 40])
def test_clamped_ids_write_nothing(gpu, bad):
    """As if they were not there; what they read is zero."""
    lodkit.bounds_check("clamp")
    found = [to_numpy(call()) for call in calls(gpu, np.array([0, 5, bad]))]
    row, matrix = [1, 0, 0, 0, 0, 1], [[1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1]]
    scores = [1, 1, 0]
    expected = [row, matrix, matrix, scores, scores, matrix, [*matrix, [0] * 6]]
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_array_equal(got.values if isinstance(got, LoDTensor) else got, want)


def test_negative_ids_without_a_bound(gpu):
    with pytest.raises(lodkit.RowIndexError, match=r"ids\[1\] = -7 is outside \[0, 3\) \(num_columns = 3\)"):
        lodkit.sparse_matrix(gpu(LoDTensor([2, -7], [[2]])))
    with pytest.raises(lodkit.RowIndexError, match=r"indices\[0\] = -1 is outside \[0, 0\)"):
        lodkit.sparse_to_dense(gpu(np.array([-1])), gpu(np.ones(1)))
    with pytest.raises(lodkit.RowIndexError, match=r"ids\[0\] = -1 is negative, and 1 examples"):
        lodkit.sparse_to_dense_mask(gpu(np.array([-1])), gpu(np.ones(1)), 0.0, mask=[1], max_skipped=0)


def test_what_does_not_fit(gpu):
    ids = gpu(LoDTensor([2, 1], [[2]]))
    with pytest.raises(lodkit.ShapeMismatchError, match="values has 3 rows for 2 ids"):
        lodkit.batch_sparse_to_dense(ids, gpu(np.ones(3)))
    with pytest.raises(lodkit.LoDMismatchError, match="weights against the ids"):
        lodkit.embedding_bag(gpu(np.ones((3, 2))), ids, gpu(LoDTensor([1.0, 1.0], [[1, 1]])))
    with pytest.raises(lodkit.DTypeError, match="ids must be integers"):
        lodkit.one_hot(gpu(np.ones(2)), size=3)
    with pytest.raises(lodkit.LoDError, match=r"lengths\[1\] = 3, but lengths\[0\] = 2"):
        lodkit.lengths_to_shape(gpu(np.array([2, 3])))
    with pytest.raises(lodkit.LoDError, match=r"lengths\[1\] = -3 is negative"):
        lodkit.lengths_to_weights(gpu(np.array([2, -3])))


def test_many_ids(gpu):
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 9, 300)
    ids = LoDTensor(rng.integers(0, 20, lengths.sum()), [lengths])
    values = rng.normal(size=len(ids.values))
    for name, more in (("sparse_matrix", {}), ("batch_sparse_to_dense", {"pad_value": 2.0})):
        found = lodkit.run(name, gpu(ids), gpu(values), **more)
        np.testing.assert_allclose(to_numpy(found), lodkit.run(name, ids, values, **more))
    dense = lodkit.sparse_matrix(ids)
    listed = to_numpy(lodkit.dense_to_id_lists(gpu(dense)))
    assert listed.equals(lodkit.dense_to_id_lists(dense))
