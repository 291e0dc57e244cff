"""Gather: rows and other axes, ids that count from the end, and everything that can be wrong with them."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.caffe2 import BatchGather, Gather
from lodkit.jit import settings
from lodkit.kernels.cpu.primitives.gather import ROW_BYTES, gather_kernel, take_rows
from lodkit.lod.copy_runs import STREAM_BYTES

DATA = np.arange(24.0).reshape(2, 4, 3)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
def test_every_axis(axis, place):
    ids = np.array([[1, 0], [1, 1]])
    got = place.home(lodkit.gather(place.to(DATA), place.to(ids), axis=axis))
    np.testing.assert_array_equal(got, np.take(DATA, ids, axis))


def test_a_sparse_gradient_lists_rows_that_there_are(place):
    data, ids = lodkit.parameter(place.to(np.ones((4, 2)))), place.to(np.array([-1, 2, -4]))
    for call in (lambda: lodkit.gather(data, ids, wrap=True), lambda: Gather(data, ids)):
        with lodkit.Tape() as tape:
            out = call()
        grad = place.home(tape.gradient(out, [data])[0])
        assert isinstance(grad, SelectedRows)
        assert grad.rows.tolist() == [3, 2, 0]


def test_caffe2_wraps_on_axis_0_unless_told():
    data = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(Gather(data, np.array([-1])), data[[-1]])
    np.testing.assert_array_equal(Gather(data, np.array([-1]), axis=1, wrap_indices=1), data[:, [-1]])
    for call in (
        lambda: Gather(data, np.array([0, -1]), wrap_indices=0),
        lambda: Gather(data, np.array([0, -1]), axis=1),
        lambda: Gather(data, np.array([0, -3])),
        lambda: BatchGather(data, np.array([0, -1])),
    ):
        with pytest.raises(lodkit.RowIndexError, match=r"ids\[1\] = -"):
            call()


def test_caffe2_dense_gradient():
    data = lodkit.parameter(np.ones((3, 2)))
    with lodkit.Tape() as tape:
        out = Gather(data, np.array([-1, 2]), dense_gradient=1)
    np.testing.assert_array_equal(tape.gradient(out, [data])[0], [[0, 0], [0, 0], [2, 2]])


def test_each_batch_may_have_ids_of_its_own(place):
    ids = np.array([[3, 3], [0, 1]])
    got = place.home(BatchGather(place.to(DATA), place.to(ids), match_outer=1))
    np.testing.assert_array_equal(got, np.take_along_axis(DATA, ids[..., None], 1))
    got = place.home(Gather(place.to(DATA), place.to(ids), axis=1, match_outer=1))
    np.testing.assert_array_equal(got, np.take_along_axis(DATA, ids[..., None], 1))


def test_every_batch_of_ids_is_looked_at(place):
    """Caffe2 looks at the ids of the first one only, and crashes on a bad later one."""
    for ids in ([[0, 1], [2, 4]], [[0, 1], [2, 1 << 40]], [[0, 1], [2, -1]]):
        with pytest.raises(lodkit.RowIndexError, match=rf"ids\[1, 1\] = {ids[1][1]} is outside \[0, 4\)"):
            lodkit.gather(place.to(DATA), place.to(np.array(ids)), axis=1, match_outer=True)


@pytest.mark.parametrize(
    ("ids", "attrs", "error", "text"),
    [
        ([0], {"axis": 3}, lodkit.ShapeMismatchError, r"axis = 3 is outside \[-3, 3\)"),
        ([0], {"axis": -4}, lodkit.ShapeMismatchError, r"axis = -4"),
        ([[0], [0], [0]], {"axis": 1, "match_outer": True}, lodkit.ShapeMismatchError, r"\(3, 1\) do not start"),
        ([4], {"axis": 1}, lodkit.RowIndexError, r"ids\[0\] = 4 is outside \[0, 4\)"),
        ([-5], {"axis": 1, "wrap": True}, lodkit.RowIndexError, r"= -5 is outside"),
        ([0.5], {"axis": 1}, lodkit.DTypeError, "must be integers"),
    ],
)
def test_what_gather_refuses(ids, attrs, error, text, place):
    with pytest.raises(error, match=text):
        lodkit.gather(place.to(DATA), place.to(np.array(ids)), **attrs)


def test_what_batch_gather_refuses(place):
    with pytest.raises(lodkit.ShapeMismatchError, match="axis = 1"):
        lodkit.batch_gather(place.to(np.ones(3)), place.to(np.array([0])))
    with pytest.raises(lodkit.RowIndexError, match=r"ids\[0\] = 0 is outside \[0, 0\)"):
        lodkit.batch_gather(place.to(np.ones((2, 0))), place.to(np.array([0])))
    with pytest.raises(lodkit.DTypeError, match=r"takes floats|no type of lodkit"):
        lodkit.batch_gather(place.to(np.ones((2, 2), np.complex64)), place.to(np.array([0])))
    with pytest.raises(lodkit.DTypeError, match="gradient"):
        lodkit.batch_gather_grad(*map(place.to, (np.ones((2, 2), int), np.array([0]), np.ones((2, 1), int))))


def test_ids_with_structure_are_for_axis_0(place):
    ids = LoDTensor(np.array([1, 0, 1]), [[1, 2]])
    rows = lodkit.gather(place.to(DATA), place.to(ids))
    assert rows.recursive_sequence_lengths() == [[1, 2]]
    with pytest.raises(lodkit.LoDLevelError, match=r"pass ids\.values"):
        lodkit.gather(place.to(DATA), place.to(ids), axis=1)


def test_out(place):
    out = place.to(np.zeros((2, 2, 3)))
    assert lodkit.gather(place.to(DATA), place.to(np.array([3, 0])), axis=1, out=out) is out
    np.testing.assert_array_equal(place.home(out), DATA[:, [3, 0]])


@pytest.mark.jit
@pytest.mark.parametrize("ids", [np.array([2, 0, 2]), np.array([[2], [0]])], ids=["vector", "matrix"])
@pytest.mark.parametrize("dtype", ["float16", "float32", ">f4", "int64", "int16", "bool"])
def test_few_rows_are_gathered_by_code_that_is_kept(dtype, ids, monkeypatch):
    """One compiled entry for each type of the table, whatever its layout: Numba is asked once."""
    tables = [np.arange(12).reshape(4, 3).astype(dtype), np.arange(4).astype(dtype), np.ones((4, 6), dtype)[:, ::2]]
    for table in tables:
        np.testing.assert_array_equal(lodkit.lookup_table(table, ids), table[ids])
    monkeypatch.setattr(gather_kernel(0), "keep_entry", None)
    for table in tables:
        np.testing.assert_array_equal(lodkit.lookup_table(table, ids), table[ids])


def test_few_rows_of_a_table_that_is_not_aligned():
    table = np.zeros(97, np.uint8)[1:].view(np.float32).reshape(4, 6)
    table[:] = np.arange(24).reshape(4, 6)
    np.testing.assert_array_equal(lodkit.lookup_table(table, np.array([3, 1])), table[[3, 1]])
    assert not table.flags.aligned


@pytest.mark.parametrize("dtype", ["float16", "float32", "int64"])
def test_one_row_of_a_strided_table(dtype):
    """Its stride is longer than the row, and NumPy calls it contiguous all the same."""
    columns = ROW_BYTES[0] // np.dtype(dtype).itemsize
    table = np.arange(6 * columns).reshape(6, columns).astype(dtype)[2::2][:1]
    ids = np.zeros(settings.fetch_from // columns + 3, np.int64)
    assert table.strides[0] in ROW_BYTES and table.flags.c_contiguous
    np.testing.assert_array_equal(lodkit.lookup_table(table, ids), table[ids])


def test_one_long_row_of_a_strided_output():
    base = np.zeros((3, STREAM_BYTES // 8))
    assert take_rows(np.ones(base[:1].shape), np.zeros(1, np.int64), base[::2][:1]).base is base
    np.testing.assert_array_equal(base[:, 0], [1, 0, 0])


@pytest.mark.parametrize("row_bytes", [*ROW_BYTES, 60, 512, 1024])
@pytest.mark.parametrize("dtype", ["float16", "float32", "int64"])
def test_rows_are_copied_bit_for_bit(dtype, row_bytes):
    """NaN with its bits too, by the kernels of some sizes of rows and by the one of all."""
    rng, columns = np.random.default_rng(0), row_bytes // np.dtype(dtype).itemsize
    table = np.frombuffer(rng.bytes(50 * columns * np.dtype(dtype).itemsize), dtype).reshape(50, columns)
    ids = rng.integers(0, 50, settings.fetch_from // columns + 3)
    expected, padded = table[ids], table[ids]
    padded[ids == 7] = 0
    np.testing.assert_array_equal(lodkit.lookup_table(table, ids).view(np.uint8), expected.view(np.uint8))
    found = lodkit.lookup_table(table, ids, padding_idx=7)
    np.testing.assert_array_equal(found.view(np.uint8), padded.view(np.uint8))
    for bad in (50, -1, 2**62):
        ids[-2] = bad
        with pytest.raises(IndexError, match=str(bad)):
            lodkit.lookup_table(table, ids)
