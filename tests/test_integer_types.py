"""Integers of every type and bool beside NumPy: sums, extremes, order, ids. Values are at the ends of their types."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lodkit
from lodkit import LoDTensor

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
TYPES = (*SIGNED, *UNSIGNED, "bool")
TOTALS = {"i": np.int64, "b": np.int64, "u": np.uint64}


def ends_of(dtype):
    return (False, True) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)


@st.composite
def batches(draw):
    """Sequences of numbers at and between the ends of a type, some empty, in either byte order, strided or not."""
    dtype = np.dtype(draw(st.sampled_from(TYPES)))
    low, high = map(int, ends_of(dtype.name))
    numbers = st.one_of(st.sampled_from((low, high, 0, 1, max(low, high - 1))), st.integers(low, high))
    lengths = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    values = np.array(draw(st.lists(numbers, min_size=sum(lengths), max_size=sum(lengths))), dtype)
    if draw(st.booleans()):
        values = values.astype(dtype.newbyteorder())
    if draw(st.booleans()):
        values = np.repeat(values, 2)[::2]
    return LoDTensor(values, [lengths])


def rows_of(x):
    offsets = x.offsets()
    return [x.values[a:b] for a, b in zip(offsets[:-1], offsets[1:], strict=True)]


def check_rows(got, expected, dtype):
    assert got.dtype == dtype
    assert got.tolist() == [x.item() if isinstance(x, np.generic) else x for x in expected]


@settings(deadline=None, max_examples=60)
@given(batches())
def test_reductions_are_those_of_numpy(x):
    dtype = x.dtype.newbyteorder("=")
    total = TOTALS[dtype.kind]
    rows = [part.astype(dtype) for part in rows_of(x)]
    with np.errstate(over="ignore"):
        for pool, numpys in (("sum", np.sum), ("prod", np.prod)):
            check_rows(
                lodkit.sequence_pool(x, pool=pool), [numpys(r, dtype=total) if len(r) else 0 for r in rows], total
            )
        sums = np.concatenate([np.cumsum(r, dtype=total) for r in rows]).tolist()
    check_rows(lodkit.sequence_cumsum(x).values, sums, total)
    for pool in ("max", "min"):
        expected = [getattr(np, pool)(r) if len(r) else dtype.type(0) for r in rows]
        found, index = lodkit.sequence_pool(x, pool=pool, return_index=True)
        check_rows(found, expected, dtype)
        check_rows(lodkit.sequence_pool(x, pool=pool), expected, dtype)
        starts = x.offsets()
        places = [s + int(getattr(np, f"arg{pool}")(r)) if len(r) else -1 for s, r in zip(starts, rows, strict=False)]
        assert index.tolist() == places
    for pool, at in (("first", 0), ("last", -1)):
        check_rows(lodkit.sequence_pool(x, pool=pool), [r[at] if len(r) else dtype.type(0) for r in rows], dtype)
    means = lodkit.sequence_pool(x, pool="mean", dtype="float64")
    largest = max((abs(float(n)) for n in x.values.tolist()), default=0)
    np.testing.assert_allclose(means, [np.mean(r) if len(r) else 0 for r in rows], rtol=1e-15, atol=1e-15 * largest)


@settings(deadline=None, max_examples=40)
@given(batches())
def test_order_is_that_of_numpy(x):
    dtype = x.dtype.newbyteorder("=")
    rows = [part.astype(dtype) for part in rows_of(x)]
    best, _ = lodkit.sequence_topk(x, k=2)
    check_rows(best.values, np.concatenate([np.sort(r)[::-1][:2] for r in rows]).tolist(), dtype)
    for descending in (False, True):
        made = lodkit.sequence_sort(x, x.values, level=-1, descending=descending)
        check_rows(made.values, np.concatenate([np.sort(r)[:: -1 if descending else 1] for r in rows]).tolist(), dtype)
    distinct, inverse, counts = lodkit.unique(x.values, return_inverse=True, return_counts=True)
    expected = np.unique(x.values.astype(dtype), return_inverse=True, return_counts=True)
    check_rows(distinct, expected[0].tolist(), dtype)
    assert (inverse.tolist(), counts.tolist()) == (expected[1].tolist(), expected[2].tolist())
    repeated = [i for i, number in enumerate(x.values.tolist()) if number in x.values.tolist()[:i]]
    assert lodkit.find_duplicate_elements(x.values).tolist() == repeated


@settings(deadline=None, max_examples=40)
@given(batches(), st.lists(st.integers(-2, 3), max_size=3))
def test_tokens_are_compared_as_integers(x, tokens):
    dtype = x.dtype.newbyteorder("=")
    kept = lodkit.sequence_erase(x, tokens=tokens)
    check_rows(kept.values, [n for n in x.values.tolist() if n not in tokens], dtype)
    found = [any(n in tokens for n in r.tolist()) for r in rows_of(x)]
    assert lodkit.sequence_contains(x, tokens=tokens).tolist() == found
    windows = lodkit.sequence_enumerate(x, win_size=2, pad_value=1)
    assert windows.dtype == dtype
    assert windows.values[:, 0].tolist() == x.values.tolist()


@pytest.mark.parametrize("dtype", TYPES)
def test_a_mean_of_integers_names_what_makes_it(dtype):
    x = LoDTensor(np.ones(3, dtype), [[2, 1]])
    for pool in ("mean", "sqrt", "logsumexp"):
        with pytest.raises(lodkit.DTypeError, match=f"{pool} of {dtype} values is no integer; pass dtype='float64'"):
            lodkit.sequence_pool(x, pool=pool)
        with pytest.raises(lodkit.DTypeError, match="is no integer"):
            lodkit.sequence_pool(x, pool=pool, dtype="float32")
        assert lodkit.sequence_pool(x, pool=pool, dtype="float64").dtype == np.float64
    table, bags = np.arange(8).reshape(4, 2).astype(dtype), LoDTensor([3, 3, 1], [[2, 0, 1]])
    expected = [table[3].astype(float), [0, 0], table[1].astype(float)]
    assert lodkit.embedding_bag(table, bags, pool="mean", dtype="float64").tolist() == np.array(expected).tolist()
    assert lodkit.segment_reduce(table, [1, 3], reduce="mean", dtype="float64").dtype == np.float64
    for by, segments in (("ids", [0, 0, 1, 1]), ("unsorted_ids", [1, 0, 0, 1])):
        means = lodkit.segment_reduce(table[:, 1], segments, by=by, reduce="mean", dtype="float64")
        rows = [table[:, 1].astype(float)[np.array(segments) == s].mean() for s in (0, 1)]
        assert means.tolist() == rows


def test_a_large_table_is_not_converted_for_a_few_bags():
    table = np.broadcast_to(np.uint8(3), (1 << 36, 1))  # 64 GiB
    assert lodkit.embedding_bag(table, LoDTensor([7, 1 << 35], [[2]])).tolist() == [[6]]


@pytest.mark.parametrize("dtype", [*SIGNED, *UNSIGNED])
@pytest.mark.parametrize("order", ["=", "S"])
def test_ids_of_every_integer_type(dtype, order):
    ids, table = np.array([2, 0, 2], np.dtype(dtype).newbyteorder(order)), np.arange(6.0).reshape(3, 2)
    bags = LoDTensor(ids, [[2, 1]])
    np.testing.assert_array_equal(lodkit.lookup_table(table, ids), table[[2, 0, 2]])
    np.testing.assert_array_equal(lodkit.gather(table, ids), table[[2, 0, 2]])
    np.testing.assert_array_equal(lodkit.embedding_bag(table, bags), [table[2] + table[0], table[2]])
    assert lodkit.partition(ids, num_outputs=2)[0].tolist() == [2, 0, 2]
    assert lodkit.one_hot(ids, size=3).argmax(axis=1).tolist() == [2, 0, 2]
    assert lodkit.SelectedRows(ids, table, 3).rows.tolist() == [2, 0, 2]


@pytest.mark.parametrize("place", ["cpu", "cuda"], indirect=True)
def test_ids_that_int64_does_not_hold_are_refused_by_value(place):
    table, ids = place.to(np.ones((3, 2))), np.array([1, 2**63], np.uint64)
    with pytest.raises(lodkit.RowIndexError, match=r"ids\[1\] = 9223372036854775808 is above 2\^63 - 1"):
        lodkit.lookup_table(table, place.to(ids))
    with pytest.raises(lodkit.RowIndexError, match=r"ids\[1, 0\] = 18446744073709551615"):
        lodkit.gather(table, place.to(np.array([[1, 2], [2**64 - 1, 0]], np.uint64)))
    with pytest.raises(lodkit.RowIndexError, match=r"\[1\] = 9223372036854775808 is above"):
        lodkit.embedding_bag(table, place.to(LoDTensor(ids, [[2]])))
    with pytest.raises(lodkit.DTypeError, match=r"must be integers, not bool; .* np\.flatnonzero"):
        lodkit.lookup_table(table, place.to(np.array([True, False])))


@pytest.mark.parametrize(
    ("dtype", "pad"), [("uint8", -1), ("uint8", 256), ("bool", 2), ("uint64", 2.0**64), ("int8", 0.5)]
)
def test_padding_that_is_no_value_of_the_type_is_refused(dtype, pad):
    x = LoDTensor(np.ones(3, dtype), [[2, 0, 1]])
    for call in (
        lambda: lodkit.sequence_pool(x, pool="max", pad_value=pad),
        lambda: lodkit.sequence_pad(x, pad),
        lambda: lodkit.pack_segments(x.values, [2, 1], pad_value=pad),
    ):
        with pytest.raises(ValueError, match=rf"pad_value {re.escape(str(pad))} is no value of {dtype}"):
            call()


@pytest.mark.parametrize("dtype", TYPES)
def test_padding_at_the_ends_of_a_type(dtype):
    x = LoDTensor(np.ones((3, 2), dtype), [[2, 0, 1]])
    for pad in map(int, ends_of(dtype)):
        for pool in ("max", "last") if pad < 1 << 63 else ():  # attributes are floats, and integers of 64 bits
            out = lodkit.sequence_pool(x, pool=pool, pad_value=pad)
            assert (out.dtype, out[1].tolist()) == (x.dtype, [pad, pad])
        padded, _ = lodkit.sequence_pad(x, np.array(pad, dtype))
        assert (padded.dtype, padded[1, 0].tolist(), padded[2, 1].tolist()) == (x.dtype, [pad, pad], [pad, pad])


def test_flags_of_other_bytes_than_0_and_1_count_once():
    flags = np.array([2, 0, 255, 1], np.uint8).view(bool)
    x = LoDTensor(flags, [[3, 1]])
    assert lodkit.sequence_pool(x, pool="sum").tolist() == [2, 1]
    assert lodkit.sequence_cumsum(x).values.tolist() == [1, 1, 2, 1]
    assert lodkit.sequence_pool(x, pool="mean", dtype="float64").tolist() == [2 / 3, 1]
    assert lodkit.unique(flags).tolist() == [False, True]


@pytest.mark.parametrize("dtype", ["M8[ns]", "m8[D]", ">M8[s]"])
def test_times_move_as_themselves(dtype):
    values = np.array([5, -3, 2**61, 7], np.int64).astype(np.dtype(dtype).newbyteorder("=")).astype(dtype)
    values[1] = "NaT"
    x = LoDTensor(values, [[3, 0, 1]])
    dtype = x.dtype.newbyteorder("=")
    for got, expected in (
        (lodkit.sequence_reverse(x).values, values[[2, 1, 0, 3]]),
        (lodkit.sequence_concat(x, x).values, values[[0, 1, 2, 0, 1, 2, 3, 3]]),
        (lodkit.lookup_table(values, [3, 1, 3]), values[[3, 1, 3]]),
        (lodkit.sequence_slice(x, [1, 0, 0], [1, 0, 1], by="lengths").values, values[[1, 3]]),
        (lodkit.sequence_expand(values[:3], x), values[[0, 0, 0, 2]]),
        (lodkit.sequence_sort(x, [3, 2, 1, 0], level=-1).values, values[[2, 1, 0, 3]]),
    ):
        assert got.dtype == dtype
        np.testing.assert_array_equal(got.view(np.int64), expected.astype(dtype).view(np.int64))
    padded, lengths = lodkit.sequence_pad(x, np.array("NaT", dtype))
    assert np.isnat(padded[1]).all() and np.isnat(padded[2, 1:]).all()
    back = lodkit.sequence_unpad(padded, lengths)
    np.testing.assert_array_equal(back.values.view(np.int64), values.astype(dtype).view(np.int64))
    with pytest.raises(lodkit.DTypeError, match="sum takes floats of at most 64 bits, integers or bool, not "):
        lodkit.sequence_pool(x, pool="sum")
    assert lodkit.concat_columns(values[:2], values[2:]).dtype == dtype


@pytest.mark.parametrize("dtype", TYPES)
def test_nested_and_empty_batches(dtype):
    values = np.arange(12).reshape(6, 2).astype(dtype)
    x = LoDTensor(values, [[2, 1], [3, 1, 2]])
    for level, rows in ((-1, [[0, 1, 2], [3], [4, 5]]), (0, [[0, 1, 2, 3], [4, 5]])):
        out = lodkit.sequence_pool(x, pool="max", level=level)
        got = out.values if isinstance(out, LoDTensor) else out
        np.testing.assert_array_equal(got, [values[r].max(axis=0) for r in rows])
    np.testing.assert_array_equal(lodkit.sequence_reverse(x, level=0).values, values[[3, 0, 1, 2, 4, 5]])
    for empty in (x[:0], LoDTensor(np.empty((0, 2), dtype), [[0, 0]])):
        assert lodkit.sequence_pool(empty, pool="max").dtype == values.dtype
        assert lodkit.sequence_pool(empty).dtype == TOTALS[values.dtype.kind]
        assert lodkit.sequence_reverse(empty).values.dtype == values.dtype


WIDEST = LoDTensor(np.array([2**63 + 1, 7], np.uint64), [[2, 0]])


@pytest.mark.parametrize("pad", [2**63 + 1, 2**64 - 1, np.uint64(2**64 - 1), 2**63 - 1, 3.0])
def test_padding_of_uint64_is_exact(pad):
    expected = [2**63 + 1, int(pad)]
    assert lodkit.sequence_pool(WIDEST, pool="max", pad_value=pad).tolist() == expected
    assert lodkit.segment_reduce(WIDEST.values, [2, 0], reduce="max", pad_value=pad).tolist() == expected
    assert lodkit.lengths_pad(WIDEST.values[:1], [1, 0], max_length=1, pad_value=pad).ravel().tolist() == expected
    bags = LoDTensor(np.zeros(1, np.int64), [[1, 0]])
    made = lodkit.embedding_bag(WIDEST.values.reshape(2, 1), bags, pool="max", pad_value=pad)
    assert made.ravel().tolist() == expected


@pytest.mark.parametrize("pad", [2**64, -1, 0.5])
def test_padding_that_uint64_has_not_raises(pad):
    with pytest.raises(ValueError, match="is no value of uint64"):
        lodkit.sequence_pool(WIDEST, pool="max", pad_value=pad)
