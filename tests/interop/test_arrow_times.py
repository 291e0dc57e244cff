"""Dates, timestamps and durations of Arrow are datetime64 and timedelta64; times of day are no numbers."""

from __future__ import annotations

import re

import numpy as np
import pytest

import lodkit
from lodkit import DTypeError, LoDError, LoDTensor

pa = pytest.importorskip("pyarrow")
DAY = 86_400_000
KINDS = {
    "datetime64[D]": pa.date32(),
    **{f"datetime64[{unit}]": pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")},
    **{f"timedelta64[{unit}]": pa.duration(unit) for unit in ("s", "ms", "us", "ns")},
}


@pytest.mark.parametrize("kind", [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")], ids=str)
def test_times_of_day_are_read_after_the_cast_that_is_told(kind):
    array = pa.array([[0, 7], []], pa.list_(kind))
    with pytest.raises(DTypeError, match=r"not times of day; cast to int\d+ first") as told:
        LoDTensor.from_arrow(array)
    target = re.search(r"cast to (\w+) first", str(told.value))[1]
    assert LoDTensor.from_arrow(array.cast(pa.list_(pa.type_for_alias(target)))).to_list() == [[0, 7], []]


@pytest.mark.parametrize(("name", "kind"), KINDS.items())
@pytest.mark.parametrize("missing", [None, "NaT"])
def test_there_and_back(name, kind, missing):
    t = LoDTensor(np.array([3, 1, missing or 5, -7], name), [[2, 0, 1, 1]])
    array = pa.array(t)
    array.validate(full=True)
    assert array.type == pa.large_list(kind)
    assert array.values.null_count == (missing is not None)
    assert array.values.equals(pa.array(t.values))
    for given in (array, pa.chunked_array([array[:2], array[2:]]), pa.array(array.to_pylist(), pa.list_(kind))):
        back = LoDTensor.from_arrow(given)
        assert back.dtype == name
        assert back.recursive_sequence_lengths() == t.recursive_sequence_lengths()
        np.testing.assert_array_equal(back.values, t.values)
    if missing is None and kind != pa.date32():
        assert np.shares_memory(LoDTensor.from_arrow(array).values, t.values)


@pytest.mark.parametrize(
    ("kind", "name"),
    [(pa.date64(), "datetime64[ms]"), (pa.timestamp("us", "UTC"), "datetime64[us]")]
    + [(pa.timestamp("s", "Europe/Berlin"), "datetime64[s]"), (pa.dictionary(pa.int8(), pa.timestamp("ms")), "M8[ms]")],
    ids=str,
)
def test_dates_in_milliseconds_time_zones_and_dictionaries(kind, name):
    array = pa.array([DAY, 3 * DAY], pa.int64()).cast(getattr(kind, "value_type", kind))
    array = array.dictionary_encode() if pa.types.is_dictionary(kind) else array
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 1, 2], pa.int32()), array)
    t = LoDTensor.from_arrow(lists)
    assert t.recursive_sequence_lengths() == [[1, 0, 1]]
    np.testing.assert_array_equal(t.values, np.array([DAY, 3 * DAY], name))


def test_items_hold_times_and_hidden_ones_are_dropped():
    items = pa.array([[[1, None], [3, 4]], [], None], pa.list_(pa.list_(pa.timestamp("s"), 2)))
    t = LoDTensor.from_arrow(items, nulls="empty")
    assert (t.shape, t.recursive_sequence_lengths()) == ((2, 2), [[2, 0, 0]])
    np.testing.assert_array_equal(t.values, np.array([[1, "NaT"], [3, 4]], "M8[s]"))
    assert pa.array(t).equals(pa.array(t.to_arrow().to_pylist(), pa.large_list(pa.list_(pa.timestamp("s"), 2))))


def test_a_unit_or_a_zone_that_is_asked_for():
    t = LoDTensor(np.array([1, 2], "M8[s]"), [[2]])
    assert pa.array(t, type=pa.list_(pa.timestamp("ms"))).to_pylist() == pa.array(t).to_pylist()
    zoned = pa.list_(pa.timestamp("s", "UTC"))
    assert pa.array(t, type=zoned).type == zoned
    days = LoDTensor(np.array(["2026-01-31", "NaT"], "M8[D]"), [[2]])
    date64 = pa.list_(pa.date64())
    assert pa.array(days, type=date64).type == date64
    assert pa.array(days, type=date64).to_pylist() == pa.array(days).to_pylist()
    hours = days.with_values(np.array(["2026-01-31T05", "NaT"], "M8[ms]"))
    schema, array = hours.__arrow_c_array__(date64.__arrow_c_schema__())
    assert pa.Array._import_from_c_capsule(schema, array).type.value_type == pa.timestamp("ms")
    far = LoDTensor(np.array(["9999-01-01"], "M8[s]"), [[1]])
    schema, array = far.__arrow_c_array__(pa.list_(pa.timestamp("ns")).__arrow_c_schema__())
    assert pa.Array._import_from_c_capsule(schema, array).type.value_type == pa.timestamp("s")


@pytest.mark.parametrize("name", ["datetime64[h]", "datetime64[10s]", "timedelta64[D]", "datetime64[Y]"])
def test_units_that_arrow_has_not_are_converted_as_told(name):
    t = LoDTensor(np.array([1, 2, "NaT"], name), [[3]])
    with pytest.raises(
        DTypeError, match=r"Arrow has no times of type .*; convert with \.astype\('(\w+\[s\])'\)"
    ) as told:
        t.to_arrow()
    target = re.search(r"astype\('(.*?)'\)", str(told.value))[1]
    seconds = t.with_values(t.values.astype(target))
    np.testing.assert_array_equal(LoDTensor.from_arrow(seconds.to_arrow()).values, t.values)


def test_days_beyond_32_bits_are_refused():
    t = LoDTensor(np.array(["NaT", "9999999-01-01"], "M8[D]"), [[2]])
    with pytest.raises(LoDError, match=r"the date 9999999-01-01 at 1 is 3651705107 days from 1970"):
        t.to_arrow()
    assert LoDTensor.from_arrow(t.with_values(t.values.astype("M8[s]")).to_arrow()).dtype == "M8[s]"


@pytest.mark.parametrize(("name", "kind"), KINDS.items())
def test_operators_between_arrow_and_arrow(name, kind):
    """What awkward and NumPy give for the same lists."""
    given = pa.array([[30, 10, None], [], [20, 40]], pa.list_(kind))
    t = LoDTensor.from_arrow(given)
    lists = [np.array(x, name) for x in ([30, 10, "NaT"], [], [20, 40])]
    assert pa.array(lodkit.sequence_reverse(t)).to_pylist() == [x[::-1] for x in given.to_pylist()]
    order = lodkit.sequence_sort(t, t, level=-1)
    np.testing.assert_array_equal(order.values, np.concatenate([np.sort(x) for x in lists]))
    missing = np.array("NaT", name)
    for pool, f in {"max": np.max, "min": np.min, "first": lambda x: x[0], "last": lambda x: x[-1]}.items():
        expected = np.array([f(x) if len(x) else missing for x in lists])
        np.testing.assert_array_equal(lodkit.sequence_pool(t, pool=pool, pad_value=missing[()]), expected)
    padded = lodkit.LoDTensor.to_padded(t, missing[()])
    np.testing.assert_array_equal(padded[1], np.repeat(missing, 3))


@pytest.mark.parametrize("kind", [pa.timestamp("s"), pa.date32(), pa.duration("ns")], ids=str)
def test_nulls_in_dictionaries_of_times_are_nat(kind):
    numbers = pa.array([5, 2, 5], pa.int32() if kind == pa.date32() else pa.int64())
    words = pa.concat_arrays([numbers.cast(kind), pa.nulls(1, kind)])
    ids = pa.array([2, None, 3, 1, 0], pa.int8())
    array = pa.ListArray.from_arrays(pa.array([0, 2, 5], pa.int32()), pa.DictionaryArray.from_arrays(ids, words))
    plain = pa.array([[5, None], [None, 2, 5]], pa.list_(pa.int64()))
    plain = pa.ListArray.from_arrays(plain.offsets, plain.values.cast(numbers.type).cast(kind))
    found, expected = LoDTensor.from_arrow(array), LoDTensor.from_arrow(plain)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.values, expected.values)
    missing = LoDTensor.from_arrow(pa.DictionaryArray.from_arrays(pa.nulls(2, pa.int8()), words[:0])).values
    assert np.isnat(missing).tolist() == [True, True]


@pytest.mark.parametrize("kind", [pa.timestamp("s"), pa.int64(), pa.uint8(), pa.float32()], ids=str)
def test_dictionaries_without_words_have_the_type_of_their_words(kind):
    empty = pa.array([], kind).dictionary_encode()
    assert LoDTensor.from_arrow(empty).dtype == LoDTensor.from_arrow(pa.array([], kind)).dtype
    some = pa.array([7], pa.int64()).cast(kind).dictionary_encode()
    chunks = pa.chunked_array([empty, some])
    assert LoDTensor.from_arrow(chunks).dtype == LoDTensor.from_arrow(some).dtype


@pytest.mark.parametrize(
    ("kind", "name"), [(pa.date32(), "dates"), (pa.timestamp("s"), "timestamps"), (pa.duration("s"), "durations")]
)
def test_features_name_times(kind, name):
    values = pa.array([1], pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)
    maps = pa.MapArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array([1]), values)
    with pytest.raises(DTypeError, match=f"the values must be numbers, not {name}"):
        lodkit.Features.from_arrow(maps)


@pytest.mark.parametrize(
    "name", [f"{kind}64[{unit}]" for kind in ("datetime", "timedelta") for unit in ("ps", "fs", "as")]
)
def test_times_finer_than_arrows_are_written_after_the_cast_that_is_told(name):
    t = LoDTensor(np.array([3 * 10**9, 10**9 - 1]).astype(name), [[2]])
    with pytest.raises(DTypeError, match=r"convert with .*\[ns\]'\), which drops what is finer") as told:
        pa.array(t)
    told = re.search(r"astype\('(.*)'\)", str(told.value))[1]
    np.testing.assert_array_equal(LoDTensor.from_arrow(pa.array(t.astype(told))).values, t.values.astype(told))
