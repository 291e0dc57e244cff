"""Every operator takes arrays of ml_dtypes.bfloat16 and gives what float32 gives, rounded once."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest
from conftest import copy, with_all_types
from samples import ALL_TYPES, SAMPLES, some_of

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.arrays import BFLOAT16, is_bfloat16, to_dtype
from lodkit.base.bfloat16 import bfloat16_dtype
from lodkit.base.errors import OutputError
from lodkit.paddle import dumps, loads
from lodkit.registry.kinds import numbers_of, with_numbers

ml_dtypes = pytest.importorskip("ml_dtypes")
HALF = np.dtype(ml_dtypes.bfloat16)
RANDOM = np.random.default_rng(0)


def numbers(*shape):
    return RANDOM.normal(size=shape).astype(HALF)


def is_single(x, kinds=(np.float32,)):
    return isinstance(numbers_of(x), np.ndarray) and numbers_of(x).dtype in kinds


def sample_of(name):
    """The first sample of an operator that has numbers in float32; None if it has none."""
    return next((case for case in SAMPLES[name] if any(map(is_single, case[0]))), None)


CASES = {name: sample_of(name) for name in lodkit.OPS}
RESULTS = [name for name, case in CASES.items() if case and not lodkit.OPS[name].updates]
UPDATES = [name for name, case in CASES.items() if case and lodkit.OPS[name].updates]
if not ALL_TYPES:  # some of each template: kernels of bfloat16 are compiled, and others' inputs one function copies
    RESULTS = RESULTS[::6]
    UPDATES = UPDATES[::6]


def in_halves(x):
    """A value over bfloat16 if its numbers are floating, and the same numbers in float32."""
    if not is_single(x, (np.float32, np.float64)):
        return copy(x), copy(x)
    halves = numbers_of(x).astype(HALF)
    return with_numbers(x, halves), with_numbers(x, halves.astype(np.float32))


def assert_rounded(results, expected):
    results, expected = (x if isinstance(x, tuple) else (x,) for x in (results, expected))
    for got, want in zip(results, expected, strict=True):
        got, want = numbers_of(got), numbers_of(want)
        if isinstance(want, np.ndarray) and want.dtype == np.float32:
            assert got.dtype == HALF
            np.testing.assert_array_equal(got.view(np.uint16), want.astype(HALF).view(np.uint16))
        elif isinstance(want, np.ndarray):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_those_of_float32_rounded_once(name):
    op, (inputs, attrs) = lodkit.OPS[name], CASES[name]
    halves, wide = zip(*map(in_halves, inputs), strict=True)
    made = op.full(*halves, **attrs)
    assert_rounded(made, op.full(*wide, **attrs))
    if op.infer_function is None or name == "lod_tensor_to_array":  # which gives a list
        return
    found = op.full.infer(*map(lodkit.VarDesc.of, op._accept(halves)), **attrs)
    for desc, x in zip(*(r if isinstance(r, tuple) else (r,) for r in (found, made)), strict=True):
        if isinstance(numbers_of(x), np.ndarray):
            assert desc.dtype == numbers_of(x).dtype


#: Inputs of updates that have the type of the parameter; states stay in float32.
LIKE_PARAM = {"param", "grad", "dense", "x"}


@pytest.mark.parametrize("name", UPDATES)
def test_updates_step_in_float32_and_round_once(name):
    op, (inputs, attrs) = lodkit.OPS[name], CASES[name]
    pairs = [
        in_halves(x) if given in LIKE_PARAM else (copy(x), copy(x))
        for given, x in zip(op._names(inputs), inputs, strict=True)
    ]
    halves, wide = zip(*pairs, strict=True)
    op.full(*halves, **attrs)
    op.full(*wide, **attrs)
    for got, want in zip(map(numbers_of, halves), map(numbers_of, wide), strict=True):
        if isinstance(got, np.ndarray) and got.dtype == HALF:
            np.testing.assert_array_equal(got.view(np.uint16), want.astype(HALF).view(np.uint16))
        elif isinstance(got, np.ndarray):
            np.testing.assert_array_equal(got, want)


def test_descriptions_have_the_number_of_paddle():
    desc = lodkit.VarDesc.of(LoDTensor(numbers(3, 2), [[1, 2]]), "x")
    assert desc.dtype == HALF and b"\x08\x16" in desc.to_bytes()
    assert lodkit.VarDesc.from_bytes(desc.to_bytes()) == desc == desc.but(dtype="bfloat16") == desc.but(dtype=BFLOAT16)


def test_values_hold_it():
    x = LoDTensor(numbers(4, 3), [[1, 3]])
    assert (x * 2).dtype == HALF and x.to_padded().dtype == HALF and x[1].dtype == HALF
    assert lodkit.concat([x, x]).dtype == HALF and "bfloat16" in repr(x)
    rows = SelectedRows([1, 1, 3], numbers(3, 2), 5)
    merged, dense = rows.merge(), rows.to_dense()
    assert merged.dtype == dense.dtype == HALF and (rows + rows).dtype == HALF and (rows * 2).dtype == HALF
    exact = rows.value.astype(np.float32)
    np.testing.assert_array_equal(dense[1], (exact[0] + exact[1]).astype(HALF))
    # Rows that are listed twice are merged first, and their sum is rounded.
    np.testing.assert_allclose(rows.norm(), SelectedRows([1, 1, 3], exact, 5).norm(), rtol=2**-8)


def test_long_sums_are_rounded_once():
    """A sum in bfloat16 stops at 256 ones, one in float32 does not; tiles of long segments are rounded at their end."""
    for length, columns in some_of(itertools.product((3000, 2_000_000), (1, 4)), 4):
        ones = np.ones((length, columns), HALF)[:, 0] if columns == 1 else np.ones((length, columns), HALF)
        made = lodkit.sequence_pool(LoDTensor(ones, [[length]]), pool="sum")
        assert (made == np.float32(length).astype(HALF)).all()
    grad = SelectedRows(np.zeros(3000, np.int64), np.ones((3000, 2), HALF), 3)
    assert (grad.to_dense()[0] == np.float32(3000).astype(HALF)).all()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_casts(dtype):
    x = numbers(100, 3)
    there = lodkit.cast(x, dtype=dtype)
    assert there.dtype == dtype and (lodkit.cast(there, dtype="bfloat16") == x).all()
    np.testing.assert_array_equal(there, x.astype(np.float32).astype(dtype))
    many = np.random.default_rng(1).normal(size=5000).astype(dtype)
    made = lodkit.cast(many, dtype="bfloat16")
    assert made.dtype == HALF
    np.testing.assert_array_equal(made.view(np.uint16), many.astype(np.float32).astype(HALF).view(np.uint16))
    rows = lodkit.cast(SelectedRows([1], x[:1], 3), dtype=dtype)
    assert rows.dtype == dtype


def test_a_cast_from_float64_rounds_twice():
    """A little above the middle of two numbers of bfloat16, and in float32 the middle: ml_dtypes 0.7 rounds once."""
    x = np.repeat(1 + 2.0**-8 + 2.0**-30, 2000)
    for numbers in (x, x[:3]):
        found = lodkit.cast(numbers, dtype="bfloat16")
        assert (found == numbers.astype(np.float32).astype(HALF)).all()
        assert (found.astype(np.float64) == 1).all()


def test_other_byte_order_strides_and_lists_of_rows():
    table = numbers(9, 4)
    ids = LoDTensor(np.array([1, 1, 5]), [[2, 1]])
    expected = lodkit.embedding_bag(table, ids)
    for other in (np.asfortranarray(table), table[::-1][::-1], table.astype(HALF.newbyteorder(">"))):
        made = lodkit.embedding_bag(other, ids)
        assert made.dtype == HALF and (made == expected).all()
    assert (
        lodkit.sequence_pool(LoDTensor(table[:, ::2], [[4, 5]]))
        == lodkit.sequence_pool(LoDTensor(table[:, ::2].copy(), [[4, 5]]))
    ).all()


def test_refusals_come_before_anything_is_written():
    param, grad = numbers(4, 2), numbers(4, 2)
    kept = param.copy()
    wrong = [
        (lambda: lodkit.sgd(param, grad[:, :1], lr=1.0), lodkit.ShapeMismatchError),
        (lambda: lodkit.sgd(param, grad.astype(np.float64), lr=1.0), lodkit.DTypeError),
        (lambda: lodkit.adagrad(param, grad, np.zeros((4, 2)), lr=1.0), lodkit.DTypeError),
        (lambda: lodkit.sgd(param, param, lr=1.0), OutputError),
        (lambda: lodkit.sgd(param[:, ::-1], grad, lr=1.0), OutputError),
        (lambda: lodkit.relu(param, out=np.empty((4, 2), np.float32)), OutputError),
        (lambda: lodkit.lookup_table(param, [4]), lodkit.RowIndexError),
        (lambda: lodkit.sequence_pool(LoDTensor(param, [[4]]), pad_value=3.4e38 * 10), ValueError),
        (lambda: lodkit.embedding_bag(param, LoDTensor(np.array([1.0], HALF), [[1]])), lodkit.DTypeError),
    ]
    for call, error in wrong:
        with pytest.raises(error):
            call()
        assert (param == kept).all()
    param.flags.writeable = False
    for op in (lodkit.sgd, lodkit.sparse_normalize):
        with pytest.raises(OutputError, match="read-only"):
            op(param, grad, lr=1.0) if op is lodkit.sgd else op(param, [1])


def test_steps_are_rounded_at_random_on_average():
    """1,000 steps of a hundredth of the last digit count; the definition and the kernel move the same numbers."""
    kept, lost = np.ones((4, 50), HALF), np.ones((4, 50), HALF)
    grad = np.full((4, 50), 2.0**-14, HALF)
    for seed in range(1000):
        lodkit.sgd(kept, grad, lr=1.0, rounding_seed=seed)
        lodkit.sgd(lost, grad, lr=1.0)
    assert kept.astype(np.float32).mean() == pytest.approx(1 - 1000 * 2.0**-14, abs=0.003) and (lost == 1).all()
    one = numbers(4, 50)
    other = one.copy()
    rows = SelectedRows([2, 1], numbers(2, 50), 4)
    lodkit.sgd(one, rows, lr=0.1, rounding_seed=5)
    lodkit.sgd.definition(other, rows, lr=0.1, rounding_seed=5)
    np.testing.assert_allclose(one.astype(np.float32), other.astype(np.float32), rtol=2**-7)
    assert (one != other).mean() < 0.02


def test_files_and_arrow(tmp_path):
    state = {"table": numbers(5, 3), "x": LoDTensor(numbers(3), [[1, 2]]), "grad": SelectedRows([1], numbers(1, 2), 4)}
    lodkit.save(tmp_path / "x.safetensors", state)
    found = lodkit.load(tmp_path / "x.safetensors")
    for name, value in state.items():
        assert numbers_of(found[name]).dtype == HALF and (numbers_of(found[name]) == numbers_of(value)).all()
    assert (lodkit.load(tmp_path / "x.safetensors", mmap=True)["table"] == state["table"]).all()
    lodkit.save(tmp_path / "x.npz", state)
    assert (lodkit.load(tmp_path / "x.npz")["table"] == state["table"].astype(np.float32)).all()
    for value in state.values():
        back = loads(dumps(value), kind=type(value) if isinstance(value, SelectedRows) else LoDTensor)
        assert numbers_of(back).dtype == HALF and (numbers_of(back) == numbers_of(value)).all()
    pyarrow = pytest.importorskip("pyarrow")
    column = pyarrow.array(state["x"])
    assert column.type == pyarrow.large_list(pyarrow.float32()) and column.to_pylist() == state["x"].to_list()


def test_arrays_without_the_package():
    """``BFLOAT16`` stands for bits where ml_dtypes is missing."""
    x = numbers(6, 4)
    bits = x.view(BFLOAT16)
    assert is_bfloat16(bits.dtype) and not is_bfloat16(np.dtype("V2")) and not is_bfloat16(np.dtype(np.int16))
    t = LoDTensor(bits, [[2, 4]])
    made = lodkit.sequence_pool(t, pool="mean")
    assert made.dtype == BFLOAT16
    np.testing.assert_array_equal(
        made.view(np.uint16), lodkit.sequence_pool(t.with_values(x), pool="mean").view(np.uint16)
    )
    assert lodkit.relu(bits).dtype == BFLOAT16
    np.testing.assert_array_equal(to_dtype(bits, np.dtype(np.float32)), x.astype(np.float32))


def test_arrays_without_the_package_are_read_as_numbers():
    t = LoDTensor(np.array([1, 2.5, 3], HALF).view(BFLOAT16), [[2, 1]])
    assert t.to_list() == [[1.0, 2.5], [3.0]]
    assert "[[1., 2.5], [3.]]" in repr(t) and "dtype=bfloat16" in repr(t)
    assert (t == 2.5).to_list() == [[False, True], [False]] and (t != t).values.sum() == 0
    assert (t == t.with_values(np.array([1, 2, 3], np.float32))).values.tolist() == [True, False, True]
    for call in (lambda: t + 1, lambda: np.exp(t), lambda: t > 2, lambda: t * t.values[0]):
        with pytest.raises(lodkit.DTypeError, match=r"NumPy does not compute with bfloat16 by itself; convert with"):
            call()
    assert (lodkit.cast(t, dtype="float32") + 1).values.tolist() == [2, 3.5, 4]


def test_arrays_without_the_package_are_compared_as_numbers():
    t = LoDTensor(np.array([0.0, 2.5, 3], HALF).view(BFLOAT16), [[2, 1]])
    wide, other = lodkit.cast(t, dtype="float32"), t.with_values(np.array([-0.0, 2.5, 3], HALF).view(BFLOAT16))
    assert t.equals(other) and t.equals(wide) and wide.equals(t) and not t.equals(wide.with_values(wide.values + 1))
    assert (t == t.values[1]).values.tolist() == (wide == t.values[1]).values.tolist() == [False, True, False]
    padded = t.to_padded()
    assert LoDTensor.from_padded(padded, pad_value=0).recursive_sequence_lengths() == [[2, 1]]
    with pytest.raises(lodkit.DTypeError, match="tensors of the types bfloat16, float32 have no type in common"):
        lodkit.concat([t, wide])
    rows = SelectedRows([1], np.ones((1, 2), HALF).view(BFLOAT16), 3)
    for call in (lambda: -rows, lambda: rows * 2, lambda: rows / 2, lambda: rows - rows):
        with pytest.raises(lodkit.DTypeError, match=r"SelectedRows: NumPy does not compute with bfloat16 by itself"):
            call()
    assert (lodkit.cast(rows, dtype="float32") * 2).value.tolist() == [[2, 2]]


def test_astype_knows_the_name_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    bfloat16_dtype.cache_clear()
    try:
        t = LoDTensor(np.array([1, 2.5, 3], np.float32), [[2, 1]]).astype("bfloat16")
    finally:
        bfloat16_dtype.cache_clear()
    assert t.dtype == BFLOAT16 and t.to_list() == [[1, 2.5], [3]]


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_numbers_are_saved(suffix, tmp_path):
    lodkit.save(tmp_path / f"x{suffix}", {"x": HALF.type(2.5)})
    assert float(lodkit.load(tmp_path / f"x{suffix}")["x"]) == 2.5


def test_tapes_take_it_beside_float32():
    weight, x = lodkit.parameter(np.ones((3, 2), np.float32)), np.ones((4, 3), HALF)
    with lodkit.Tape() as tape:
        loss = lodkit.mean(lodkit.fc(x, weight))
    assert loss.dtype == np.float32 and (tape.gradient(loss, [weight])[0] == 0.5).all()
    with lodkit.Tape() as tape:
        loss = lodkit.cast(weight, dtype="bfloat16") * np.float32(0.25)
    by_weight = tape.gradient(loss, [weight])[0]
    assert by_weight.dtype == np.float32 and (by_weight == 0.25).all()


@with_all_types
def test_warm_up_compiles_for_it():
    lodkit.warmup(["embedding_bag", "relu", "sgd"], "bfloat16")
    lodkit.warmup("lookup_table", HALF)
