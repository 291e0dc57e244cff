"""SelectedRows: what it checks, adds, scales, splits and shows."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import lodkit
from lodkit import SelectedRows


@pytest.fixture
def grad():
    return SelectedRows([84, 73, 84], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], 100)


def test_the_seeds_example_prints_as_written():
    text = "SelectedRows(rows=[73, 84], value=[[1., 2.], [3., 4.]], height=100)"
    assert repr(SelectedRows([73, 84], [[1.0, 2.0], [3.0, 4.0]], 100)) == text


def test_parts(grad):
    assert (grad.shape, grad.ndim, grad.dtype, len(grad), grad.device) == ((100, 2), 2, np.float64, 3, "cpu")
    assert grad.nbytes == 24 + 48
    assert grad.get_tensor() is grad.value
    assert not grad.rows.flags.writeable
    rows = np.array([1, 2])
    copied = SelectedRows(rows, np.ones(2), 3)
    rows[0] = 77
    assert copied.rows[0] == 1


@pytest.mark.parametrize(
    ("rows", "value", "height", "error", "text"),
    [
        ([1, 110], np.ones((2, 1)), 100, lodkit.RowIndexError, r"rows\[1\] = 110 is outside \[0, 100\) \(height=100\)"),
        ([-1], np.ones((1, 1)), 100, lodkit.RowIndexError, r"rows\[0\] = -1"),
        ([0], np.ones((1, 1)), 0, lodkit.RowIndexError, "height=0"),
        ([], np.ones((0, 1)), -1, lodkit.RowIndexError, "height = -1"),
        ([1, 2], np.ones((3, 1)), 100, lodkit.LoDError, "2 rows, but value has shape"),
        ([[1]], np.ones((1, 1)), 100, lodkit.LoDError, "one-dimensional"),
        ([1.5], np.ones((1, 1)), 100, lodkit.DTypeError, "int32 or int64"),
        ([True], np.ones((1, 1)), 100, lodkit.DTypeError, "int32 or int64"),
        ([1], np.ones((1, 1)), 2.5, TypeError, "integer"),
        ([1], 3.0, 9, lodkit.LoDError, "value has shape"),
    ],
)
def test_construction_is_checked(rows, value, height, error, text):
    with pytest.raises(error, match=text):
        SelectedRows(rows, value, height)


def test_sums(grad):
    both = grad + grad
    assert both.rows.tolist() == [84, 73, 84] * 2
    dense = np.zeros((100, 2))
    np.testing.assert_array_equal((grad + dense)[84], [6, 8])
    np.testing.assert_array_equal((dense + grad)[84], [6, 8])
    assert not dense.any()
    with pytest.raises(ValueError, match="shape"):
        grad + np.zeros((99, 2))
    with pytest.raises(TypeError):
        grad + 1
    with pytest.raises(lodkit.DTypeError):
        grad + np.zeros((100, 2), np.float32)


def test_scaling_norm_and_clipping(grad):
    assert (2 * grad).value.tolist() == (grad * 2.0).value.tolist() == [[2, 4], [6, 8], [10, 12]]
    assert (grad / 2).value[0].tolist() == [0.5, 1]
    assert (-grad).value[0].tolist() == [-1, -2]
    assert grad.norm() == pytest.approx(np.linalg.norm(grad.to_dense()))
    clipped = grad.clip_by_norm(1.0)
    assert clipped.norm() == pytest.approx(1.0)
    assert grad.clip_by_norm(1e9).norm() == grad.norm()
    with pytest.raises(ValueError, match="max_norm"):
        grad.clip_by_norm(-1)
    with pytest.raises(TypeError):
        grad * "2"
    assert (SelectedRows([0], np.ones((1, 1), np.float32), 1) * 0.1).dtype == np.float32


def test_merge_remembers(grad):
    merged = grad.merge()
    assert merged.is_merged
    assert merged.merge() is merged
    assert merged.rows.tolist() == [73, 84]
    assert merged.value.tolist() == [[3, 4], [6, 8]]
    assert not (merged + merged).is_merged


def test_split_and_join(grad):
    parts = grad.split([80, 20])
    assert [p.height for p in parts] == [80, 20]
    assert parts[1].rows.tolist() == [4, 4]
    np.testing.assert_array_equal(np.concatenate([p.to_dense() for p in parts]), grad.to_dense())
    with pytest.raises(ValueError, match="add up to 99"):
        grad.split([80, 19])


def test_is_no_array(grad):
    with pytest.raises(TypeError, match=r"dense it takes 1,600 bytes; call \.to_dense"):
        np.asarray(grad)
    with pytest.raises(TypeError):
        np.exp(grad)


def test_copies(grad):
    for other in (pickle.loads(pickle.dumps(grad.merge())), copy.deepcopy(grad.merge())):
        assert other.rows.tolist() == [73, 84]
        assert other.is_merged
        assert other.height == 100
        assert not other.rows.flags.writeable


def test_reprs_stay_small():
    big = SelectedRows(np.arange(100_000), np.ones((100_000, 64), np.float32), 1 << 40)
    assert len(repr(big)) < 1000
    html = big._repr_html_()
    assert len(html) < 10_000
    assert "<script" not in html
