"""Ranges and segments that are not inside the data, and the page's examples."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit.caffe2 import GatherRanges, GatherRangesToDense, LengthsGather, LengthsTile

DATA = np.arange(6.0)


def test_results_have_caffe2s_types():
    values, lengths = GatherRanges(DATA, np.array([[[0, 1], [2, 2]], [[4, 1], [5, 1]]], np.int32))
    assert values.tolist() == [0, 2, 3, 4, 5]
    assert (lengths.tolist(), lengths.dtype) == ([3, 2], np.int32)
    assert LengthsGather(DATA, np.array([0, 2, 3, 1], np.int32), np.array([2, 0, 2])).tolist() == [2, 3, 4, 2, 3, 4]
    assert LengthsTile(DATA[:3], np.array([0, 1, 3], np.int64)).tolist() == [1, 2, 2, 2]


@pytest.mark.parametrize("bad", [[-1, 2], [5, 2], [0, 7], [7, 0], [2, -1], [1 << 62, 1 << 62], [3, 1 << 62]])
def test_ranges_outside(bad, place):
    ranges = np.array([[[0, 1], [1, 2]], [[0, 6], bad]])
    for call in (
        lambda data: lodkit.gather_ranges(data, place.to(ranges)),
        lambda data: lodkit.gather_ranges_grad(data, place.to(ranges), place.to(np.ones(9))),
        lambda data: lodkit.gather_ranges_to_dense(data, place.to(ranges), lengths=(1, 2)),
    ):
        with pytest.raises(lodkit.RowIndexError, match=rf"ranges\[1, 1\] = \[{bad[0]}, {bad[1]}\] .* 6 rows"):
            call(place.to(DATA))


@pytest.mark.parametrize("shape", [(4,), (2, 2), (2, 2, 3), (1, 2, 2, 2)])
def test_ranges_are_pairs(shape, place):
    with pytest.raises(lodkit.LoDError, match=r"\(examples, ranges of each, 2\)"):
        lodkit.gather_ranges(place.to(DATA), place.to(np.zeros(shape, np.int64)))
    with pytest.raises(lodkit.DTypeError, match="must be integers"):
        lodkit.gather_ranges(place.to(DATA), place.to(np.zeros((1, 1, 2))))


def test_fixed_ranges_that_do_not_fit(place):
    ranges = place.to(np.array([[[0, 1], [1, 2]], [[1, 1], [1, 3]]]))

    def run(*key, **attrs):
        return lodkit.gather_ranges_to_dense(place.to(DATA), ranges, *map(place.to, key), **attrs)

    for attrs, text in (({"lengths": (1,)}, "of 1 features, ranges have 2"), ({"lengths": (1, -2)}, "negative")):
        with pytest.raises(lodkit.LoDError, match=text):
            run(**attrs)
    with pytest.raises(lodkit.DTypeError, match="lengths must be"):
        run(lengths=(1.5, 2))
    with pytest.raises(lodkit.LoDError, match=r"key has shape \(2,\), the data 6 rows"):
        run(np.array([1, 2]), lengths=(1, 2))
    with pytest.raises(lodkit.DTypeError, match="key must be integers"):
        run(np.ones(6), lengths=(1, 2))


def test_too_many_ranges_that_do_not_fit(place):
    ranges = np.array([[[0, 1], [1, 2]], [[1, 1], [1, 3]], [[0, 0], [1, 2]]])
    run = lambda **attrs: lodkit.gather_ranges_to_dense(  # noqa: E731
        place.to(DATA), place.to(ranges), lengths=(1, 2), min_observation=1, **attrs
    )
    for attrs in ({"max_mismatched_ratio": 0.3}, {"max_empty_ratio": 0.3}):
        with pytest.raises(lodkit.LoDError, match=r"1 of 3 ranges of feature .* more than 0\.3 of 3"):
            run(**attrs)
    assert [place.home(x).shape for x in run(max_mismatched_ratio=0.4, max_empty_ratio=0.4)] == [(3, 1), (3, 2)]
    many = np.tile([[[0, 1]]], (102, 1, 1))
    many[:101, :, 1] = 2
    with pytest.raises(lodkit.LoDError, match=r"101 of 102 ranges of feature 0 .* more than 0\.01 of 10000"):
        GatherRangesToDense(DATA, many, lengths=[1])
    many[:1, :, 1] = 1
    assert GatherRangesToDense(DATA, many, lengths=[1])[0].shape == (102, 1)


def test_segments_that_there_are_not(place):
    items, lengths = place.to(DATA), place.to(np.array([2, 4]))
    for bad in (-1, 2, 1 << 40):
        with pytest.raises(lodkit.RowIndexError, match=rf"ids\[1\] = {bad} is outside \[0, 2\)"):
            lodkit.lengths_gather(items, lengths, place.to(np.array([0, bad])))
    for wrong in ([2, 3], [7, -1]):
        with pytest.raises(lodkit.LoDError, match=r"add up to 5, but the data has 6|is negative"):
            lodkit.lengths_gather(items, place.to(np.array(wrong)), place.to(np.array([0])))


def test_lengths_that_do_not_tile(place):
    for wrong, text in (([1, 2], "2 lengths for 3 rows"), ([1, -1, 1], r"lengths\[1\] = -1 is negative")):
        with pytest.raises(lodkit.LoDError, match=text):
            lodkit.lengths_tile(place.to(np.ones(3)), place.to(np.array(wrong)))
    with pytest.raises(lodkit.DTypeError, match="must be integers"):
        lodkit.lengths_tile(place.to(np.ones(3)), place.to(np.ones(3)))


@pytest.mark.parametrize("name", ["gather_ranges", "gather_ranges_to_dense", "lengths_gather", "lengths_tile"])
def test_values_of_a_wrong_type(name):
    op, ints = lodkit.OPS[name], np.array([1, 2])
    others = {"lengths_gather": (ints, ints[:1]), "lengths_tile": (ints,)}.get(name, (np.zeros((1, 1, 2), int),))
    with pytest.raises(lodkit.DTypeError, match=rf"{name} takes floats"):
        op(np.array(["a", "b", "c"])[: 3 if name == "lengths_gather" else 2], *others, **LENGTHS.get(name, {}))


LENGTHS = {"gather_ranges_to_dense": {"lengths": (1,)}}
