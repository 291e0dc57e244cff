"""Every reduction that has a published name does what the name says: against NumPy, from the words of the name."""

from __future__ import annotations

import re

import numpy as np
import pytest

import lodkit
from lodkit.caffe2 import _reductions

DATA = np.array([[1.5, -2, 4], [3, 0.5, -1], [-2.5, 3, 2], [2, -1.5, 5], [0.5, 4, -3]], np.float32)
WEIGHTS = np.array([2, 0.5, 3, 1.5, 1], np.float32)
INDICES = np.array([4, 0, 3, 0, 2])
NAME = re.compile("(Sparse)?(SortedSegmentRange|SortedSegment|UnsortedSegment|Lengths)(Weighted)?(Positional)?(.*)")
IDS = {
    "SortedSegment": np.array([0, 0, 0, 1, 1], np.int32),
    "SortedSegmentRange": np.array([0, 0, 0, 1, 1], np.int32),
    "UnsortedSegment": np.array([2, 0, 2, 2, 0], np.int32),
    "Lengths": np.array([0, 0, 0, 2, 2], np.int32),
}
SEGMENTS = {**IDS, "Lengths": np.array([3, 0, 2], np.int32)}
REDUCE = {
    "Sum": lambda x: x.sum(axis=0),
    "Mean": lambda x: x.sum(axis=0) / len(x),
    "SqrtMean": lambda x: x.sum(axis=0) / np.sqrt(len(x)),
    "Max": lambda x: x.max(axis=0),
    "Min": lambda x: x.min(axis=0),
    "Prod": lambda x: x.prod(axis=0),
    "LogSumExp": lambda x: np.log(np.exp(x).sum(axis=0)),
    "LogMeanExp": lambda x: np.log(np.exp(x).mean(axis=0)),
}


def expected_of(rows, ids, weights, reduce):
    rows = rows.astype(np.float64)
    result = np.zeros((ids.max() + 1, rows.shape[1]))
    for segment in np.unique(ids):
        here, w = rows[ids == segment], None if weights is None else weights[ids == segment]
        if w is None:
            result[segment] = REDUCE[reduce](here)
        else:
            result[segment] = w @ here / (w.sum() if reduce == "Mean" else 1)
    return result


@pytest.mark.parametrize("name", _reductions.SEGMENTS)
def test_a_name_of_segments_says_what_it_does(name):
    if "Positional" in name:
        return  # below
    sparse, representation, weighted, _, reduce = NAME.fullmatch(name).groups()
    rows = DATA[INDICES] if sparse else DATA
    inputs = [DATA, *([WEIGHTS] if weighted else []), *([INDICES] if sparse else []), SEGMENTS[representation]]
    out = getattr(lodkit.caffe2, name)(*inputs)
    expected = expected_of(rows, IDS[representation], WEIGHTS if weighted else None, reduce)
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, expected, rtol=1e-5)


def test_positional_weights_are_by_the_position_in_a_segment():
    out = lodkit.caffe2.SparseLengthsPositionalWeightedSum(DATA, WEIGHTS[:3], INDICES, SEGMENTS["Lengths"])
    weights = WEIGHTS[[0, 1, 2, 0, 1]]
    np.testing.assert_allclose(out, expected_of(DATA[INDICES], IDS["Lengths"], weights, "Sum"), rtol=1e-5)


@pytest.mark.parametrize("name", _reductions.DIMENSIONS)
def test_a_name_of_dimensions_says_what_it_does(name):
    where, weighted, reduce = re.fullmatch("Reduce(Front|Back)(Weighted)?(.*)", name).groups()
    out = getattr(lodkit.caffe2, name)(DATA, *([WEIGHTS] if weighted else []))
    columns = DATA if where == "Front" else DATA.T
    expected = expected_of(columns, np.zeros(len(columns), int), WEIGHTS if weighted else None, reduce)[0]
    np.testing.assert_allclose(out, expected, rtol=1e-5)


def test_an_unsorted_name_takes_a_number_of_segments():
    for given, rows in ((5, 5), (-1, 3), (None, 3)):
        assert lodkit.caffe2.UnsortedSegmentMax(DATA, SEGMENTS["UnsortedSegment"], num_segments=given).shape == (
            rows,
            3,
        )
    with pytest.raises(TypeError, match="num_segments must be a number, got 'a'"):
        lodkit.caffe2.UnsortedSegmentMax(DATA, SEGMENTS["UnsortedSegment"], num_segments="a")
    with pytest.raises(lodkit.SegmentIdError, match="num_segments = -5 is negative"):
        lodkit.caffe2.UnsortedSegmentMax(DATA, SEGMENTS["UnsortedSegment"], num_segments=-5)


SPARSE_LENGTHS = [name for name in _reductions.SEGMENTS if name.startswith("SparseLengths")]


@pytest.mark.parametrize("name", SPARSE_LENGTHS)
def test_no_indices_and_lengths_of_some(name):
    """Caffe2 gives zeros."""
    none = np.array([], np.int64)
    weights = (WEIGHTS[:3],) if "Positional" in name else (WEIGHTS[:0],) if "Weighted" in name else ()
    with pytest.raises(lodkit.LoDError, match=r"there are 0 rows|lengths add up to 3, but the data has 0 rows"):
        getattr(lodkit.caffe2, name)(DATA, *weights, none, np.array([2, 1], np.int32))
    assert getattr(lodkit.caffe2, name)(DATA, *weights, none, np.array([0, 0], np.int32)).tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("bad", [3, -1])
@pytest.mark.parametrize("fused", [False, True])
def test_a_bad_id_in_the_gradient_of_a_weighted_sum(bad, fused):
    """Caffe2's UnsortedSegmentWeightedSumGradient crashes."""
    ids, grad = np.array([0, 1, bad, 2, 0]), np.ones((3, 3), np.float32)
    picked = (INDICES,) if fused else ()
    for gradient in (lodkit.segment_reduce_grad, lodkit.segment_reduce_weights_grad):
        with pytest.raises(lodkit.SegmentIdError, match=rf"segment_ids\[2\] = {bad} is"):
            gradient(DATA, ids, grad, grad, WEIGHTS, *picked, by="unsorted_ids", num_segments=3)
    with pytest.raises(lodkit.RowIndexError, match=rf"indices\[2\] = {2 * bad} is"):
        lodkit.segment_reduce_grad(DATA, [3, 0, 0], grad, grad, WEIGHTS[:3], np.array([0, 1, 2 * bad]))


def test_wide_weights_are_refused():
    wide = np.ones(5, np.longdouble)
    for name, inputs in (
        ("LengthsWeightedSum", (DATA, wide, SEGMENTS["Lengths"])),
        ("SparseLengthsWeightedMean", (DATA, wide, INDICES, SEGMENTS["Lengths"])),
        ("ReduceFrontWeightedSum", (DATA, wide)),
    ):
        with pytest.raises(lodkit.DTypeError, match=f"weights of type {wide.dtype} over values of type float32"):
            getattr(lodkit.caffe2, name)(*inputs)


def test_where_caffe2_is_wrong_at_the_ends():
    """It gives -3.4e38 and NaN, counts a negative length as 0, and updates a table of float16 to garbage."""
    inf, ids = np.inf, np.array([0, 0, 1], np.int32)
    lowest = lodkit.caffe2.SortedSegmentRangeMax(np.array([-inf, -inf, 1], np.float32), ids)
    assert lowest.tolist() == [-inf, 1]
    assert lodkit.caffe2.SortedSegmentRangeLogSumExp(np.array([inf, 1, 1], np.float32), ids).tolist() == [inf, 1]
    with pytest.raises(lodkit.LoDError, match=r"lengths\[1\] = -2 is negative"):
        lodkit.caffe2.LengthsSum(DATA, np.array([5, -2], np.int32))
    for dtype in (np.float16, np.float64):
        table, moment, grad = np.ones((2, 1), dtype), np.zeros((2, 1), dtype), np.full((1, 1), 2, dtype)
        lodkit.caffe2.SparseAdagrad(table, moment, np.array([1]), grad, np.array([-0.5]), epsilon=0.0)
        assert (table.tolist(), moment.tolist()) == ([[1], [0.5]], [[0], [4]])
    wrong = (np.ones((2, 1), np.int32), np.zeros((2, 1), np.int32), np.array([1]), np.ones((1, 1), np.int32))
    with pytest.raises(lodkit.DTypeError, match="adagrad takes float16, bfloat16, float32 or float64"):
        lodkit.caffe2.SparseAdagrad(*wrong, np.array([-0.5]))
