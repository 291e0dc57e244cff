"""Dates and durations in operators that compare: NaT is what NaN is, and pads may be times."""

from __future__ import annotations

import datetime

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import lodkit
from lodkit import DTypeError, LoDTensor

LENGTHS = [[2, 0, 3, 1]]
TIMES = ["2020-01-03", "2020-01-01", "NaT", "2021-05-05", "2019-01-01", "1900-02-28"]
NAT = np.datetime64("NaT")
OF_PARTS = {
    "max": lambda part: part.max(0),
    "min": lambda part: part.min(0),
    "first": lambda part: part[0],
    "last": lambda part: part[-1],
}


def days(*shape, kind="M8[D]"):
    values = np.array(TIMES, "M8[D]")
    values = values.astype(kind) if kind[:2] == "M8" else (values - values[0]).astype(kind)
    return np.stack([values, values[::-1]], 1) if shape else values


@pytest.mark.parametrize("kind", ["M8[D]", "M8[ns]", "m8[s]"])
@pytest.mark.parametrize("items", [(), (2,)])
@pytest.mark.parametrize("pool", ["max", "min", "first", "last"])
def test_reductions_are_those_of_numpy(pool, kind, items):
    x = LoDTensor(days(*items, kind=kind), LENGTHS)
    parts = np.split(x.values, [2, 2, 5])
    of = OF_PARTS[pool]
    missing = np.full(items, "NaT", kind)
    expected = np.stack([of(part) if len(part) else missing for part in parts])
    found = lodkit.sequence_pool(x, pool=pool, pad_value=np.array("NaT", kind)[()])
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == kind
    ids = np.array([5, 2, 0])
    some = lodkit.segment_reduce(x.values, np.array([2, 1]), None, ids, reduce=pool)
    np.testing.assert_array_equal(some, np.stack([of(x.values[ids[:2]]), of(x.values[ids[2:]])]))
    if pool in ("max", "min"):
        np.testing.assert_array_equal(lodkit.embedding_bag(x.values, LoDTensor(ids, [[2, 1]]), pool=pool), some)


@pytest.mark.parametrize("pool", ["max", "min"])
def test_places_of_extremes(pool):
    x = LoDTensor(days(), LENGTHS)
    found, index = lodkit.sequence_pool(x, pool=pool, return_index=True)
    assert index.tolist() == [{"max": 0, "min": 1}[pool], -1, 2, 5]
    np.testing.assert_array_equal(found[[0, 2, 3]], x.values[index[[0, 2, 3]]])


def test_largest_and_distinct():
    values = days()
    best, index = lodkit.sequence_topk(LoDTensor(values, LENGTHS), k=2)
    np.testing.assert_array_equal(best.values, values[[0, 1, 2, 3, 5]])
    assert index.values.tolist() == [0, 1, 0, 1, 0]
    repeated = np.concatenate([values, values[2:4]])
    found = lodkit.unique(repeated, return_inverse=True, return_counts=True)
    for one, other in zip(found, np.unique(repeated, return_inverse=True, return_counts=True), strict=True):
        np.testing.assert_array_equal(one, other)
    assert lodkit.unique(values[:0]).dtype == values.dtype


@pytest.mark.parametrize("descending", [False, True])
def test_nat_is_last_in_both_orders(descending):
    values = np.array(["2020-01-03", "NaT", "2020-01-01"], "M8[s]")
    x = lodkit.sequence_sort(LoDTensor(np.arange(3), [[3]]), values, level=-1, descending=descending)
    assert x.to_list() == [[0, 2, 1] if descending else [2, 0, 1]]


@hypothesis.settings(deadline=None, max_examples=50)
@hypothesis.given(st.lists(st.one_of(st.none(), st.integers(-(2**63) + 1, 2**63 - 1)), min_size=1))
def test_the_whole_range_keeps_its_order(numbers):
    values = np.array([-(2**63) if n is None else n for n in numbers], np.int64).view("M8[ns]")
    x = LoDTensor(values, [[len(values)]])
    for pool, reduce in {"max": np.max, "min": np.min}.items():
        np.testing.assert_array_equal(lodkit.sequence_pool(x, pool=pool), [reduce(values)])
    np.testing.assert_array_equal(lodkit.unique(values), np.unique(values))
    np.testing.assert_array_equal(lodkit.sequence_sort(x, x, level=-1).values, np.sort(values))


@pytest.mark.parametrize("pool", ["sum", "mean", "sqrt", "prod", "logsumexp"])
def test_sums_of_times_are_refused(pool):
    x = LoDTensor(days(), LENGTHS)
    with pytest.raises(DTypeError, match=r"takes .*integers or bool, not datetime64\[D\]; convert with \.astype"):
        lodkit.sequence_pool(x, pool=pool)
    with pytest.raises(DTypeError, match=rf"{pool} takes"):
        lodkit.sequence_pool.infer(lodkit.VarDesc.of(x), pool=pool)


def test_pads_are_times_of_the_values():
    x = LoDTensor(days(kind="M8[s]"), LENGTHS)
    for pad, expected in ((np.datetime64("2000-01-01"), "2000-01-01"), (NAT, "NaT"), (86400, "1970-01-02"), (0, 0)):
        found = lodkit.sequence_pool(x, pool="max", pad_value=pad)[1]
        np.testing.assert_array_equal(found, np.array(expected, "M8[s]"))
        np.testing.assert_array_equal(x.to_padded(pad)[1], np.full(3, expected, "M8[s]"))
    for pad in (np.datetime64("2000-01-01T00:00:00.5"), np.timedelta64(1, "D"), np.datetime64("300000000000-01-01")):
        with pytest.raises(ValueError, match="is no value of datetime64"):
            lodkit.sequence_pool(x, pool="max", pad_value=pad)
        with pytest.raises(DTypeError, match="cannot hold pad_value"):
            x.to_padded(pad)
    with pytest.raises(ValueError, match="pad_value NaT is no value of float64"):
        lodkit.sequence_pool(LoDTensor([1.0], [[1, 0]]), pad_value=NAT)
    with pytest.raises(DTypeError, match="float64 cannot hold pad_value NaT"):
        LoDTensor([1.0], [[1, 0]]).to_padded(NAT)
    with pytest.raises(ValueError, match="pad_value 1970-01-01 is no value of int64"):
        lodkit.pack_segments(np.arange(3), [2, 1], pad_value=np.datetime64(0, "D"))
    back = LoDTensor.from_padded(x.to_padded(NAT)[:2], pad_value=NAT)
    assert back.recursive_sequence_lengths() == [[2, 0]]


def test_pads_that_are_equal_to_numbers_are_none():
    x = LoDTensor(days(kind="m8[s]"), LENGTHS)
    for pad in (1, 86400):
        assert lodkit.sequence_pool(x, pool="max", pad_value=pad)[1] == np.timedelta64(pad, "s")
    # NumPy has the hash of 1 for a month, and none for a duration of no unit.
    for values in (x, LoDTensor(np.arange(6), LENGTHS)):
        lodkit.sequence_pool(values, pool="max", pad_value=1)
        with pytest.raises(ValueError, match="pad_value 1 months is no value of"):
            lodkit.sequence_pool(values, pool="max", pad_value=np.timedelta64(1, "M"))
    assert lodkit.sequence_pool(x, pool="max", pad_value=np.timedelta64(7))[1] == np.timedelta64(7, "s")
    with pytest.raises(ValueError, match="is no value of int64"):
        lodkit.sequence_pool(values, pool="max", pad_value=np.timedelta64(7))


@pytest.mark.parametrize("pad", [2.5, np.nan, np.inf, 2**63, 1e300, -(2**70)])
def test_numbers_that_are_no_times_are_no_pads(pad):
    for kind in ("M8[s]", "m8[s]"):
        x = LoDTensor(days(kind=kind), LENGTHS)
        for call in (x.to_padded, lambda pad, x=x: LoDTensor.from_padded(x.values.reshape(2, 3), pad_value=pad)):
            with pytest.raises(DTypeError, match=r"64\[s\] cannot hold pad_value"):
                call(pad)


@pytest.mark.parametrize("kind", ["M8[s]", ">M8[s]", "m8[s]"])
def test_the_epoch_is_padding_of_padded_batches(kind):
    padded = np.array([[3, 0, 2, 0], [0, 0, 0, 0]], np.int64).astype(kind)
    assert LoDTensor.from_padded(padded, pad_value=0).recursive_sequence_lengths() == [[3, 0]]


def test_sequences_are_padded_with_times_that_the_unit_holds():
    x = LoDTensor(days(kind="M8[ns]"), LENGTHS)
    far = np.array(["2000-01-01", "4000-01-01"], "M8[D]")
    for pad in (far[1], np.timedelta64(1, "D")):
        with pytest.raises(ValueError, match=r"pad_value .* is no value of datetime64\[ns\]"):
            lodkit.sequence_pad(x, pad)
    with pytest.raises(ValueError, match="pad_value 4000-01-01 is no value of"):
        lodkit.sequence_pad(LoDTensor(days(2, kind="M8[ns]"), LENGTHS), far)
    with pytest.raises(ValueError, match="pad_value 1 months is no value of"):
        lodkit.sequence_pad(LoDTensor(days(kind="m8[s]"), LENGTHS), np.timedelta64(1, "M"))
    np.testing.assert_array_equal(lodkit.sequence_pad(x, np.timedelta64("NaT"))[0], x.to_padded(NAT))


def test_errors_name_numpys_times():
    x = LoDTensor(days(), LENGTHS)
    for call in (lambda pad: lodkit.sequence_pool(x, pool="max", pad_value=pad), x.to_padded):
        with pytest.raises(TypeError, match=r"pad_value must be a number.* or a time of NumPy, as np\.datetime64"):
            call(datetime.date(2026, 1, 31))


@pytest.mark.parametrize("unit", [(), ("s",)])
def test_durations_are_no_integers(unit):
    x, two = LoDTensor(np.arange(3.0), [[2, 1]]), np.timedelta64(2, *unit)
    for call in (
        lambda: lodkit.sequence_topk(x, k=two),
        lambda: lodkit.scale(x, scale=two),
        lambda: lodkit.sequence_pool(x, level=two),
        lambda: lodkit.sequence_enumerate(x.astype(np.int64), win_size=2, pad_value=two),
        lambda: x.to_padded(0, two),
    ):
        with pytest.raises((TypeError, ValueError), match=r"must be an? (integer|number).*, got np\.timedelta64\(2"):
            call()


@pytest.mark.parametrize(
    "one", [datetime.date(2026, 1, 31), datetime.datetime(2026, 1, 31), datetime.timedelta(days=1)]
)
def test_objects_of_python_become_times_by_the_call_that_is_told(one):
    ids = [one, one]
    with pytest.raises(DTypeError, match=r"holds Python objects .* or times of NumPy: np.asarray") as told:
        lodkit.unique(ids)
    made = eval(str(told.value).split("NumPy: ")[1], {"np": np, "ids": ids})
    assert lodkit.unique(made).tolist() == made[:1].tolist()
    with pytest.raises(DTypeError, match="or times of NumPy"):
        LoDTensor.from_nested([ids, [one]])


def test_joined_units_hold_all_times():
    far, near = (
        LoDTensor(np.array(times, kind), [[2]])
        for times, kind in ((["300000", "NaT"], "M8[Y]"), (["2020-01-01T01", "NaT"], "M8[ns]"))
    )
    message = r"number 1 has datetime64\[Y\] times that datetime64\[ns\] does not hold.*\.astype\('datetime64\[Y\]'\)"
    with pytest.raises(DTypeError, match=message):
        lodkit.concat([near, far])
    with pytest.raises(DTypeError, match=message):
        LoDTensor.from_sequences([near.values, far.values])
    with pytest.raises(DTypeError, match=r"types datetime64\[Y\], datetime64\[as\] have no type in common"):
        lodkit.concat([near.astype("datetime64[as]"), far])
    joined = lodkit.concat([near.astype("datetime64[Y]"), far])
    np.testing.assert_array_equal(joined.values, np.array(["2020", "NaT", "300000", "NaT"], "M8[Y]"))
    hours = lodkit.concat([near, LoDTensor(np.array(["2021"], "M8[h]"), [[1]])])
    np.testing.assert_array_equal(hours.values, np.array(["2020-01-01T01", "NaT", "2021"], "M8[ns]"))
