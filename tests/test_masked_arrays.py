"""Masked arrays are refused wherever an array is taken: no operator looks at a mask."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit

MASKED = np.ma.array([0, 1], mask=[True, False])


def test_masks_are_not_overlooked():
    with pytest.raises(TypeError, match="masked array"):
        lodkit.mean(np.ma.array([1.0, 100.0], mask=[0, 1]))


@pytest.mark.parametrize(
    "make",
    [
        lambda: lodkit.LoDTensor(MASKED, [[2]]),
        lambda: lodkit.LoDTensor([1, 2], [MASKED]),
        lambda: lodkit.SelectedRows(MASKED, np.ones((2, 1)), 4),
        lambda: lodkit.SelectedRows([0, 1], MASKED, 4),
        lambda: lodkit.caffe2.SegmentIdsToLengths(MASKED),
        lambda: lodkit.LoDTensor.from_nested([MASKED, MASKED]),
        lambda: lodkit.LoDTensor.from_nested([[MASKED]], lod_level=1),
        lambda: lodkit.LoDTensor.from_sequences([MASKED]),
        lambda: lodkit.paddle.DataFeeder([("a", 0, np.int64)]).feed([(MASKED,)]),
        lambda: lodkit.paddle.DataFeeder([("a", 1, np.int64)]).feed([(MASKED,)]),
        lambda: lodkit.paddle.DataFeeder([("a", 1, np.int64)]).feed([([MASKED],)]),
    ],
)
def test_masked_arrays_are_refused(make):
    with pytest.raises(TypeError, match="masked array, whose mask no operator looks at"):
        make()


def test_masked_arrays_in_lists_are_refused():
    row = np.ma.array([1.0, 2.0], mask=[False, True])
    for call in (lambda: lodkit.relu([row]), lambda: lodkit.LoDTensor([np.ones(2), row], [[2]])):
        with pytest.raises(TypeError, match="masked array"):
            call()
