"""Tables in few bits: the bytes, what they read as, wrong inputs, Caffe2's names, odd memory on a GPU."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from samples import some_of

import lodkit
from lodkit import LoDTensor, caffe2

BITS = (8, 4, 2)
TABLE = np.random.default_rng(0).normal(size=(6, 20)).astype(np.float32)
IDS = np.array([0, 5, 5, 3])
BAGS = LoDTensor(IDS, [[3, 0, 1]])


def bytes_of(codes, kind, scale, bias):
    return [*codes, *struct.pack(f"<{kind}{kind}", scale, bias)]


@pytest.mark.parametrize(
    ("row", "bits", "expected"),
    [
        ([0, 1, 2, 255], 8, bytes_of([0, 1, 2, 255], "f", 1, 0)),
        ([-1, 0, 6.5, 14], 4, bytes_of([0x10, 0xF8], "e", 1, -1)),  # 7.5 rounds to 8, which is even
        ([3, 0, 2, 1], 2, bytes_of([0b01100011], "e", 1, 0)),
        ([0.5, 0.5], 8, bytes_of([0, 0], "f", 0, 0.5)),
        ([0.5, 0.5], 4, bytes_of([0], "e", 1, 0.5)),
        ([], 8, bytes_of([], "f", 0, 0)),
        ([], 2, bytes_of([], "e", 1, 0)),
    ],
)
def test_the_bytes_of_a_row(row, bits, expected):
    assert lodkit.quantize_rows(np.array([row], np.float32), bits=bits).values.tolist() == [expected]


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("scale", [1e-30, 1e-6, 1.0, 1e4])
def test_numbers_come_back_to_half_a_step(bits, scale):
    table = TABLE * np.float32(scale)
    back = lodkit.dequantize_rows(lodkit.quantize_rows(table, bits=bits), bits=bits)
    step = np.ptp(table, axis=1, keepdims=True) / (2**bits - 1)
    slack = 1e-6 if bits == 8 else 2e-3
    smallest = 0 if bits == 8 else 2**-24 * 2**bits  # of float16, in which scale and bias are
    eps = 1e-8 if bits == 8 else 0  # Caffe2 adds it to the span, whatever that is
    assert (np.abs(back - table) <= step * 0.5 + slack * np.abs(table).max() + smallest + eps).all()


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_row_that_is_not_finite_reads_as_nan(bits, bad):
    table = TABLE.copy()
    table[2, 7] = bad
    rows = lodkit.quantize_rows(table, bits=bits)
    back = lodkit.dequantize_rows(rows, bits=bits)
    assert np.isnan(back[2]).all()
    assert np.isfinite(np.delete(back, 2, axis=0)).all()
    bags = lodkit.quantized_embedding_bag(rows, LoDTensor([1, 2, 3], [[2, 1]]), bits=bits)
    assert np.isnan(bags[0]).all() and np.isfinite(bags[1]).all()
    left_out = lodkit.quantized_embedding_bag(rows, LoDTensor([1, 2], [[2]]), bits=bits, padding_idx=2)
    np.testing.assert_array_equal(left_out[0], back[1])


def test_numbers_beyond_float16_read_as_nan_where_float16_holds_the_scale():
    table = np.array([[0, 1e6, 2, 3], [0, 1, 2, 3]], np.float32)
    assert np.isnan(lodkit.dequantize_rows(lodkit.quantize_rows(table, bits=4), bits=4)).any(axis=1).tolist() == [
        True,
        False,
    ]
    assert lodkit.dequantize_rows(lodkit.quantize_rows(table, bits=8))[0, 1] == 1e6


@pytest.mark.jit
@pytest.mark.parametrize("bits", some_of(BITS, 3))
def test_a_bag_of_a_million_equal_rows(bits):
    rows = lodkit.quantize_rows(np.full((1, 20), 0.1, np.float32), bits=bits)
    number = lodkit.dequantize_rows(rows, bits=bits)[0].astype(np.float64)
    bags = LoDTensor(np.zeros(1_000_000, np.int64), [[1_000_000]])
    np.testing.assert_allclose(lodkit.quantized_embedding_bag(rows, bags, bits=bits)[0], 1e6 * number, rtol=1e-6)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("pool", ["sum", "mean"])
def test_a_packed_table_is_its_unpacked_one(bits, weighted, pool):
    rows = lodkit.quantize_rows(TABLE, bits=bits)
    weights = (np.arange(4.0) - 1,) if weighted else ()
    got = lodkit.quantized_embedding_bag(rows, BAGS, *weights, bits=bits, pool=pool)
    expected = lodkit.embedding_bag(lodkit.dequantize_rows(rows, bits=bits), BAGS, *weights, pool=pool)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("pool", ["sum", "mean"])
def test_a_half_table_is_read_as_it_is(pool):
    half = lodkit.cast(TABLE, dtype="float16")
    got = lodkit.embedding_bag(half, BAGS, pool=pool, dtype="float32")
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, lodkit.embedding_bag(half.astype(np.float32), BAGS, pool=pool), rtol=1e-6)
    large = np.full((1, 2), 60000, np.float16)  # whose sum float16 does not hold
    assert lodkit.embedding_bag(large, LoDTensor([0, 0], [[2]]), dtype="float32").tolist() == [[120000, 120000]]


@pytest.mark.parametrize("pool", ["sum", "mean"])
def test_weights_of_packed_rows_are_trained(pool):
    rows, weights = lodkit.quantize_rows(TABLE, bits=4), lodkit.parameter(np.arange(4.0) + 1)
    grad_output = np.random.default_rng(1).normal(size=(3, 20)).astype(np.float32)
    grads = []
    for table, bag, attrs in (
        (rows, lodkit.quantized_embedding_bag, {"bits": 4}),
        (lodkit.dequantize_rows(rows, bits=4), lodkit.embedding_bag, {}),
    ):
        with lodkit.Tape() as tape:
            out = bag(table, BAGS, weights, pool=pool, **attrs)
        grads += tape.gradient(out, [weights], output_gradients=grad_output)
    np.testing.assert_allclose(*grads, rtol=1e-5, atol=1e-5)
    with lodkit.Tape() as tape:
        out = lodkit.quantized_embedding_bag(rows, BAGS, bits=4)
    with pytest.raises(lodkit.DTypeError, match=r"sources\[0\], uint8 .* has no gradient, which only floating numbers"):
        tape.gradient(out, [rows.values], output_gradients=grad_output)


def test_lists_and_levels():
    nested = LoDTensor(IDS, [[1, 1], [3, 1]])
    bags = lodkit.quantized_embedding_bag(lodkit.quantize_rows(TABLE), nested)
    assert isinstance(bags, LoDTensor) and bags.recursive_sequence_lengths() == [[1, 1]]
    rows = lodkit.quantize_rows(LoDTensor(TABLE, [[4, 2]]))
    assert isinstance(rows.values, LoDTensor) and rows.values.recursive_sequence_lengths() == [[4, 2]]
    assert lodkit.dequantize_rows(rows).recursive_sequence_lengths() == [[4, 2]]
    assert lodkit.quantize_rows([[0.0, 255.0]]).values.tolist() == [bytes_of([0, 255], "f", 1, 0)]


BYTES = lodkit.quantize_rows.definition(TABLE)
ROWS = lodkit.PackedRows(BYTES, bits=8)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (
            lambda: lodkit.quantize_rows(TABLE[0]),
            lodkit.ShapeMismatchError,
            r"table has shape \(20,\).*\(rows, columns\)",
        ),
        (lambda: lodkit.quantize_rows(TABLE[:, :3], bits=4), lodkit.ShapeMismatchError, "3 columns.*multiple of 2"),
        (lambda: lodkit.quantize_rows(TABLE[:, :6], bits=2), lodkit.ShapeMismatchError, "6 columns.*multiple of 4"),
        (
            lambda: lodkit.quantize_rows(IDS[None]),
            lodkit.DTypeError,
            r"not int64; convert with \.astype\(np\.float64\), .* a list with np\.asarray\(x, np\.float64\)",
        ),
        (
            lambda: lodkit.quantize_rows(TABLE, bits=3),
            ValueError,
            "bits must be one of 8, 4, 2, 'float8_e4m3fn', 'float8_e5m2', got 3",
        ),
        (
            lambda: lodkit.dequantize_rows(TABLE, bits=8),
            lodkit.DTypeError,
            "uint8, not float32; make them with quantize_rows",
        ),
        (
            lambda: lodkit.dequantize_rows(BYTES[:, :7], bits=8),
            lodkit.ShapeMismatchError,
            r"\(6, 7\).*8 bytes of scale and bias",
        ),
        (lambda: lodkit.dequantize_rows(BYTES[0], bits=8), lodkit.ShapeMismatchError, r"\(28,\)"),
        (
            lambda: lodkit.quantized_embedding_bag(TABLE, BAGS, bits=4),
            lodkit.DTypeError,
            "make them with quantize_rows",
        ),
        (lambda: lodkit.quantized_embedding_bag(ROWS, IDS), lodkit.NoKernelError, r"LoDTensor\(ids, \[lengths\]\)"),
        (lambda: lodkit.quantized_embedding_bag(BYTES, BAGS, bits=1), ValueError, "bits must be one of"),
        (
            lambda: lodkit.quantized_embedding_bag(ROWS, BAGS, pool="max"),
            ValueError,
            "pool must be one of 'sum', 'mean'",
        ),
        (lambda: lodkit.quantized_embedding_bag(ROWS, BAGS, np.ones(3)), lodkit.LoDError, r"weights have shape \(3,\)"),
        (lambda: lodkit.quantized_embedding_bag(ROWS, BAGS, IDS), lodkit.DTypeError, "weights of type int64"),
        (lambda: lodkit.quantized_embedding_bag(ROWS, BAGS, padding_idx=6), lodkit.RowIndexError, "padding_idx = 6"),
        (lambda: lodkit.quantized_embedding_bag(ROWS, BAGS, pad_value=1e300), ValueError, "no value of float32"),
        (lambda: lodkit.embedding_bag(ROWS, BAGS), TypeError, "quantized_embedding_bag"),
        (lambda: lodkit.cast(TABLE > 0, dtype="float16"), lodkit.DTypeError, "not bool"),
        (lambda: lodkit.cast(TABLE, dtype="int8"), ValueError, "dtype must be one of"),
    ],
)
def test_wrong_inputs(call, error, match):
    with pytest.raises(error, match=match):
        call()


@pytest.mark.parametrize("bad", [-1, 6, 1 << 40])
def test_bad_ids_change_nothing(bad):
    out = np.full((2, 20), 7, np.float32)
    with pytest.raises(lodkit.RowIndexError, match=rf"ids\[2\] = {bad} is outside \[0, 6\)"):
        lodkit.quantized_embedding_bag(ROWS, LoDTensor([0, 5, bad], [[1, 2]]), out=out)
    assert (out == 7).all()
    with pytest.raises(lodkit.RowIndexError, match="the table has 0 rows"):
        lodkit.quantized_embedding_bag(ROWS[:0], LoDTensor([0], [[1]]))


def test_infer_refuses_what_the_kernels_refuse():
    odd = lodkit.VarDesc.of(TABLE[:, :3])
    with pytest.raises(lodkit.ShapeMismatchError, match="multiple of 4"):
        lodkit.quantize_rows.infer(odd, bits=2)
    assert lodkit.quantize_rows.infer(odd.but(dims=(-1, -1)), bits=2).dims == (-1, -1)
    with pytest.raises(lodkit.LoDLevelError, match="lod_level >= 1"):
        lodkit.quantized_embedding_bag.infer(lodkit.VarDesc.of(BYTES), lodkit.VarDesc.of(IDS), bits=8)


@pytest.mark.parametrize("bits", BITS)
def test_caffe2_names_of_packed_tables(bits):
    rows = getattr(caffe2, f"FloatToFused{bits}BitRowwiseQuantized")(TABLE)
    np.testing.assert_array_equal(rows, lodkit.quantize_rows(TABLE, bits=bits).values)
    table = getattr(caffe2, f"Fused{bits}BitRowwiseQuantizedToFloat")(rows).astype(np.float64)
    lengths, weights = np.array([3, 0, 1], np.int32), np.array([2, 0.5, -1, 3], np.float32)
    total = np.stack([table[IDS[:3]].sum(axis=0), 0 * table[0], table[3]])
    weighted = np.stack([weights[:3] @ table[IDS[:3]], 0 * table[0], 3 * table[3]])
    for kind in (np.int32, np.int64):
        ids, size = IDS.astype(kind), f"Fused{bits}BitRowwise"
        for name, extra, expected in (
            ("Sum", (), total),
            ("Mean", (), total / np.array([[3], [1], [1]])),
            ("WeightedSum", (weights,), weighted),
        ):
            got = getattr(caffe2, f"SparseLengths{name}{size}")(rows, *extra, ids, lengths)
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)
    with pytest.raises(lodkit.LoDError):
        getattr(caffe2, f"SparseLengthsSumFused{bits}BitRowwise")(rows, IDS[:0], lengths)


def test_caffe2_names_of_halves():
    x = np.array([1.5, 70000, -70000, 1e-8, 65519, 65520, np.nan, 2049], np.float32)
    half = caffe2.FloatToHalf(x)
    assert half.dtype == np.float16
    np.testing.assert_array_equal(half, np.array([1.5, np.inf, -np.inf, 0, 65504, np.inf, np.nan, 2048], np.float16))
    back = caffe2.HalfToFloat(half)
    assert back.dtype == np.float32
    np.testing.assert_array_equal(back, half.astype(np.float32))
    with pytest.raises(ValueError, match="clip=True is not supported"):
        caffe2.FloatToHalf(x, clip=True)


@pytest.mark.parametrize(("name", "dtype"), [("FloatToHalf", np.float32), ("HalfToFloat", np.float16)])
def test_gradients_of_halves(name, dtype):
    x = lodkit.parameter(np.array([1.5, 2.5], dtype))
    with lodkit.Tape() as tape:
        out = getattr(caffe2, name)(x)
    (grad,) = tape.gradient(out, [x], output_gradients=np.array([3, 4], out.dtype))
    assert grad.dtype == dtype
    np.testing.assert_array_equal(grad, [3, 4])


def at_byte(emulated_gpu, array, start):
    """An array on the emulated GPU that starts so many bytes after an aligned address."""
    memory = lodkit.empty(start + array.nbytes, np.uint8)[start:]
    memory[:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return emulated_gpu.Array(memory.view(array.dtype).reshape(array.shape))


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("start", [1, 2, 4])
def test_cuda_rows_and_results_may_start_anywhere(emulated_gpu, bits, start):
    rows = lodkit.quantize_rows(TABLE, bits=bits).values
    there, bags, out = at_byte(emulated_gpu, rows, start), emulated_gpu.to_gpu(BAGS), np.zeros((3, 20), np.float32)
    out = at_byte(emulated_gpu, out, 4)
    lodkit.quantized_embedding_bag(there, bags, bits=bits, out=out)
    np.testing.assert_allclose(out.numpy, lodkit.quantized_embedding_bag(rows, BAGS, bits=bits), rtol=1e-5, atol=1e-6)
    back = at_byte(emulated_gpu, TABLE, 4)
    lodkit.dequantize_rows(there, bits=bits, out=back)
    np.testing.assert_allclose(back.numpy, lodkit.dequantize_rows(rows, bits=bits), rtol=1e-6, atol=1e-6)
    packed = at_byte(emulated_gpu, np.zeros_like(rows), start)
    lodkit.quantize_rows(at_byte(emulated_gpu, TABLE, 4), bits=bits, out=packed)
    np.testing.assert_array_equal(packed.numpy, rows)


def test_cuda_bad_ids(emulated_gpu):
    table = TABLE.copy()
    table[0, 0] = np.nan  # what a row that is not there reads must not depend on the first one
    rows, ids = emulated_gpu.to_gpu(lodkit.quantize_rows(table).values), np.array([5, -1, 6, 1 << 40, 1])
    bags = emulated_gpu.to_gpu(LoDTensor(ids, [[3, 2]]))
    with pytest.raises(lodkit.RowIndexError, match=r"ids\[1\] = -1 is outside \[0, 6\)"):
        lodkit.quantized_embedding_bag(rows, bags, bits=8)
    lodkit.bounds_check("clamp")
    for height, expected in ((6, lodkit.dequantize_rows(ROWS)[[5, 1]]), (0, np.zeros((2, 20)))):
        part = emulated_gpu.to_gpu(rows.numpy[:height])
        got = emulated_gpu.to_numpy(lodkit.quantized_embedding_bag(part, bags, bits=8))
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("pool", ["sum", "mean"])
@pytest.mark.parametrize("weighted", [False, True])
def test_cuda_bags_too_long_for_one_piece(emulated_gpu, pool, weighted, monkeypatch):
    from lodkit.kernels.cuda.primitives import offsets

    monkeypatch.setattr(offsets.settings, "tile_rows", 3)
    ids = LoDTensor(np.arange(40) % 6, [[1, 0, 39]])
    weights = (np.arange(40, dtype=np.float32) / 8 + 1,) if weighted else ()
    there = (emulated_gpu.to_gpu(BYTES), emulated_gpu.to_gpu(ids), *map(emulated_gpu.to_gpu, weights))
    got = emulated_gpu.to_numpy(lodkit.quantized_embedding_bag(*there, bits=8, pool=pool, pad_value=2))
    expected = lodkit.quantized_embedding_bag(ROWS, ids, *weights, pool=pool, pad_value=2)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)
