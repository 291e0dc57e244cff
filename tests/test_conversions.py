"""The representations of Caffe2's page on sparse operations, each to each other, with the page's own numbers."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor
from lodkit import caffe2 as c2

VALUES, LENGTHS = [1, 2, 3, 2, 4, 6, 7, 3, 6], [3, 4, 2]
SORTED = [0, 0, 0, 1, 1, 1, 1, 2, 2]
PADDED = [[1, 2, 3, -1], [2, 4, 6, 7], [3, 6, -1, -1]]
MATRIX = [[0, 1, 1, 1, 0, 0, 0, 0], [0, 0, 1, 0, 1, 0, 1, 1], [0, 0, 0, 1, 0, 0, 1, 0]]
EXAMPLES = [[1, 2, 3], [2, 4, 6, 7], [3, 6]]
BATCH = LoDTensor(VALUES, [LENGTHS])
IDS, SCORES = LoDTensor([1, 3, 2, 3, 5], [[2, 3]]), LoDTensor([0.4, 0.7, 0.5, 0.5, 0.1], [[2, 3]])


def test_examples():
    assert LoDTensor.from_nested(EXAMPLES).equals(BATCH)
    assert BATCH.to_list() == EXAMPLES


def test_values_and_lengths():
    assert LoDTensor.from_lengths(VALUES, LENGTHS).to_list() == EXAMPLES
    assert BATCH.lengths().tolist() == LENGTHS
    assert lodkit.lengths_to_offsets(LENGTHS).tolist() == [0, 3, 7, 9]
    assert LoDTensor.from_offsets(VALUES, [0, 3, 7, 9]).equals(BATCH)


def test_sorted_segment_ids():
    assert BATCH.segment_ids().tolist() == SORTED
    assert LoDTensor.from_segment_ids(np.array(VALUES), SORTED).equals(BATCH)
    assert lodkit.lengths_to_segment_ids(LENGTHS).tolist() == SORTED
    assert lodkit.segment_ids_to_lengths(SORTED).tolist() == LENGTHS
    assert c2.LengthsToSegmentIds(np.array(LENGTHS, np.int32)).tolist() == SORTED
    assert c2.SegmentIdsToLengths(np.array(SORTED, np.int32)).tolist() == LENGTHS
    assert lodkit.segment_ids_to_ranges(SORTED).tolist() == [[0, 3], [3, 4], [7, 2]]


def test_unsorted_segment_ids():
    values, ids = np.array([4, 1, 3, 6, 3, 2, 7, 2, 6]), [1, 0, 2, 1, 0, 1, 1, 0, 2]
    found = LoDTensor.from_segment_ids(values, ids)
    assert found.to_list() == [[1, 3, 2], [4, 6, 2, 7], [3, 6]]
    assert [sorted(sequence) for sequence in found.to_list()] == EXAMPLES


def test_padded():
    assert BATCH.to_padded(-1).tolist() == PADDED
    assert LoDTensor.from_padded(PADDED, pad_value=-1).equals(BATCH)
    assert LoDTensor.from_padded(PADDED, LENGTHS).equals(BATCH)


def test_sparse_matrix():
    assert BATCH.to_sparse_matrix().tolist() == MATRIX
    assert lodkit.sparse_matrix(BATCH).tolist() == MATRIX
    assert c2.SegmentOneHot(np.array(LENGTHS, np.int32), np.array(VALUES), np.array([8])).tolist() == MATRIX
    ids, ones = LoDTensor.from_sparse_matrix(MATRIX)
    assert ids.equals(BATCH)
    assert ones.to_list() == [[1, 1, 1], [1, 1, 1, 1], [1, 1]]
    lengths, listed = c2.DenseVectorToIdList(np.array(MATRIX, np.float32))
    assert (lengths.tolist(), listed.tolist()) == (LENGTHS, VALUES)


def test_ids_with_scores():
    batch = [{1: 0.4, 3: 0.7}, {2: 0.5, 3: 0.5, 5: 0.1}]
    assert LoDTensor.from_nested([list(example) for example in batch]).equals(IDS)
    assert LoDTensor.from_nested([list(example.values()) for example in batch]).equals(SCORES)
    assert LoDTensor.from_segment_ids(IDS.values, [0, 0, 1, 1, 1]).equals(IDS)
    dense = IDS.to_sparse_matrix(SCORES)
    np.testing.assert_array_equal(dense, [[0, 0.4, 0, 0.7, 0, 0], [0, 0, 0.5, 0.5, 0, 0.1]])
    for found, expected in zip(LoDTensor.from_sparse_matrix(dense), (IDS, SCORES), strict=True):
        assert found.equals(expected)
    assert lodkit.batch_dense_to_sparse(IDS, dense).equals(SCORES)


def test_scores_are_the_weights_of_a_bag():
    table = lodkit.parameter(np.random.default_rng(0).normal(size=(6, 3)))
    dense = IDS.to_sparse_matrix(SCORES)
    with lodkit.Tape() as tape:
        pooled = lodkit.embedding_bag(table, IDS, SCORES)
    np.testing.assert_allclose(pooled, dense @ table)
    np.testing.assert_allclose(pooled, lodkit.embedding_bag(table, IDS, SCORES.values))
    by_table, by_scores = tape.gradient(pooled, [table, SCORES])
    assert by_scores.same_lod(IDS)
    np.testing.assert_allclose(by_scores.values, table[IDS.values].sum(axis=1))
    np.testing.assert_allclose(by_table.to_dense(), np.repeat(dense.sum(axis=0)[:, None], 3, axis=1))
    plain = LoDTensor(SCORES.values)
    np.testing.assert_allclose(lodkit.embedding_bag(table, IDS, plain), pooled)
    with pytest.raises(lodkit.LoDMismatchError, match="weights against the ids: different sequence lengths at level 0"):
        lodkit.embedding_bag(table, IDS, LoDTensor(SCORES.values, [[3, 2]]))
    with pytest.raises(lodkit.LoDMismatchError, match="lod_level 2 against 1"):
        lodkit.embedding_bag(table, IDS, LoDTensor(SCORES.values, [[1, 1], [2, 3]]))


def test_a_matrix_of_scipy():
    sparse = pytest.importorskip("scipy.sparse")
    for format in ("csr", "coo"):
        matrix = IDS.to_scipy(SCORES, format=format)
        assert matrix.format == format
        assert matrix.shape == (2, 6)
        np.testing.assert_array_equal(matrix.toarray(), IDS.to_sparse_matrix(SCORES))
        ids, scores = LoDTensor.from_scipy(matrix)
        assert ids.equals(IDS)
        assert scores.equals(SCORES)
        assert ids.values.dtype == np.int64
    np.testing.assert_array_equal(BATCH.to_scipy(num_columns=9).toarray(), np.pad(MATRIX, ((0, 0), (0, 1))))
    assert BATCH.to_scipy().dtype == np.float32
    ids, scores = LoDTensor.from_scipy(sparse.coo_matrix(([1.0, 2.0, 4.0], ([1, 1, 0], [2, 2, 0])), shape=(3, 4)))
    assert (ids.to_list(), scores.to_list()) == ([[0], [2], []], [[4.0], [3.0], []])
    np.testing.assert_allclose(
        lodkit.embedding_bag(np.eye(6), *LoDTensor.from_scipy(IDS.to_scipy(SCORES))), IDS.to_sparse_matrix(SCORES)
    )


def test_scipy_adds_equal_ids_up_and_leaves_the_tensors_alone():
    pytest.importorskip("scipy.sparse")
    ids, scores = LoDTensor([3, 0, 3, 1], [[3, 0, 1]]), np.array([1, 2, 4, 8], np.float16)
    assert ids.to_scipy(scores).toarray().tolist() == [[2, 0, 0, 5], [0, 0, 0, 0], [0, 8, 0, 0]]
    assert ids.to_scipy([1, 2, 4, 8]).dtype == np.int64
    assert ids.values.tolist() == [3, 0, 3, 1]
    nested = LoDTensor([3, 0, 3], [[1, 1], [2, 1]])
    assert nested.to_scipy().toarray().tolist() == [[1, 0, 0, 1], [0, 0, 0, 1]]
    assert nested.to_sparse_matrix().to_list() == [[[1, 0, 0, 1]], [[0, 0, 0, 1]]]
    assert LoDTensor(np.empty(0, np.int64), [[0, 0]]).to_scipy().shape == (2, 0)


def test_what_is_no_matrix():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match="SciPy sparse matrix, got list"):
        LoDTensor.from_scipy([[1, 2]])
    with pytest.raises(lodkit.DTypeError, match="from_scipy takes float16"):
        LoDTensor.from_scipy(sparse.csr_array([[True, False]]))
    with pytest.raises(ValueError, match="got shape"):
        LoDTensor.from_scipy(sparse.coo_array(np.ones(3)))
    with pytest.raises(lodkit.LoDLevelError, match="to_scipy needs ids with lod_level >= 1"):
        LoDTensor([1, 2]).to_scipy()
    with pytest.raises(ValueError, match="format must be 'csr' or 'coo', got 'lil'"):
        IDS.to_scipy(format="lil")
    with pytest.raises(lodkit.RowIndexError, match=r"ids\[4\] = 5 is outside \[0, 5\) \(num_columns = 5\)"):
        IDS.to_scipy(num_columns=5)
    with pytest.raises(lodkit.LoDMismatchError, match="scores against the ids"):
        IDS.to_scipy(LoDTensor(SCORES.values, [[5, 0]]))
    with pytest.raises(lodkit.ShapeMismatchError, match="scores have shape"):
        IDS.to_scipy(np.ones((5, 2)))
    with pytest.raises(lodkit.ShapeMismatchError, match="scores has 3 rows for 5 ids"):
        IDS.to_scipy(np.ones(3))
    with pytest.raises(lodkit.DTypeError, match="must be integers"):
        LoDTensor(np.ones(2), [[2]]).to_scipy()
