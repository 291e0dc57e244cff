"""Sparse matrices: equal ids, gradients, and inputs that are wrong."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor
from lodkit import caffe2 as c2

IDS = LoDTensor([4, 1, 4, 0], [[3, 0, 1]])
VALUES = np.array([1.0, 2.0, 4.0, 8.0])


def test_equal_ids():
    assert lodkit.sparse_matrix(IDS, VALUES).tolist() == [[0, 2, 0, 0, 5], [0] * 5, [8, 0, 0, 0, 0]]
    assert lodkit.sparse_matrix(IDS)[0].tolist() == [0, 1, 0, 0, 2]
    assert lodkit.batch_sparse_to_dense(IDS, VALUES, pad_value=-1)[0].tolist() == [-1, 2, -1, -1, 4]


def test_gradients_of_equal_ids():
    """Where values were added each gets the gradient, where the last one won it alone does."""
    values, weights = lodkit.parameter(VALUES), lodkit.parameter(np.arange(15.0).reshape(3, 5))
    with lodkit.Tape() as tape:
        added, put = lodkit.sparse_matrix(IDS, values), lodkit.batch_sparse_to_dense(IDS, values)
        looked_up = lodkit.batch_dense_to_sparse(IDS, weights)
    assert tape.gradient(added, [values], weights)[0].tolist() == [4, 1, 4, 10]
    assert tape.gradient(put, [values], weights)[0].tolist() == [0, 1, 4, 10]
    assert tape.gradient(looked_up, [weights], VALUES)[0][0].tolist() == [0, 2, 0, 0, 5]


def test_many_equal_ids_add_up_exactly():
    ids = LoDTensor(np.zeros(200_000, np.int64), [[200_000]])
    assert lodkit.sparse_matrix(ids).tolist() == [[200_000]]
    tenth = lodkit.sparse_matrix(ids, np.full(200_000, 0.1, np.float32))
    np.testing.assert_allclose(tenth, 20_000, rtol=1e-6)


def test_a_shape_like_another():
    args = np.array([2, 1]), np.array([0, 2, 1]), np.array([1.0, 2.0, 3.0])
    assert c2.BatchSparseToDense(*args, np.ones((2, 4))).tolist() == [[1, 0, 2, 0], [0, 3, 0, 0]]
    assert c2.BatchSparseToDense(*args, dense_last_dim=3, default_value=7.0).tolist() == [[1, 7, 2], [7, 3, 7]]
    assert c2.BatchSparseToDense(*args).shape == (2, 3)
    assert c2.BatchDenseToSparse(*args[:2], np.arange(6.0).reshape(2, 3)).tolist() == [0, 2, 4]


def test_ids_outside():
    for ids, columns, message in [
        (LoDTensor([0, 3], [[1, 1]]), 3, r"ids\[1\] = 3 is outside \[0, 3\) \(num_columns = 3\); drop it, or make"),
        (LoDTensor([0, -1], [[1, 1]]), 3, r"ids\[1\] = -1 is outside \[0, 3\).*ids count from 0"),
        (LoDTensor([4, -1], [[1, 1]]), None, r"ids\[1\] = -1 is outside \[0, 5\)"),
    ]:
        with pytest.raises(lodkit.RowIndexError, match=message):
            lodkit.sparse_matrix(ids, num_columns=columns)
        with pytest.raises(lodkit.RowIndexError, match=message):
            lodkit.batch_sparse_to_dense(ids, np.ones(2), num_columns=columns)
        with pytest.raises(lodkit.RowIndexError, match=message):
            c2.BatchSparseToDense(np.array([1, 1]), ids.values, np.ones(2), dense_last_dim=columns or -1)
    for call in (
        lambda ids: lodkit.batch_dense_to_sparse(LoDTensor(ids, [[1, 1]]), np.ones((2, 3))),
        lambda ids: c2.BatchDenseToSparse(np.array([1, 1]), ids, np.ones((2, 3))),
    ):
        for bad in (3, -1):
            with pytest.raises(lodkit.RowIndexError, match=rf"ids\[1\] = {bad} is outside \[0, 3\) \(dense.shape\[1\]"):
                call(np.array([0, bad]))
    with pytest.raises(lodkit.RowIndexError, match=r"\(grad.shape\[1\] = 4\)"):
        lodkit.batch_sparse_to_dense_grad(IDS, VALUES, np.ones((3, 4)))


def test_what_raises_wrote_nothing():
    out = np.full((3, 4), 7.0)
    with pytest.raises(lodkit.RowIndexError):
        lodkit.batch_sparse_to_dense(IDS, VALUES, num_columns=4, out=out)
    scores = np.full(4, 7.0)
    with pytest.raises(lodkit.RowIndexError):
        lodkit.batch_dense_to_sparse(IDS, np.ones((3, 4)), out=scores)
    assert (out == 7).all()
    assert (scores == 7).all()


def test_out():
    out = np.full((3, 5), 7.0)
    assert lodkit.batch_sparse_to_dense(IDS, VALUES, out=out) is out
    assert out[0].tolist() == [0, 2, 0, 0, 4]


def test_structure_that_does_not_fit():
    with pytest.raises(lodkit.LoDLevelError, match=r"sparse_matrix needs ids with lod_level >= 1; attach lengths"):
        lodkit.sparse_matrix(LoDTensor([1, 2]))
    with pytest.raises(lodkit.LoDLevelError, match=r"batch_dense_to_sparse takes one id a row, got ids of shape"):
        lodkit.batch_dense_to_sparse(LoDTensor([[1, 2]], [[1]]), np.ones((1, 3)))
    with pytest.raises(lodkit.LoDMismatchError, match="scores against the ids: different sequence lengths"):
        lodkit.sparse_matrix(IDS, LoDTensor(VALUES, [[2, 1, 1]]))
    with pytest.raises(lodkit.ShapeMismatchError, match="values has 3 rows for 4 ids"):
        lodkit.batch_sparse_to_dense(IDS, VALUES[:3])
    with pytest.raises(lodkit.ShapeMismatchError, match="scores has no rows for 4 ids"):
        lodkit.sparse_matrix(IDS, np.array(1.0))
    for dense in (np.ones((2, 5)), np.ones(3)):
        with pytest.raises(lodkit.ShapeMismatchError, match=r"dense has shape .* a row for each of the 3 sequences"):
            lodkit.batch_dense_to_sparse(IDS, dense)
    with pytest.raises(lodkit.LoDError, match="sum to the rows"):
        c2.BatchSparseToDense(np.array([1, 1]), np.array([0, 2, 1]), np.ones(3))
    with pytest.raises(lodkit.LoDError, match=r"\[1\] = -1 is negative"):
        c2.BatchDenseToSparse(np.array([2, -1]), np.array([0]), np.ones((2, 3)))


def test_types_and_attributes_that_are_none():
    with pytest.raises(lodkit.DTypeError, match="ids must be integers"):
        lodkit.sparse_matrix(LoDTensor(np.ones(2), [[2]]))
    with pytest.raises(lodkit.DTypeError, match="sparse_matrix takes float16"):
        lodkit.sparse_matrix(IDS, np.ones(4, bool))
    with pytest.raises(ValueError, match="num_columns = -2 is negative"):
        lodkit.sparse_matrix(IDS, num_columns=-2)
    with pytest.raises(ValueError, match=r"pad_value 0.5 is no value of int64"):
        lodkit.batch_sparse_to_dense(IDS, np.arange(4), pad_value=0.5)
    with pytest.raises(lodkit.DTypeError, match="the gradient takes"):
        lodkit.batch_sparse_to_dense_grad(IDS, np.arange(4), np.ones((3, 5)))


def test_a_million_equal_scores_in_one_cell():
    ids = LoDTensor(np.zeros(10**6, np.int64), [[10**6]])
    scores = np.full(10**6, 0.1, np.float32)
    np.testing.assert_allclose(ids.to_scipy(scores).toarray(), [[1e5]], rtol=1e-5)


def test_more_cells_than_can_be_numbered():
    matrix = LoDTensor([2**62, 5, 2**62, 5], [[1, 3]]).to_scipy()
    assert matrix.shape == (2, 2**62 + 1)
    assert matrix.indices.tolist() == [2**62, 5, 2**62]
    assert matrix.data.tolist() == [1, 2, 1]


def test_duplicates_of_a_coo_matrix_add_up_precisely():
    sparse = pytest.importorskip("scipy.sparse")
    cells = np.append(np.zeros(10**6, np.int32), 1)
    matrix = sparse.coo_array((np.full(10**6 + 1, 0.1, np.float32), (cells, cells)), shape=(2, 3))
    ids, scores = LoDTensor.from_scipy(matrix)
    assert ids.to_list() == [[0], [1]]
    np.testing.assert_allclose(scores.values, [1e5, 0.1], rtol=1e-5)


def test_a_matrix_that_names_a_column_it_has_not():
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_array([[0, 4, 0], [1, 0, 2]])
    matrix.indices[1] = 99
    with pytest.raises(lodkit.RowIndexError, match=r"columns\[1\] = 99 is outside \[0, 3\)"):
        LoDTensor.from_scipy(matrix)
