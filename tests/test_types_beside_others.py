"""Numbers of two types in one call, and of types that NumPy lacks: what the error says is done, and loses nothing."""

from __future__ import annotations

import re

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor
from lodkit.arrays import BFLOAT16

IDS = np.array([0])


def sequences(dtype, numbers=(1, 2, 3)):
    return LoDTensor(np.array(numbers).astype(dtype), [[1, len(numbers) - 1]])


def error_of(call, *inputs, **attrs):
    with pytest.raises(lodkit.DTypeError) as told:
        call(*inputs, **attrs)
    return str(told.value)


def assign_rows(x, y):
    return lodkit.scatter_assign(x.values, IDS, y.values[:1])


BOTH = [lodkit.sequence_concat, assign_rows]


@pytest.mark.parametrize("call", BOTH)
@pytest.mark.parametrize("other", ["i1", "i4", "i8"])
def test_ids_of_64_bits_are_told_when_they_fit(call, other):
    for pair in (("u8", other), (other, "u8"), (other, ">u8")):
        message = error_of(call, *map(sequences, pair))
        assert ".astype(np.int64)" in message
        assert message.endswith("if all are below 2**63")


@pytest.mark.parametrize("call", BOTH)
@pytest.mark.parametrize("other", ["u4", "u2", "?"])
def test_unsigned_ids_stay_unsigned(call, other):
    largest = np.array([2**64 - 1] * 3, np.uint64)
    for pair in ((largest, np.ones(3, other)), (np.ones(3, other), largest)):
        given = [LoDTensor(x, [[1, 2]]) for x in pair]
        assert "with .astype(np.uint64)" in error_of(call, *given)
        assert getattr(call(*(x.astype(np.uint64) for x in given)), "dtype", None) == np.uint64


UNITS = [("M8[D]", "M8[s]", "datetime64[s]"), ("m8[ns]", "m8[h]", "timedelta64[ns]"), ("M8[3s]", "M8[7s]", None)]


@pytest.mark.parametrize("call", BOTH)
@pytest.mark.parametrize(("first", "second", "common"), UNITS)
def test_times_of_two_units_get_the_finer_one(call, first, second, common):
    for pair in ((first, second), (second, first)):
        given = [*map(sequences, pair)]
        message = error_of(call, *given)
        unit = re.search(r'\.astype\("(\S+)"\), if 64 bits hold all in that unit$', message)[1]
        assert unit == common or (common is None and "convert both" in message)
        made = [x.astype(unit) for x in given]
        assert all((x.values == y.values).all() for x, y in zip(made, given, strict=True))
        assert call(*made).dtype == unit


@pytest.mark.parametrize("pair", [("m8[Y]", "m8[D]"), ("M8[s]", "m8[s]")])
def test_times_without_a_common_unit_are_told_so(pair):
    message = error_of(lodkit.sequence_concat, *map(sequences, pair))
    assert message.endswith("no type of times holds both; pass numbers in one unit, as .astype(np.int64) gives them")


@pytest.mark.parametrize(("other", "target"), [("i8", "int64"), ("f4", "float64"), ("f8", "float64")])
def test_times_beside_numbers_become_numbers_that_hold_seconds(other, target):
    seconds = sequences("M8[s]", (1_700_000_001, 2, 3))
    for given in ((seconds, sequences(other)), (sequences(other), seconds)):
        assert f".astype(np.{target})" in error_of(lodkit.sequence_concat, *given)
        made = lodkit.sequence_concat(*(x.astype(target) for x in given))
        assert 1_700_000_001 in made.values


@pytest.mark.parametrize("pool", ["sum", "sqrt", "mean"])
def test_times_in_sequences_are_converted_by_their_method(pool):
    x = sequences("M8[s]")
    message = error_of(lodkit.sequence_pool, x, pool=pool)
    assert "convert with .astype(np.int64)" in message
    assert "np.asarray(x).astype" not in message.partition("a list with")[0]
    assert lodkit.sequence_pool(x.astype(np.int64), pool="max").tolist() == [1, 3]


def test_parts_of_values_in_sequences_are_told():
    for values in (np.array([1 + 2j, 3]), np.array([(1.0,), (3.0,)], [("name", float)])):
        x = LoDTensor(values, [[2]])
        made = re.search(r"of a LoDTensor (x\.with_values\(.*\))$", error_of(lodkit.sequence_pool, x))[1]
        assert lodkit.sequence_pool(eval(made, {"np": np, "x": x})).tolist() == [4.0]
    x = LoDTensor(np.array([1.0, 3.0]).view("V8"), [[2]])
    made = re.search(r"of a LoDTensor (x\.with_values\(.*?\)\))", error_of(lodkit.sequence_pool, x))[1]
    assert lodkit.sequence_pool(eval(made, {"dtype": np.float64, "x": x})).tolist() == [4.0]


SMALL = ["int4", "uint4", "int2", "float8_e4m3", "float8_e4m3fnuz", "float8_e8m0fnu", "float4_e2m1fn", "float6_e2m3fn"]
FLOAT8 = ["float8_e4m3fn", "float8_e5m2"]
CALLS = {
    "relu": lodkit.relu,
    "infer": lambda x: lodkit.relu.infer(lodkit.VarDesc.of(x)),
    "gradient": lambda x: lodkit.relu_grad(x, x),
    "isnan": lodkit.isnan,
    "sequence_pool": lambda x: lodkit.sequence_pool(LoDTensor(x, [[1, 3]])),
    "fc": lambda x: lodkit.fc(np.ones((3, 4), np.float32), x),
    "weights": lambda x: lodkit.segment_reduce(np.ones((4, 2), np.float32), np.array([4]), x[:, 0], by="lengths"),
    "labels": lambda x: lodkit.sigmoid_cross_entropy_with_logits(np.ones((4, 2)), x),
    "keys": lambda x: lodkit.sequence_sort(LoDTensor(np.ones(4), [[1] * 4]), x[:, 0]),
    "ids": lambda x: lodkit.lookup_table(np.ones((4, 2)), x[:, 0]),
    "parameter": lodkit.parameter,
    "optimizer": lambda x: lodkit.optim.SGD({"w": x}, lr=0.1),
    "step": lambda x: lodkit.optim.SGD({"w": np.ones((4, 2), np.float32)}, lr=0.1).step({"w": x}),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", SMALL + FLOAT8)
def test_numbers_of_few_bits_are_taken_after_the_cast_that_is_told(name, call):
    x = np.ones((4, 2)).astype(getattr(pytest.importorskip("ml_dtypes"), name))
    message = error_of(CALLS[call], x)
    assert "field" not in message
    CALLS[call](x.astype(re.search(r"\.astype\(np\.(\w+)\)", message)[1]))


@pytest.mark.parametrize("name", ["float8_e4m3", "int4"])
def test_numbers_of_few_bits_beside_integers_are_not_cut_off(name):
    x = np.array([[1.5]]).astype(getattr(pytest.importorskip("ml_dtypes"), name))
    message = error_of(lodkit.concat_columns, np.array([[1]], np.int32), x)
    assert f"np.{'float64' if name.startswith('float') else 'int32'})" in message


def test_a_reduction_is_named_with_the_type_that_may_be_asked_for():
    x = sequences("i1")
    message = error_of(lodkit.sequence_pool, x, dtype="float64")
    assert "mean, sqrt, logsumexp and logmeanexp of integers, not sum of int8; convert the result" in message
    assert "pass dtype='float64', or convert with" in error_of(lodkit.sequence_pool, x, pool="mean")
    for call in (lodkit.reduce_dims, lodkit.reduce_dims.definition):
        message = error_of(call, x.values, reduce="mean")
        assert "mean of int8 values is no integer; convert with .astype(np.float64)" in message
        assert "dtype=" not in message


def test_ids_to_be_hashed_in_32_bits_are_told_when_they_fit():
    message = error_of(lodkit.hash_rows, LoDTensor(np.array([[2**40]]), [[1]]), mod_by=5, num_hash=1, dtype="int32")
    assert "convert with .astype(np.int32)" in message
    assert message.endswith("if all are below 2**31")


def test_gradients_and_parameters_of_bfloat16_are_cast():
    half = np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    wide = np.ones((4, 2), np.float32)
    for bits in (half, BFLOAT16):
        narrow = wide.astype(half).view(bits)
        for param, grad in ((narrow.copy(), wide), (wide.copy(), narrow)):
            optimizer = lodkit.optim.SGD({"w": param}, lr=0.5)
            message = error_of(optimizer.step, {"w": grad})
            made = re.search(r"convert with (lodkit\.cast\(.*\))$", message)[1]
            optimizer.step({"w": eval(made, {"lodkit": lodkit, "x": grad})})
            assert (lodkit.cast(param, dtype="float32") == 0.5).all()
