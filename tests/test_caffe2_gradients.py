"""Gradients that Caffe2 publishes by name equal those of the tape."""

from __future__ import annotations

import numpy as np
import pytest
from differences import parameters

import lodkit
from lodkit import SelectedRows, caffe2

rng = np.random.default_rng(0)
DATA, GRADS, WEIGHTS = rng.normal(size=(6, 2)), rng.normal(size=(3, 2)), rng.normal(size=6)
INDICES = np.array([4, 0, 4, 5, 1, 2])
SEGMENTS = {
    "Lengths": np.array([2, 0, 4]),
    "SortedSegment": np.array([0, 0, 1, 2, 2, 2]),
    "UnsortedSegment": np.array([2, 0, 1, 2, 0, 2]),
    "SortedSegmentRange": np.array([0, 0, 1, 2, 2, 2]),
}


def by_tape(name, *inputs, wanted=(0,)):
    """Gradients of an operator; for gathered data those of the rows that were gathered, in their order."""
    inputs = parameters(inputs)
    with lodkit.Tape() as tape:
        out = getattr(caffe2, name)(*inputs)
    found = tape.gradient(out, [inputs[i] for i in wanted], output_gradients=GRADS)
    return out, [g.value if isinstance(g, SelectedRows) else g for g in found]


@pytest.mark.parametrize("sparse", ["", "Sparse"])
@pytest.mark.parametrize("name", ["Lengths", "SortedSegment", "UnsortedSegment"])
@pytest.mark.parametrize("reduction", ["Sum", "Mean", "WeightedSum"])
def test_without_the_data(sparse, name, reduction):
    segments, more = SEGMENTS[name], (INDICES,) if sparse else ()
    weights = (WEIGHTS,) if reduction == "WeightedSum" else ()
    _, (expected,) = by_tape(f"{sparse}{name}{reduction}", DATA, *weights, *more, segments)
    found = getattr(caffe2, f"{sparse}{name}{reduction}Gradient")(*weights, GRADS, segments)
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("reduction", ["Sum", "Mean", "Max", "LogSumExp", "LogMeanExp"])
def test_ranges(reduction):
    ids = SEGMENTS["SortedSegmentRange"]
    out, (expected,) = by_tape(f"SortedSegmentRange{reduction}", DATA, ids)
    found = getattr(caffe2, f"SortedSegmentRange{reduction}Gradient")(DATA, out, GRADS, ids)
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("indices", [(), (INDICES,)])
def test_with_the_data(indices):
    lengths, sparse = SEGMENTS["Lengths"], "Sparse" if indices else ""
    _, expected = by_tape(f"{sparse}LengthsWeightedSum", DATA, WEIGHTS, *indices, lengths, wanted=(0, 1))
    name = f"{sparse}LengthsWeightedSumWithMainInputGradient"
    for found, want in zip(getattr(caffe2, name)(WEIGHTS, GRADS, lengths, DATA, *indices), expected, strict=True):
        np.testing.assert_allclose(found, want)
    if not indices:
        out, (expected,) = by_tape("LengthsMax", DATA, lengths)
        found = caffe2.LengthsMaxWithMainInputAndForwardOutputGradient(out, GRADS, lengths, DATA)
        np.testing.assert_allclose(found, expected)


def test_indices_that_a_gradient_does_not_need():
    lengths = SEGMENTS["Lengths"]
    found = caffe2.SparseLengthsIndicesInGradientMeanGradient(GRADS, lengths, INDICES)
    np.testing.assert_array_equal(found, caffe2.LengthsMeanGradient(GRADS, lengths))


def test_quantized_tables_of_any_rank():
    table = rng.normal(size=(2, 3, 4)).astype(np.float32)
    packed = caffe2.FloatToFused8BitRowwiseQuantized(table)
    assert packed.shape == (2, 3, 12)
    np.testing.assert_array_equal(packed[1], caffe2.FloatToFused8BitRowwiseQuantized(table[1]))
    assert caffe2.Fused8BitRowwiseQuantizedToFloat(packed).shape == table.shape
    rows = caffe2.GatherFused8BitRowwise(packed[0], np.array([2, 0]))
    np.testing.assert_array_equal(rows, caffe2.Fused8BitRowwiseQuantizedToFloat(packed[0])[[2, 0]])


def test_inputs_before_arguments_and_counters_of_a_column():
    assert caffe2.LengthsSplit(np.array([5]), np.array([3]), n_split=2).tolist() == [2, 2, 1]
    steps, counter = np.zeros((3, 1), np.int64), np.zeros((3, 1), np.float32)
    out = caffe2.RowWiseCounter(steps, counter, np.array([1]), np.array([4]), counter_halflife=1)
    assert out[0] is steps
    assert steps.ravel().tolist() == [0, 4, 0]
    assert counter.ravel().tolist() == [0, 1, 0]


@pytest.mark.parametrize("bits", [4, 2])
def test_the_greedy_search_loses_less(bits):
    table = np.random.default_rng(0).normal(size=(50, 32)).astype(np.float32)  # by others 2 bits gain 4 to 8 %
    pack = getattr(caffe2, f"FloatToFused{bits}BitRowwiseQuantized")
    unpack = getattr(caffe2, f"Fused{bits}BitRowwiseQuantizedToFloat")
    plain, greedy = (
        np.square(unpack(rows) - table).sum(axis=1) for rows in (pack(table), pack(table, engine="GREEDY"))
    )
    assert (greedy <= plain * (1 + 1e-6)).all()
    assert greedy.sum() < 0.95 * plain.sum()
    with pytest.raises(ValueError, match="engine"):
        pack(table, engine="OTHER")


@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize("match_outer", [0, 1])
def test_of_a_batch_gather(axis, match_outer):
    data, indices = lodkit.parameter(rng.normal(size=(2, 3, 3))), np.array([[2, 0, 2], [1, 1, 0]])
    indices = np.broadcast_to(indices[:, None] if axis == 2 else indices, (2, 3, 3)[:axis] + (3,))
    indices = indices if match_outer else indices[(0,) * axis]
    with lodkit.Tape() as tape:
        out = caffe2.Gather(data, indices, axis=axis, match_outer=match_outer)
    grad = rng.normal(size=out.shape)
    found = caffe2.BatchGatherGradient(data, indices, grad, axis=axis, match_outer=match_outer)
    np.testing.assert_allclose(found, tape.gradient(out, [data], grad)[0])
    if axis == 1:
        found = caffe2.BatchGatherGradient(data, indices, grad, match_outer=match_outer)
        np.testing.assert_allclose(found, tape.gradient(out, [data], grad)[0])


@pytest.mark.parametrize("lengths", [(), (np.array([2, 0, 4], np.int32),)])
@pytest.mark.parametrize("item", [(), (2,)])
def test_of_a_sparse_to_dense_mask(lengths, item):
    """Of equal ids the last one wins, and alone gets the gradient."""
    values, ids, default = lodkit.parameter(rng.normal(size=(6, *item))), np.array([7, 9, 7, 4, 7, 5]), np.zeros(item)
    with lodkit.Tape() as tape:
        out = caffe2.SparseToDenseMask(ids, values, default, *lengths, mask=[4, 7, 8])
    grad = rng.normal(size=out.shape)
    (expected,) = tape.gradient(out, [values], grad)
    found = caffe2.SparseToDenseMaskGradient(ids, grad, *lengths, mask=[4, 7, 8])
    np.testing.assert_allclose(found, expected)
    assert not found[2].any() and found[4].any()
    none = caffe2.SparseToDenseMaskGradient(
        ids[:0], grad[:0] if lengths else grad, *(x[:0] for x in lengths), mask=[4, 7, 8]
    )
    assert none.shape == (0, *item)
