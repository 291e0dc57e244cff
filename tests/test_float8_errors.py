"""float8: formats, scales and operators that are refused, with a remedy."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor

TABLE = np.random.default_rng(0).normal(size=(6, 20)).astype(np.float32)
BAGS = LoDTensor(np.array([0, 5, 5, 3]), [[3, 0, 1]])
ROWS = lodkit.quantize_rows(TABLE, bits="float8_e4m3fn")
WORDS = ROWS.values


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: lodkit.quantized_embedding_bag(WORDS, BAGS), TypeError, "does not tell in how many bits"),
        (lambda: lodkit.quantized_lookup_table(WORDS, [0]), TypeError, "pass bits=8, 4, 2, 'float8_e4m3fn' or"),
        (lambda: lodkit.PackedRows(WORDS), TypeError, "do not tell their format; pass bits=8, 4, 2, 'float8_e4m3fn'"),
        (
            lambda: lodkit.dequantize_rows(ROWS, bits="float8_e5m2"),
            ValueError,
            "packed in float8_e4m3fn, and read in 'float8_e5",
        ),
        (
            lambda: lodkit.dequantize_rows(ROWS, bits=8),
            ValueError,
            "packed in float8_e4m3fn, and read in 8; leave bits out",
        ),
        (lambda: lodkit.dequantize_rows(WORDS, np.ones(1), bits=8), ValueError, "scale is for float8; rows of 8 bits"),
        (lambda: lodkit.PackedRows(WORDS, 8, 2.0), ValueError, "scale is for float8; rows of 8 bits"),
        (lambda: lodkit.dequantize_rows(ROWS, np.ones(1)), ValueError, "scale is given; leave scale out"),
        (
            lambda: lodkit.PackedRows(WORDS, "float8_e5m2", np.ones(5)),
            lodkit.ShapeMismatchError,
            r"shape \(5,\).*\(6,\)",
        ),
        (lambda: lodkit.PackedRows(WORDS, "float8_e5m2", "2"), TypeError, "scale must be a number or an array"),
        (
            lambda: lodkit.quantized_lookup_table(WORDS, [0], np.ones((6, 20)), bits="float8_e5m2"),
            lodkit.ShapeMismatchError,
            r"scale has shape \(6, 20\); pass one number for the table, or one for each row, of shape \(6,\)",
        ),
        (
            lambda: lodkit.quantized_lookup_table(WORDS, [0], np.ones(6, np.int64), bits="float8_e5m2"),
            lodkit.DTypeError,
            "scale takes float16, .* not int64",
        ),
        (
            lambda: lodkit.PackedRows(WORDS, "float8_e5m2", np.ones(6, np.int64)),
            lodkit.DTypeError,
            r"scale takes float16, .* not int64; convert with \.astype\(np\.float64\)",
        ),
        (lambda: lodkit.quantized_lookup_table(ROWS, np.array([0.5])), lodkit.DTypeError, "ids"),
        (lambda: lodkit.quantized_lookup_table(ROWS, [0, 6]), lodkit.RowIndexError, r"ids\[1\] = 6"),
        (lambda: lodkit.quantized_lookup_table(ROWS, [-1]), lodkit.RowIndexError, r"ids\[0\] = -1"),
        (lambda: lodkit.quantized_embedding_bag(ROWS, LoDTensor([6], [[1]])), lodkit.RowIndexError, r"ids\[0\] = 6"),
        (lambda: lodkit.quantized_lookup_table(ROWS[:0], [0]), lodkit.RowIndexError, r"ids\[0\] = 0"),
        (lambda: lodkit.quantized_lookup_table(ROWS, [0], padding_idx=6), lodkit.LodkitError, "padding_idx"),
        (lambda: lodkit.quantize_rows(TABLE, bits=8, per="table"), ValueError, 'per="table" is for float8, got bits=8'),
        (
            lambda: lodkit.quantize_rows(TABLE, bits="float8_e5m2", search="greedy"),
            ValueError,
            "greedy.* is for 4 and 2",
        ),
        (
            lambda: lodkit.quantize_rows(TABLE, bits="float8_e4m3fn", out=ROWS),
            lodkit.OutputError,
            "pass out=out.values",
        ),
        (
            lambda: lodkit.quantize_rows(LoDTensor(TABLE, [[6]]), bits="float8_e4m3fn", per="table"),
            ValueError,
            "pass table.values for per=",
        ),
        (lambda: lodkit.lookup_table(ROWS, [0]), TypeError, "quantized_lookup_table"),
    ],
)
def test_what_is_refused(call, error, match):
    before = WORDS.copy()
    with pytest.raises(error, match=match):
        call()
    np.testing.assert_array_equal(WORDS, before)


def test_other_formats_are_refused():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    other = TABLE.astype(ml_dtypes.float8_e4m3fnuz)
    with pytest.raises(lodkit.DTypeError, match=r"uint8, or float8_e4m3fn or float8_e5m2, not float8_e4m3fnuz"):
        lodkit.PackedRows(other)
    with pytest.raises(ValueError, match=r"values are of float8_e5m2, and bits='float8_e4m3fn'; leave bits out"):
        lodkit.PackedRows(TABLE.astype(ml_dtypes.float8_e5m2), "float8_e4m3fn")
    for read in (lodkit.lookup_table, lodkit.gather):
        with pytest.raises(lodkit.DTypeError, match=r"float8.*lodkit\.quantized_lookup_table"):
            read(TABLE.astype(ml_dtypes.float8_e5m2), np.array([0]))


def test_float8_tensors_elsewhere_are_refused():
    torch = pytest.importorskip("torch")
    with pytest.raises(lodkit.DTypeError, match=r"lodkit\.quantized_lookup_table"):
        lodkit.lookup_table(torch.from_numpy(TABLE).to(torch.float8_e5m2), torch.tensor([0]))


def test_pads_and_rates_of_float8_are_refused():
    number = np.array([0.5], pytest.importorskip("ml_dtypes").float8_e5m2)
    with pytest.raises(lodkit.DTypeError, match="pad_value is float8_e5m2"):
        lodkit.sequence_pad(lodkit.LoDTensor(np.ones(3), [[1, 2]]), number)
    with pytest.raises(TypeError, match="lr must be a number"):
        lodkit.sgd(np.ones((2, 1)), np.ones((2, 1)), lr=number)
