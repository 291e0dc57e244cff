"""bfloat16 beside wider numbers: calls give the types that ``infer`` promises, and padding keeps the values' type."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import copy
from samples import SAMPLES, some_of

import lodkit
from lodkit import DTypeError, LodkitError, LoDTensor, VarDesc
from lodkit.registry.kinds import numbers_of, with_numbers

HALF = np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
FEW = 2  # samples of an operator


def is_wide(x):
    """Whether an input holds floating numbers of more than two bytes."""
    dtype = getattr(numbers_of(x), "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.kind == "f" and dtype.itemsize > 2


def mixtures(inputs):
    """Inputs in float32, one after another of which is in bfloat16."""
    for i, x in enumerate(inputs):
        if is_wide(x):
            types = [HALF if j == i else np.dtype(np.float32) for j in range(len(inputs))]
            pairs = zip(inputs, types, strict=True)
            yield [with_numbers(y, numbers_of(y).astype(kind)) if is_wide(y) else copy(y) for y, kind in pairs]


#: Arrays of tensors hold elements of several types, which no description has.
NAMES = [name for name, op in lodkit.OPS.items() if op.infer_function and not name.endswith("_array")]
CASES = {name: [case for case in SAMPLES[name] if sum(map(is_wide, case[0])) > 1][:FEW] for name in NAMES}


@pytest.mark.parametrize("name", some_of([name for name, cases in CASES.items() if cases], 6))
def test_infer_promises_the_types_of_a_call(name):
    op, ran = lodkit.OPS[name], 0
    for inputs, attrs in CASES[name]:
        for mixed in mixtures(op._accept(inputs)):
            described = [VarDesc.of(x) for x in mixed]
            try:
                made = op.full(*mixed, **attrs)
            except LodkitError:
                continue
            promised, ran = op.full.infer(*described, **attrs), ran + 1
            several = isinstance(promised, tuple)
            for desc, x in zip(promised if several else [promised], made if several else [made], strict=True):
                assert desc.dtype == VarDesc.of(x).dtype, (described, attrs)
    assert ran


PADDED = LoDTensor(np.ones(3, HALF), [[1, 2]])


@pytest.mark.parametrize("pad", [0.5, [0.5], np.float32(0.5), np.array([0.5]), np.array(0.5, np.float16)])
def test_padding_takes_the_type_of_the_values(pad):
    made = lodkit.sequence_pad(PADDED, pad)[0]
    assert made.dtype == HALF
    np.testing.assert_array_equal(made.astype(np.float32), [[1, 0.5], [1, 1]])
    with lodkit.Tape():
        assert numbers_of(lodkit.sequence_pad(PADDED, pad)[0]).dtype == HALF


@pytest.mark.parametrize("pad", [3.4e38, 1e39, -1e300])
def test_padding_that_bfloat16_has_not_raises(pad):
    for call in (
        lambda: lodkit.sequence_pad(PADDED, pad, max_length=3),
        lambda: lodkit.lengths_pad(PADDED.values, [1, 2], max_length=3, pad_value=pad),
        lambda: lodkit.sequence_pool(LoDTensor(PADDED.values, [[3, 0]]), pool="max", pad_value=pad),
    ):
        with pytest.raises(ValueError, match="is no value of bfloat16"):
            call()
    with pytest.raises(DTypeError, match="bfloat16 cannot hold pad_value"):
        PADDED.to_padded(pad)


def test_infinite_padding_stays():
    assert np.isinf(lodkit.sequence_pad(PADDED, -np.inf)[0].astype(np.float32)[0, 1])
    assert np.isinf(PADDED.to_padded(np.inf).astype(np.float32)[0, 1])
    assert np.isnan(PADDED.to_padded(np.nan).astype(np.float32)[0, 1])


@pytest.mark.parametrize(
    "call",
    [
        lambda: lodkit.sequence_concat(PADDED, LoDTensor(np.ones(3, np.float16), [[1, 2]])),
        lambda: lodkit.sgd(np.ones((3, 2), HALF), np.ones((3, 2), np.float16), lr=0.1),
        lambda: lodkit.relu(PADDED.values, out=np.ones(3, np.float16)),
    ],
)
def test_an_error_says_that_float32_stands_for_bfloat16(call):
    with pytest.raises((DTypeError, lodkit.OutputError), match=r"\(numbers of bfloat16 were read as float32\)"):
        call()


@pytest.mark.parametrize("number", [HALF.type(0.5), np.array([0.5], HALF)])
def test_numbers_of_bfloat16_are_numbers(number):
    param = np.ones((2, 1), np.float32)
    assert lodkit.sgd(param, param.copy(), lr=number).tolist() == [[0.5], [0.5]]
    assert lodkit.sequence_pad(PADDED, number)[0][0, 1] == 0.5


@pytest.mark.parametrize("number", [HALF.type(0.5), np.float32(0.5)])
def test_attributes_take_numbers_of_every_floating_type(number):
    assert lodkit.scale(np.ones(2), scale=number).tolist() == [0.5, 0.5]


def test_masks_have_its_ones(emulated_gpu):
    made = lodkit.sequence_mask(np.array([1, 0, 2]), dtype="bfloat16")
    assert made.dtype == HALF
    np.testing.assert_array_equal(made.astype(np.float32), [[1, 0], [0, 0], [1, 1]])
    assert lodkit.sequence_mask.infer(VarDesc.of(np.array([1])), dtype="bfloat16").dtype == HALF
    with pytest.raises(DTypeError, match="on a GPU only PyTorch has bfloat16; pass lengths in a tensor"):
        lodkit.sequence_mask(emulated_gpu.to_gpu(np.array([1])), dtype="bfloat16")


@pytest.mark.parametrize("dtype", [HALF, HALF.type, lodkit.arrays.BFLOAT16, "bfloat16"])
def test_a_cast_takes_every_name_of_the_type(dtype):
    assert lodkit.cast(np.ones(2), dtype=dtype).dtype == HALF


def test_a_pad_has_a_gradient_in_its_type():
    pad = lodkit.parameter(np.array([0.5], HALF))
    with lodkit.Tape() as tape:
        padded = lodkit.sequence_pad(PADDED, pad)[0]
    (grad,) = tape.gradient(padded, [pad])
    assert grad.dtype == HALF and grad.tolist() == [1.0]
