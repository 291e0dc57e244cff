"""Ranges, places, weights and shapes: Caffe2's results under Caffe2's names, and inputs that are wrong."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import caffe2 as c2


def test_ranges_of_segments_without_rows():
    """Caffe2 puts segments between two ids where their rows would be, and those behind the last id at 0."""
    ids = np.array([1, 1, 3], np.int32)
    assert c2.SegmentIdsToRanges(ids).tolist() == [[0, 0], [0, 2], [2, 0], [2, 1]]
    assert c2.SegmentIdsToRanges(ids, np.ones((6, 2))).tolist() == [[0, 0], [0, 2], [2, 0], [2, 1], [0, 0], [0, 0]]
    assert lodkit.segment_ids_to_ranges(ids, num_segments=6)[4:].tolist() == [[3, 0], [3, 0]]
    assert c2.SegmentIdsToRanges(ids.reshape(-1, 1)).dtype == np.int32
    assert c2.SegmentIdsToRanges(np.empty(0, np.int32), np.ones(2)).tolist() == [[0, 0], [0, 0]]


def test_types_of_caffe2s_names():
    for lengths in (np.array([2, 0, 1], np.int32), np.array([2, 0, 1], np.int64)):
        for name in ("LengthsToRanges", "LengthsToOffsets", "LengthsRangeFill"):
            assert getattr(c2, name)(lengths).dtype == np.int32
        assert c2.LengthsToWeights(lengths, power=1.0).dtype == np.float32
        assert c2.LengthsToShape(lengths[:1]).dtype == np.int32
    assert c2.LengthsToOffsets(np.array([2, 1]), include_last_offset=True).tolist() == [0, 2, 3]


def test_weights_of_a_mean():
    data, lengths = np.random.default_rng(0).normal(size=(6, 2)), [3, 0, 2, 1]
    for power, reduce in ((1, "mean"), (0.5, "sqrt"), (0, "sum")):
        weights = lodkit.lengths_to_weights(lengths, power=power).astype(np.float64)
        pooled = lodkit.segment_reduce(data, lengths, weights, reduce="sum")
        np.testing.assert_allclose(pooled, lodkit.segment_reduce(data, lengths, reduce=reduce), rtol=1e-6)


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")  # where nothing is compiled
@pytest.mark.parametrize("name", ["lengths_to_ranges", "lengths_range_fill", "lengths_to_weights", "lengths_to_shape"])
def test_lengths_that_are_none(name):
    for lengths, error, message in [
        ([2, -1], lodkit.LoDError, r"lengths\[1\] = -1 is negative"),
        ([[1, 2]], lodkit.LoDError, "lengths must be one-dimensional, got shape"),
        ([0.5], lodkit.DTypeError, "lengths must be integers"),
        ([1 << 62, 1 << 62], lodkit.LoDError, "more than int64 holds"),
    ]:
        with pytest.raises(error, match=message):
            lodkit.run(name, lengths)


def test_segment_ids_that_are_none():
    for call in (lodkit.segment_ids_to_ranges, c2.SegmentIdsToRanges):
        with pytest.raises(lodkit.SegmentIdError, match=r"segment_ids\[0\] = -1 is negative"):
            call(np.array([-1, 0], np.int32))
        with pytest.raises(lodkit.SegmentIdError, match="segment_ids decrease at position 1"):
            call(np.array([2, 1], np.int32))
    with pytest.raises(lodkit.SegmentIdError, match=r"segment_ids\[1\] = 2 is outside \[0, 2\)"):
        lodkit.segment_ids_to_ranges([0, 2], num_segments=2)
    with pytest.raises(lodkit.SegmentIdError, match="like has 2 rows, but the ids have 3 segments"):
        c2.SegmentIdsToRanges(np.array([0, 2], np.int32), np.ones(2))


def test_lengths_that_have_no_shape():
    for call in (lodkit.lengths_to_shape, c2.LengthsToShape):
        with pytest.raises(lodkit.LoDError, match=r"lengths\[2\] = 3, but lengths\[0\] = 2.*to_padded"):
            call([2, 2, 3, 4])


def test_a_power_that_is_none():
    with pytest.raises(TypeError, match="power must be a number, got 'half'"):
        lodkit.lengths_to_weights([1], power="half")
