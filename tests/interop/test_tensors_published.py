"""Caffe2's and Paddle's names take tensors wherever they take arrays."""

from __future__ import annotations

import pytest
from samples import CAFFE2, PADDLE

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.registry.torch_arguments import contains_tensor

torch = pytest.importorskip("torch")
from test_tensors_every_op import copy, same, tensors  # noqa: E402


def mapped(function, x):
    return [function(part) for part in x] if isinstance(x, list) else function(x)


@pytest.mark.parametrize("name", lodkit.caffe2.OPERATORS)
def test_caffe2_names(name):
    *inputs, last = CAFFE2[name]
    attrs, inputs = (last, inputs) if isinstance(last, dict) else ({}, [*inputs, last])
    run = getattr(lodkit.caffe2, name)
    given = [tensors(x) for x in inputs]
    if not contains_tensor(given):
        pytest.skip("no input of this sample can be a tensor")
    same(run(*given, **attrs), run(*map(copy, inputs), **attrs))


@pytest.mark.parametrize("name", lodkit.paddle.TYPES)
def test_paddle_types(name):
    inputs, attrs = PADDLE[name]
    given = {slot: mapped(tensors, x) for slot, x in inputs.items()}
    if not contains_tensor(given):
        pytest.skip("no input of this sample can be a tensor")
    outs = lodkit.paddle.run_op(name, given, attrs)
    expected = lodkit.paddle.run_op(name, {slot: mapped(copy, x) for slot, x in inputs.items()}, attrs)
    assert set(outs) == set(expected)
    for slot, value in expected.items():
        same(outs[slot], value)


def test_updates_return_what_was_given():
    table, moment, ids = torch.ones(4, 2), torch.zeros(4, 2), torch.tensor([0, 1])
    version = table._version
    made = lodkit.caffe2.SparseAdagrad(table, moment, ids, torch.ones(2, 2), torch.tensor([-0.5]))
    assert made[0] is table and made[1] is moment and table._version > version
    assert table.tolist() == [[pytest.approx(0.5, abs=1e-4)] * 2] * 2 + [[1, 1]] * 2
    half, grad = torch.ones(4, 2, dtype=torch.bfloat16), SelectedRows([1], torch.ones(1, 2).bfloat16(), 4)
    outs = lodkit.paddle.run_op("sgd", {"Param": half, "Grad": grad, "LearningRate": torch.tensor([0.5])}, {})
    assert outs["ParamOut"] is half and half.tolist() == [[1, 1], [0.5, 0.5], [1, 1], [1, 1]]


def test_refusals_name_the_slot():
    leaf = torch.ones(3, requires_grad=True)
    with pytest.raises(TypeError, match=r"sequence_pool: X requires grad.*lodkit\.interop\.torch"):
        lodkit.paddle.run_op("sequence_pool", {"X": LoDTensor(leaf, [[2, 1]])}, {})
    with pytest.raises(TypeError, match="LengthsSum: input 0 requires grad"):
        lodkit.caffe2.LengthsSum(leaf, torch.tensor([3], dtype=torch.int32))
    with lodkit.Tape(), pytest.raises(TypeError, match=r"a lodkit\.Tape records"):
        lodkit.caffe2.LengthsSum(leaf.detach(), torch.tensor([3], dtype=torch.int32))
