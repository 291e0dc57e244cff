"""Sequences of several types are joined in one that holds all their integers, or refused."""

from __future__ import annotations

import numpy as np
import pytest

from lodkit import DTypeError, LoDTensor, concat

WIDEST = 2**63 + 5


@pytest.mark.parametrize(
    ("parts", "dtype"),
    [
        ([np.array([WIDEST], np.uint64), np.array([1])], np.uint64),
        ([np.array([5], np.uint64), np.array([-1])], np.int64),
        ([np.array([5], np.uint64), np.array([1], np.int8), np.zeros(0, np.int32)], np.uint64),
        ([np.array([5], np.uint32), np.array([-1], np.int8)], np.int64),
        ([np.array([2**53]), np.array([0.5], np.float32)], np.float64),
        ([np.array([2**14], np.int16), np.array([0.5], "f4")], np.float32),
        ([np.array([1.5], ">f4"), np.array([0.5], "f4")], np.float32),
    ],
)
def test_arrays_are_joined_exactly(parts, dtype):
    made = LoDTensor.from_sequences(parts)
    assert made.values.dtype == dtype
    assert made.values.tolist() == [number for part in parts for number in part.tolist()]
    assert made.lengths().tolist() == [len(part) for part in parts]


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([np.array([0.5]), np.array([2**53 + 1])], "number 1 has int64 numbers that float64 rounds"),
        ([np.array([-(2**60)], np.int64) - 1, np.array([0.5], np.float32)], "number 0 has int64 numbers"),
        ([np.array([WIDEST], np.uint64), np.array([-1])], "number 0 has uint64 numbers that float64 rounds"),
        ([np.array([1], "m8[s]"), np.array([1])], r"of the types int64, timedelta64\[s\] have no type in common"),
        ([np.array([1]), np.array([1], "M8[s]")], r"of the types datetime64\[s\], int64 have no type in common"),
    ],
)
def test_integers_that_are_rounded_are_refused(parts, said):
    with pytest.raises(DTypeError, match=said):
        LoDTensor.from_sequences(parts)
    with pytest.raises(DTypeError, match=said):
        LoDTensor.from_nested(parts)
    with pytest.raises(DTypeError, match=said):
        concat([LoDTensor(part, [[len(part)]]) for part in parts])


def test_lists_of_integers_beyond_int64():
    made = LoDTensor.from_nested([[WIDEST], [1]])
    assert made.values.dtype == np.uint64 and made.values.tolist() == [WIDEST, 1]
    with pytest.raises(DTypeError, match="to round them"):
        LoDTensor.from_nested([[WIDEST], [-1]])
    assert LoDTensor.from_nested([[WIDEST], [-1]], dtype=np.float64).values.tolist() == [float(WIDEST), -1.0]
