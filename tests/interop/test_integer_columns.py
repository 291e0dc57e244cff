"""Columns of every integer type and bool, from Arrow through operators and out again, as awkward and polars do it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor

pa = pytest.importorskip("pyarrow")
ak = pytest.importorskip("awkward")
pl = pytest.importorskip("polars")

TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")
#: Every one has some of the lowest and the largest number of the type.
LENGTHS = [3, 0, 1, 4]


def lists_of(dtype):
    if dtype == "bool":
        numbers = [True, False, True, False, True, True, False, True]
    else:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        numbers = [high, 1, low, 7, low, high - 1, high, 2]
    ends = np.cumsum([0, *LENGTHS]).tolist()
    return [numbers[a:b] for a, b in zip(ends[:-1], ends[1:], strict=True)]


@pytest.fixture(params=TYPES)
def column(request):
    """The type, and a column of lists in Arrow."""
    dtype = request.param
    return dtype, pa.array(lists_of(dtype), pa.list_(pa.bool_() if dtype == "bool" else getattr(pa, dtype)()))


def awkward_of(arrow):
    """The same column without the marks of missing values that Arrow's may have, with which awkward sorts none."""
    numbers = arrow.flatten().to_numpy(zero_copy_only=False)
    return ak.unflatten(numbers, LENGTHS)


def to_arrow(result):
    """A result as Arrow has it: sequences as lists, rows as numbers."""
    if isinstance(result, LoDTensor):
        return pa.array(result.to_arrow())
    return pa.array(result)


def test_what_moves_comes_out_as_awkward_and_polars_give_it(column):
    dtype, arrow = column
    x, lists, series = LoDTensor.from_arrow(arrow), awkward_of(arrow), pl.Series(arrow)
    assert x.dtype == dtype
    for result, awkward, polars in (
        (x, lists, series),
        (lodkit.sequence_reverse(x), lists[:, ::-1], series.list.reverse()),
        (lodkit.sequence_slice(x, 1, 3, clip=True), lists[:, 1:3], series.list.slice(1, 2)),
        (lodkit.sequence_sort(x, x.values, level=-1), ak.sort(lists, axis=1), series.list.sort()),
        (
            lodkit.sequence_sort(x, x.values, level=-1, descending=True),
            ak.sort(lists, axis=1, ascending=False),
            series.list.sort(descending=True),
        ),
        (lodkit.sequence_concat(x, x), ak.concatenate([lists, lists], axis=1), series.list.concat(series)),
    ):
        out = to_arrow(result)
        assert out.type.value_type == arrow.type.value_type
        assert out.to_pylist() == ak.to_list(awkward) == polars.to_list()
        assert polars.to_arrow().type.value_type == arrow.type.value_type


def test_padded_columns_come_out_as_awkward_gives_them(column):
    dtype, arrow = column
    padded, lengths = lodkit.sequence_pad(LoDTensor.from_arrow(arrow), max_length=4)
    expected = ak.to_numpy(ak.fill_none(ak.pad_none(awkward_of(arrow), 4, clip=True), np.zeros(1, dtype)[0]))
    assert (padded.dtype, expected.dtype) == (dtype, dtype)
    np.testing.assert_array_equal(padded, expected)
    assert to_arrow(lodkit.sequence_unpad(padded, lengths)).equals(to_arrow(LoDTensor.from_arrow(arrow)))


def test_extremes_and_ends_are_those_of_awkward_and_polars(column):
    _, arrow = column
    x, lists, series = LoDTensor.from_arrow(arrow), awkward_of(arrow), pl.Series(arrow)
    some = [s for s, length in enumerate(LENGTHS) if length]
    for pool, awkward, polars in (
        ("first", ak.firsts(lists), series.list.first()),
        ("last", ak.firsts(lists[:, ::-1]), series.list.last()),
        ("max", ak.max(lists, axis=1), series.list.max()),
        ("min", ak.min(lists, axis=1), series.list.min()),
    ):
        out = to_arrow(lodkit.sequence_pool(x, pool=pool))
        assert out.type == arrow.type.value_type == polars.to_arrow().type
        assert out.take(some).to_pylist() == ak.to_list(awkward[some]) == polars[some].to_list()


#: What Polars adds small integers and flags up in; others in their own type, where awkward has 64 bits.
POLARS = {"int8": "int64", "int16": "int64", "uint8": "int64", "uint16": "int64", "bool": "uint32"}
SOME = [0, 2, 3]  # sequences that are not empty


def test_sums_are_those_of_awkward_and_polars(column):
    """In int64, of unsigned ones in uint64, as NumPy and awkward have it; Polars' are of types of its own."""
    dtype, arrow = column
    x, lists, series = LoDTensor.from_arrow(arrow), awkward_of(arrow), pl.Series(arrow)
    wide = "uint64" if dtype.startswith("u") else "int64"
    for pool, function in (("sum", ak.sum), ("prod", ak.prod)):
        out, expected = lodkit.sequence_pool(x, pool=pool), ak.to_numpy(function(lists, axis=1))
        assert (out.dtype, expected.dtype) == (wide, wide)
        np.testing.assert_array_equal(out[SOME], expected[SOME])
    out, theirs = lodkit.sequence_pool(x), series.list.sum().to_numpy()
    assert theirs.dtype == POLARS.get(dtype, dtype)
    # Sums of 32 bits wrap in Polars, those of 64 bits everywhere.
    assert out.astype(theirs.dtype)[SOME].tolist() == theirs[SOME].tolist()
    exact = [sum(map(int, part)) for part in lists_of(dtype)]
    bits = 64 if dtype in ("int64", "uint64") else None
    assert [n % 2**bits if bits else n for n in map(int, out)] == [n % 2**bits if bits else n for n in exact]


def test_means_are_exact_fractions_rounded(column):
    """Numbers of 64 bits are rounded first: the largest one by 1, so that a mean of three is off by a third."""
    dtype, arrow = column
    x, lists, series = LoDTensor.from_arrow(arrow), awkward_of(arrow), pl.Series(arrow)
    means = lodkit.sequence_pool(x, pool="mean", dtype="float64")[SOME]
    exact = [float(Fraction(sum(map(int, part)), len(part))) for part in lists_of(dtype) if part]
    off = 0.4 if dtype in ("int64", "uint64") else 0.0
    for expected in (exact, ak.to_numpy(ak.mean(lists, axis=1))[SOME], series.list.mean()[SOME].to_numpy()):
        np.testing.assert_allclose(means, expected, rtol=4e-16, atol=off)


def test_counts_of_flags(column):
    dtype, arrow = column
    if dtype == "bool":
        counts = lodkit.sequence_pool(LoDTensor.from_arrow(arrow))
        assert counts.tolist() == pl.Series(arrow).list.sum().to_list() == [2, 0, 0, 3]
