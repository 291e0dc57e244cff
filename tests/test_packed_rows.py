"""PackedRows: compressed tables that know their format."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor

BITS = (8, 4, 2)
TABLE = np.random.default_rng(0).normal(size=(6, 20)).astype(np.float32)
IDS = np.array([0, 5, 5, 3])
BAGS = LoDTensor(IDS, [[3, 0, 1]])


@pytest.mark.parametrize("bits", BITS)
def test_packed_rows_are_read_in_their_bits(bits):
    """A table of 4 bits that is read as one of 8 is garbage: other bits raise, and bytes alone need theirs."""
    rows = lodkit.quantize_rows(TABLE, bits=bits)
    assert repr(rows) == f"PackedRows(6 rows of 20 columns in {bits} bits)"
    assert (len(rows), rows.shape, rows.bits, rows.columns) == (6, (6, 20), bits, 20)
    grad, weights = np.ones((3, 20), np.float32), np.ones(4)
    readers = (
        lambda rows, **attrs: lodkit.dequantize_rows(rows, **attrs),
        lambda rows, **attrs: lodkit.run("quantized_embedding_bag", rows, BAGS, **attrs),
        lambda rows, **attrs: lodkit.quantized_embedding_bag_weights_grad(rows, BAGS, grad, weights, **attrs),
    )
    for read in readers:
        np.testing.assert_array_equal(read(rows), read(rows.values, bits=bits))
        np.testing.assert_array_equal(read(rows), read(rows, bits=bits))
        for other in {*BITS} - {bits}:
            with pytest.raises(ValueError, match=f"packed in {bits} bits, and read in {other}"):
                read(rows, bits=other)
        with pytest.raises(TypeError, match="does not tell in how many bits it is packed; pass bits=8, 4, 2,"):
            read(rows.values)
    assert lodkit.quantized_embedding_bag.select(rows, BAGS) == lodkit.quantized_embedding_bag.select(rows.values, BAGS)


def test_packed_rows_stay_what_they_are(tmp_path):
    rows = lodkit.quantize_rows(TABLE, bits=4)
    unpacked = lodkit.dequantize_rows(rows)
    for other in (pickle.loads(pickle.dumps(rows)), copy.deepcopy(rows), rows.to("cpu"), rows[:], rows[np.arange(6)]):
        assert type(other) is lodkit.PackedRows and other.bits == 4
        np.testing.assert_array_equal(lodkit.dequantize_rows(other), unpacked)
    np.testing.assert_array_equal(lodkit.dequantize_rows(rows[1:3]), unpacked[1:3])
    lodkit.save(tmp_path / "table.npz", {"table": rows})
    np.testing.assert_array_equal(lodkit.dequantize_rows(lodkit.load(tmp_path / "table.npz")["table"]), unpacked)
    out = lodkit.PackedRows(np.zeros_like(rows.values), bits=4)
    assert lodkit.quantize_rows(TABLE, bits=4, out=out).values is out.values
    np.testing.assert_array_equal(out.values, rows.values)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda rows: lodkit.quantize_rows(TABLE, bits=2, out=rows), lodkit.OutputError, "out holds rows of 4 bits"),
        (lambda rows: np.asarray(rows), TypeError, "no numbers: lodkit.dequantize_rows"),
        (lambda rows: rows[0], TypeError, "taken by a slice, a mask or an array"),
        (lambda rows: rows[:, :4], TypeError, "taken by a slice, a mask or an array"),
        (
            lambda rows: lodkit.PackedRows(rows.values, bits=3),
            ValueError,
            "bits must be one of 8, 4, 2, 'float8_e4m3fn' or 'float8_e5m2', got 3",
        ),
        (
            lambda rows: lodkit.PackedRows(TABLE, bits=4),
            lodkit.DTypeError,
            "or float8_e5m2, not float32; make them with",
        ),
        (lambda rows: lodkit.PackedRows(rows.values[:, :3], 4), lodkit.ShapeMismatchError, "4 bytes of scale and bias"),
        (lambda rows: lodkit.embedding_bag(rows, BAGS), TypeError, "PackedRows"),
    ],
)
def test_what_packed_rows_refuse(call, error, match):
    with pytest.raises(error, match=match):
        call(lodkit.quantize_rows(TABLE, bits=4))


def test_tensors_are_packed_too():
    torch = pytest.importorskip("torch")
    rows = lodkit.quantize_rows(torch.from_numpy(TABLE), bits=4)
    assert isinstance(rows.values, torch.Tensor) and rows.bits == 4
    bags = lodkit.quantized_embedding_bag(rows, LoDTensor(torch.from_numpy(IDS), [[3, 0, 1]]))
    expected = lodkit.quantized_embedding_bag(lodkit.quantize_rows(TABLE, bits=4), BAGS)
    np.testing.assert_array_equal(bags.numpy(), expected)


@pytest.mark.parametrize("table", [2.5, np.array(1.0), np.ones(3)])
def test_a_vector_is_not_quantized(table):
    with pytest.raises(lodkit.ShapeMismatchError, match="its last axis is quantized"):
        lodkit.quantize_rows(table)
