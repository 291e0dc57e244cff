"""float8: every byte and every midpoint beside other libraries, and what tables in it read as."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from samples import some_of

import lodkit
from lodkit import LoDTensor
from lodkit.base.float8 import FLOAT8, round_to_bytes, widen_bytes
from lodkit.jit import njit, simd

NAMES = tuple(FLOAT8)
BYTES = np.arange(256, dtype=np.uint8)
TABLE = np.random.default_rng(0).normal(size=(6, 20)).astype(np.float32)
BAGS = LoDTensor(np.array([0, 5, 5, 3]), [[3, 0, 1]])


def kind_of(name, library):
    return getattr(pytest.importorskip(library), name)


def same_numbers(got, expected):
    """The same numbers, signs of zeros included."""
    assert got.dtype == expected.dtype == np.float32
    np.testing.assert_array_equal(got, expected)
    there = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[there]), np.signbit(expected[there]))


def readings(rows):
    """What reads every row, by each kernel of its own: whole tables, look-ups, and bags of one."""
    ids = np.arange(len(rows))
    yield lodkit.dequantize_rows(rows)
    yield lodkit.quantized_lookup_table(rows, ids)
    # A sum of -0.0 is 0.0.
    yield np.copysign(
        lodkit.quantized_embedding_bag(rows, LoDTensor(ids, [[1] * len(ids)])), lodkit.dequantize_rows(rows)
    )


@pytest.mark.parametrize("columns", some_of([1, 4, 64, 128], 4))
@pytest.mark.parametrize("name", NAMES)
def test_every_byte_reads_as_in_ml_dtypes(name, columns):
    expected = BYTES.view(kind_of(name, "ml_dtypes")).astype(np.float32).reshape(-1, columns)
    for got in readings(lodkit.PackedRows(BYTES.reshape(-1, columns), name)):
        same_numbers(got, expected)


@pytest.mark.parametrize("name", NAMES)
def test_every_byte_reads_as_in_torch(name):
    torch = pytest.importorskip("torch")
    table = torch.from_numpy(BYTES.reshape(4, 64)).view(kind_of(name, "torch"))
    for got in (lodkit.dequantize_rows(table), lodkit.quantized_lookup_table(table, torch.arange(4))):
        assert isinstance(got, torch.Tensor)
        same_numbers(got.numpy(), table.float().numpy())


def numbers_to_round(name):
    """A random sample of float32, every number of the format, every midpoint, and both neighbours of these."""
    sample = np.random.default_rng(0).integers(0, 2**32, 1 << 20, dtype=np.uint32).view(np.float32)
    known = widen_bytes(BYTES, name)
    known = np.unique(known[np.isfinite(known)])
    midpoints = (known[1:] + known[:-1]) / 2
    beside = [np.nextafter(midpoints, np.float32(end)) for end in (-np.inf, np.inf)]
    return np.concatenate(
        [sample, known, -known[known == 0], midpoints, *beside, np.float32([np.inf, -np.inf, np.nan])]
    )


@pytest.mark.parametrize("name", NAMES)
def test_numbers_are_rounded_as_in_ml_dtypes(name):
    x = numbers_to_round(name)
    with np.errstate(all="ignore"):
        expected = x.astype(kind_of(name, "ml_dtypes")).view(np.uint8)
    got = round_to_bytes(x, name)
    there = ~np.isnan(widen_bytes(expected, name))
    assert not np.isnan(widen_bytes(got, name))[there].any() and np.isnan(widen_bytes(got, name))[~there].all()
    np.testing.assert_array_equal(got[there], expected[there])


@pytest.mark.parametrize("name", NAMES)
def test_numbers_that_fit_are_rounded_as_in_torch(name):
    torch, x = pytest.importorskip("torch"), numbers_to_round(name)
    x = x[np.abs(x) <= FLOAT8[name].largest]
    expected = torch.from_numpy(x).to(kind_of(name, "torch")).view(torch.uint8).numpy()
    np.testing.assert_array_equal(round_to_bytes(x, name), expected)
    # The scale is 1, and a row is rounded as it is.
    rows = np.resize(x, (len(x) // 63, 64))
    rows[:, -1] = FLOAT8[name].largest
    packed = lodkit.quantize_rows(rows, bits=name)
    assert (packed.scale == 1).all()
    np.testing.assert_array_equal(packed.values, round_to_bytes(rows, name))


@pytest.mark.parametrize("width", [1, 16, 128])
@pytest.mark.parametrize("name", NAMES)
def test_vectors_convert_as_numbers_do(name, width):
    def convert(packed, x, floats, rounded):
        for j in range(0, 256, width):
            simd.store(floats, 0, j, simd.load_float8(packed, 0, j, width, name))
        for j in range(0, x.shape[1], width):
            simd.store_float8(rounded, 0, j, simd.load(x, 0, j, width), name)

    x = np.resize(numbers_to_round(name)[-4096:], (1, 4096 + 128))
    floats, rounded = np.zeros((1, 256), np.float32), np.zeros(x.shape, np.uint8)
    njit(convert)(BYTES[None], x, floats, rounded)
    same_numbers(floats[0], widen_bytes(BYTES, name))
    np.testing.assert_array_equal(rounded, round_to_bytes(x, name))


@pytest.mark.parametrize("per", ["row", "table"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [1e-42, 1e-30, 1.0, 1e4, 1e38])
def test_numbers_come_back_to_half_a_step(name, per, size):
    """The largest to the largest of the format; others to half their last digit, or that of the smallest."""
    table = TABLE / np.abs(TABLE).max() * np.float32(size)
    rows = lodkit.quantize_rows(table, bits=name, per=per)
    assert rows.scale.shape == (6,) if per == "row" else (1,)
    form, scale = FLOAT8[name], np.broadcast_to(rows.scale, 6)[:, None].astype(np.float64)
    smallest = 2.0 ** (1 - form.bias - form.mantissa) * scale
    error = np.abs(lodkit.dequantize_rows(rows).astype(np.float64) - table)
    assert (error <= np.maximum(np.abs(table) * 2.0 ** -(form.mantissa + 1), smallest / 2) * (1 + 1e-6) + 1e-45).all()
    assert rows.nbytes == table.size + rows.scale.nbytes


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", some_of(NAMES, 2))
def test_a_row_that_is_not_finite_reads_as_nan(name, bad):
    table = TABLE.copy()
    table[2, 7] = bad
    rows = lodkit.quantize_rows(table, bits=name)
    back = lodkit.dequantize_rows(rows)
    assert np.isnan(back[2]).all() and np.isfinite(np.delete(back, 2, axis=0)).all()
    assert np.isnan(lodkit.dequantize_rows(lodkit.quantize_rows(table, bits=name, per="table"))).all()
    # Padding is zeros whatever stands there.
    assert not lodkit.quantized_lookup_table(rows, [2], padding_idx=2).any()
    left_out = lodkit.quantized_embedding_bag(rows, LoDTensor([1, 2], [[2]]), padding_idx=2)
    np.testing.assert_array_equal(left_out[0], back[1])


@pytest.mark.parametrize("name", NAMES)
def test_arrays_in_float8_are_taken_as_they_are(name):
    """Shared, with the scale that is said; what comes back is float32."""
    numbers = TABLE.astype(kind_of(name, "ml_dtypes"))
    rows = lodkit.PackedRows(numbers, scale=np.arange(6.0) + 1)
    assert (
        rows.bits == name
        and np.shares_memory(rows.values, numbers)
        and rows.values.view(numbers.dtype)[0, 0] == numbers[0, 0]
    )
    scaled = numbers.astype(np.float32) * (np.arange(6, dtype=np.float32) + 1)[:, None]
    np.testing.assert_array_equal(lodkit.dequantize_rows(rows), scaled)
    np.testing.assert_array_equal(lodkit.quantized_lookup_table(rows, [4, 4]), scaled[[4, 4]])
    np.testing.assert_allclose(
        lodkit.quantized_embedding_bag(rows, BAGS), lodkit.embedding_bag(scaled, BAGS), rtol=1e-5
    )
    assert (
        lodkit.quantize_rows(TABLE, bits=numbers.dtype.type).bits
        == lodkit.PackedRows(rows.values, numbers.dtype).bits
        == name
    )
    plain = lodkit.embedding_bag(numbers.astype(np.float32), BAGS)
    np.testing.assert_allclose(lodkit.quantized_embedding_bag(numbers, BAGS), plain, rtol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_tensors_in_float8_are_shared(name):
    torch = pytest.importorskip("torch")
    table = torch.from_numpy(TABLE).to(kind_of(name, "torch"))
    scale = torch.arange(1.0, 7.0)[:, None]
    rows = lodkit.PackedRows(table, scale=scale)
    assert rows.values.dtype is torch.uint8 and rows.values.data_ptr() == table.data_ptr()
    bags = LoDTensor(torch.from_numpy(BAGS.values), BAGS.recursive_sequence_lengths())
    got = lodkit.quantized_embedding_bag(rows, bags)
    np.testing.assert_allclose(got, lodkit.embedding_bag(table.float() * scale, bags), rtol=1e-5, atol=1e-6)
    packed = lodkit.quantize_rows(torch.from_numpy(TABLE), bits=name)
    assert isinstance(packed.values, torch.Tensor) and isinstance(packed.scale, torch.Tensor)
    np.testing.assert_array_equal(packed.values, lodkit.quantize_rows(TABLE, bits=name).values)


@pytest.mark.parametrize("per", ["row", "table"])
def test_rows_stay_what_they_are(tmp_path, per):
    rows = lodkit.quantize_rows(TABLE, bits="float8_e5m2", per=per)
    unpacked = lodkit.dequantize_rows(rows)
    assert repr(rows) == "PackedRows(6 rows of 20 columns in float8_e5m2)"
    lodkit.save(tmp_path / "table.npz", {"table": rows})
    loaded = lodkit.load(tmp_path / "table.npz")["table"]
    for other in (
        pickle.loads(pickle.dumps(rows)),
        copy.deepcopy(rows),
        rows.to("cpu"),
        rows[:],
        rows[np.arange(6)],
        loaded,
    ):
        assert type(other) is lodkit.PackedRows and other.bits == rows.bits
        np.testing.assert_array_equal(lodkit.dequantize_rows(other), unpacked)
    for some in (slice(1, 3), np.array([5, 5, 0]), unpacked[:, 0] > 0, slice(2, 3), slice(0, 0)):
        np.testing.assert_array_equal(lodkit.dequantize_rows(rows[some]), unpacked[some])
    out = np.zeros_like(rows.values)
    assert lodkit.quantize_rows(TABLE, bits="float8_e5m2", per=per, out=out).values is out
    np.testing.assert_array_equal(out, rows.values)


def test_rows_of_sequences_have_scales_too():
    rows = lodkit.quantize_rows(LoDTensor(TABLE, [[4, 2]]), bits="float8_e4m3fn")
    assert isinstance(rows.values, LoDTensor) and rows.scale.shape == (6,)
    back = lodkit.dequantize_rows(rows)
    assert back.recursive_sequence_lengths() == [[4, 2]]
    np.testing.assert_array_equal(
        back.values, lodkit.dequantize_rows(lodkit.quantize_rows(TABLE, bits="float8_e4m3fn"))
    )
    # It is indexed by sequences, and so are its scales.
    for some, expected in ((slice(0, 1), slice(0, 4)), ([1], slice(4, 6)), ([1, 0], [4, 5, 0, 1, 2, 3])):
        np.testing.assert_array_equal(lodkit.dequantize_rows(rows[some]).values, back.values[expected])


@pytest.mark.parametrize("pool", ["sum", "mean"])
@pytest.mark.parametrize("name", some_of(NAMES, 2))
def test_weights_of_rows_are_trained(name, pool):
    rows, weights = lodkit.quantize_rows(TABLE, bits=name), lodkit.parameter(np.arange(4.0) + 1)
    grad_output = np.random.default_rng(1).normal(size=(3, 20)).astype(np.float32)
    grads = []
    for table, bag in ((rows, lodkit.quantized_embedding_bag), (lodkit.dequantize_rows(rows), lodkit.embedding_bag)):
        with lodkit.Tape() as tape:
            out = bag(table, BAGS, weights, pool=pool)
        grads += tape.gradient(out, [weights], output_gradients=grad_output)
    np.testing.assert_allclose(*grads, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("columns", [20, 7, 64])
@pytest.mark.parametrize("per", ["row", "table"])
def test_cuda_tables(emulated_gpu, name, columns, per):
    table = np.resize(TABLE, (6, columns))
    rows = lodkit.quantize_rows(table, bits=name, per=per)
    there = lodkit.quantize_rows(emulated_gpu.to_gpu(table), bits=name, per=per)
    np.testing.assert_array_equal(emulated_gpu.to_numpy(there.values), rows.values)
    np.testing.assert_array_equal(emulated_gpu.to_numpy(there.scale), rows.scale)
    np.testing.assert_array_equal(emulated_gpu.to_numpy(lodkit.dequantize_rows(there)), lodkit.dequantize_rows(rows))
    bags = emulated_gpu.to_numpy(lodkit.quantized_embedding_bag(there, emulated_gpu.to_gpu(BAGS)))
    np.testing.assert_allclose(bags, lodkit.quantized_embedding_bag(rows, BAGS), rtol=1e-5, atol=1e-6)
    ids, none = np.array([5, 0, 2]), lodkit.PackedRows(there.values[:0], name, there.scale[: 0 if per == "row" else 1])
    lodkit.bounds_check("clamp")
    assert not emulated_gpu.to_numpy(lodkit.quantized_lookup_table(none, emulated_gpu.to_gpu(ids))).any()
    lodkit.bounds_check("raise")
    got = lodkit.quantized_lookup_table(there, emulated_gpu.to_gpu(ids), padding_idx=0)
    np.testing.assert_array_equal(emulated_gpu.to_numpy(got), lodkit.quantized_lookup_table(rows, ids, padding_idx=0))


@pytest.mark.parametrize("rows_of", [lambda x: x[:, ::2], lambda x: x[::-1], np.asfortranarray])
def test_tables_with_gaps_keep_the_scale_of_each_row(rows_of):
    """Sums, means, gradients of weights and look-ups of a table that is not contiguous."""
    random = np.random.default_rng(3)
    words, scale = rows_of(random.integers(0, 100, (8, 12), np.uint8)), random.random(8).astype(np.float32) + 1
    ids, weights = lodkit.LoDTensor([7, 1, 5, 7], [[3, 1]]), np.float32([1, 2, 3, 4])
    grad = np.ones((2, words.shape[1]), np.float32)
    for table in (words, np.ascontiguousarray(words)):
        given = {"bits": "float8_e4m3fn"}
        exact = lodkit.dequantize_rows(np.ascontiguousarray(words), scale, **given)
        for pool in ("sum", "mean"):
            out = lodkit.quantized_embedding_bag(table, ids, weights, scale, pool=pool, **given)
            np.testing.assert_allclose(out, lodkit.embedding_bag(exact, ids, weights, pool=pool), rtol=1e-6)
            inputs = table, ids, grad, weights, scale
            by_weights = lodkit.quantized_embedding_bag_weights_grad(*inputs, pool=pool, **given)
            expected = lodkit.embedding_bag_weights_grad(exact, ids, grad, weights, pool=pool)
            np.testing.assert_allclose(by_weights, expected, rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(lodkit.quantized_lookup_table(table, [3, 0], scale, **given), exact[[3, 0]])
