"""What is particular to segment_reduce: unsorted ids, gaps, products of zeros, fused gathers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lodkit
from lodkit.ops.shared.reductions import result_dtype

DATA = np.arange(10.0).reshape(5, 2)
EVERY = ("sum", "mean", "sqrt", "max", "min", "prod", "logsumexp", "logmeanexp", "first", "last")


@pytest.mark.parametrize("reduce", EVERY)
@given(ids=st.lists(st.integers(0, 4), max_size=12))
@settings(deadline=None, max_examples=20)
def test_unsorted_ids_give_what_sorted_ones_give(reduce, ids):
    x = np.random.default_rng(len(ids)).normal(size=(len(ids), 3))
    order = np.argsort(ids, kind="stable")
    ids = np.array(ids, np.int64)
    unsorted = lodkit.segment_reduce(x, ids, by="unsorted_ids", reduce=reduce, num_segments=5)
    expected = lodkit.segment_reduce(x[order], ids[order], by="ids", reduce=reduce, num_segments=5)
    np.testing.assert_array_equal(unsorted, expected)


@pytest.mark.parametrize("reduce", EVERY)
@pytest.mark.parametrize("by", ["lengths", "unsorted_ids"])
def test_fused_equals_gather_and_reduce(reduce, by):
    indices = np.array([4, 0, 4, 2, 1, 1])
    segments = np.array([2, 0, 4]) if by == "lengths" else np.array([2, 0, 2, 2, 0, 0])
    fused = lodkit.segment_reduce(DATA, segments, None, indices, by=by, reduce=reduce)
    np.testing.assert_array_equal(fused, lodkit.segment_reduce(DATA[indices], segments, by=by, reduce=reduce))


@pytest.mark.parametrize("reduce", EVERY)
def test_fused_gradients_are_sparse_and_add_up_to_the_dense_one(reduce):
    indices, ids = np.array([4, 0, 4, 2]), np.array([1, 0, 0, 1])
    data, attrs = lodkit.parameter(DATA), {"by": "unsorted_ids", "reduce": reduce}
    with lodkit.Tape() as tape:
        out = lodkit.segment_reduce(data, ids, None, indices, **attrs)
    grad_output = np.arange(1.0, 5).reshape(2, 2)
    sparse = tape.gradient(out, [data], output_gradients=grad_output)[0]
    assert isinstance(sparse, lodkit.SelectedRows) and sparse.height == 5
    with lodkit.Tape() as tape:
        rows = lodkit.gather(data, indices)
        out = lodkit.segment_reduce(rows, ids, **attrs)
    expected = tape.gradient(out, [data], output_gradients=grad_output)[0]
    np.testing.assert_allclose(sparse.to_dense(), expected.to_dense())


def test_a_product_of_zeros_has_a_gradient():
    x = lodkit.parameter([2.0, 0.0, 3.0, 0.0, 0.0, 5.0])
    with lodkit.Tape() as tape:
        out = lodkit.segment_reduce(x, [3, 3], reduce="prod")
    assert tape.gradient(out, [x])[0].tolist() == [0, 6, 0, 0, 0, 0]


def test_products_of_integers_are_wide():
    out = lodkit.segment_reduce(np.full(3, 1 << 20, np.int32), [3], reduce="prod")
    assert out.dtype == np.int64 and out[0] == 1 << 60


@pytest.mark.parametrize(
    ("ids", "options", "message"),
    [
        ([0, -1, 2, 0, 0], {}, r"segment_ids\[1\] = -1 is negative"),
        ([0, 1, 2, 0, 9], {"num_segments": 3}, r"segment_ids\[4\] = 9 is outside \[0, 3\)"),
        ([0, 1, 2, 0, 1], {"num_segments": -1}, "num_segments = -1 is negative"),
        ([0, 1], {}, "segment_ids number 2, but the data has 5 rows"),
        ([[0, 1, 2, 0, 1]], {}, "one-dimensional"),
        ([0.0, 1, 2, 0, 1], {}, "must be integers"),
    ],
)
def test_wrong_unsorted_ids(ids, options, message):
    with pytest.raises(lodkit.LodkitError, match=message):
        lodkit.segment_reduce(DATA, np.array(ids), by="unsorted_ids", **options)


@pytest.mark.parametrize(
    ("indices", "error", "message"),
    [
        ([0, 5], lodkit.RowIndexError, r"indices\[1\] = 5 is outside \[0, 5\)"),
        ([-1, 0], lodkit.RowIndexError, r"indices\[0\] = -1"),
        ([0, 1, 2], lodkit.LoDError, "lengths add up to 2, but the data has 3 rows"),
        ([[0, 1]], lodkit.LoDError, "indices must be one-dimensional"),
    ],
)
def test_wrong_indices(indices, error, message):
    with pytest.raises(error, match=message):
        lodkit.segment_reduce(DATA, [1, 1], None, np.array(indices))


@pytest.mark.parametrize(("ids", "at"), [([1, 1], 0), ([0, 0, 2], 2)])
def test_gaps_are_refused_where_that_is_asked_for(ids, at):
    with pytest.raises(lodkit.SegmentIdError, match=rf"segment_ids\[{at}\] = {ids[at]} .* leaves ids out"):
        lodkit.segment_ids_to_offsets(ids, allow_gaps=False)
    with pytest.raises(lodkit.SegmentIdError, match="leaves ids out"):
        lodkit.caffe2.SortedSegmentSum(np.ones((len(ids), 1)), np.array(ids, np.int32))


def test_a_last_id_of_minus_1_is_an_error():
    """Caffe2 crashes."""
    with pytest.raises(lodkit.SegmentIdError):
        lodkit.caffe2.SortedSegmentSum(np.ones((2, 1)), np.array([0, -1], np.int32))


def test_short_positional_weights_are_an_error():
    """Caffe2 reads past their end."""
    with pytest.raises(lodkit.RowIndexError, match="weights has 2 positions, but a segment is longer"):
        lodkit.caffe2.SparseLengthsPositionalWeightedSum(DATA, np.ones(2), np.array([0, 1, 2]), np.array([3]))


def test_names_of_the_page():
    """Every operator that Caffe2's sparse page prints, and those that its product of names promises."""
    printed = "SortedSegmentSum SortedSegmentWeightedSum SortedSegmentRangeLogSumExp SortedSegmentRangeMean"
    printed += " UnsortedSegmentSum UnsortedSegmentWeightedSum SparseSortedSegmentSum"
    for name in [*printed.split(), "UnsortedSegmentMax", "SparseLengthsMax", "LengthsLogSumExp", "LengthsProd"]:
        assert callable(getattr(lodkit.caffe2, name))
    with pytest.raises(TypeError, match="SparseSortedSegmentWeightedSum: missing a required argument: 'indices'"):
        lodkit.caffe2.SparseSortedSegmentWeightedSum(DATA, np.array([0]))


def test_the_example_of_the_page():
    data = np.array([[1, 4], [3, 2], [8, 1], [9, 4], [5, 8]], np.float32)
    out = lodkit.caffe2.SortedSegmentSum(data, np.array([0, 0, 0, 1, 1], np.int32))
    assert out.tolist() == [[12, 7], [14, 12]]


def test_the_gradient_of_an_unsorted_mean_stays_the_same():
    """Caffe2's shrinks with every run of one operator."""
    data, ids = lodkit.parameter(DATA), np.array([1, 0, 1, 1, 0], np.int32)
    with lodkit.Tape() as tape:
        out = lodkit.caffe2.UnsortedSegmentMean(data, ids)
    first, second = (tape.gradient(out, [data])[0] for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first[:, 0], [1 / 3, 1 / 2, 1 / 3, 1 / 3, 1 / 2])


@pytest.mark.parametrize("columns", [1, 3, 40])
@pytest.mark.parametrize("rows", [100, 5000, 70_000])
def test_the_mean_of_equal_exponentials_is_their_number(rows, columns):
    """To the bit: of a million rows 4e-6 were lost where the logarithm of the rows was subtracted."""
    for number in (1.3, -7.7, 0.0, 100.0):
        x = np.full((rows, columns), number, np.float32)
        found = lodkit.segment_reduce(x, [0, rows], by="offsets", reduce="logmeanexp")
        assert (found == np.float32(number)).all()


@pytest.mark.parametrize("pad_value", [0.0, 5.0])
def test_a_mean_whose_weights_add_up_to_0_is_that_of_an_empty_segment(pad_value):
    """And has no gradient; so say the docstrings of ``weights`` and reductions.md."""
    table, weights = lodkit.parameter(np.arange(6.0).reshape(3, 2)), lodkit.parameter([1.0, -1.0, 2.0])
    bags = lodkit.LoDTensor([0, 1, 2], [[2, 1]])
    calls = {
        lodkit.segment_reduce: ((table, [2, 1], weights), {"reduce": "mean"}),
        lodkit.embedding_bag: ((table, bags, weights), {"pool": "mean", "is_sparse": False}),
    }
    for op, (inputs, attrs) in calls.items():
        with lodkit.Tape() as tape:
            out = op(*inputs, **attrs, pad_value=pad_value)
        assert out.tolist() == op.definition(*op._accept(inputs), **attrs, pad_value=pad_value).tolist()
        assert out.tolist() == [[pad_value] * 2, [4, 5]]
        by_table, by_weights = tape.gradient(out, [table, weights])
        assert by_table.tolist() == [[0, 0], [0, 0], [1, 1]]
        assert by_weights.tolist() == [0, 0, 0]
    packed = lodkit.quantize_rows(table)
    out = lodkit.quantized_embedding_bag(packed, bags, weights, pool="mean", pad_value=pad_value)
    np.testing.assert_allclose(out, [[pad_value] * 2, [4, 5]], rtol=1e-6)
    assert lodkit.reduce_dims(table[:2], weights[:2], reduce="mean").tolist() == [0, 0]


def test_a_reduction_takes_the_type_that_its_values_have():
    """Launchers ask for a type on both devices, where it is that of the values too."""
    assert result_dtype(np.dtype(np.float64), "mean", np.dtype(np.float64)) == np.float64
    assert result_dtype(np.dtype(np.float16), "mean", "float32") == np.float32
    with pytest.raises(lodkit.DTypeError, match="dtype='float32' is for float16 and bfloat16 data, not float64"):
        lodkit.segment_reduce(DATA, [5], dtype="float32")


@pytest.mark.parametrize("dtype", [np.complex64, bool, object, "U1"])
def test_a_gradient_of_no_number_type_is_refused(dtype):
    """Where its shape fits, too: the imaginary part of a complex one would be lost."""
    table, bags = np.ones((4, 2), np.float32), lodkit.LoDTensor([0, 1, 3], [[2, 1]])
    with pytest.raises(lodkit.DTypeError, match="grad"):
        lodkit.embedding_bag_grad(table, bags, np.ones((2, 2)).astype(dtype))
