"""Kernels for few sequences: which calls select them, why others do not, and that plans call them."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from calls import functions_of
from samples import SAMPLES
from test_every_op import same

import lodkit
from lodkit import Dense, LoDTensor
from lodkit.jit import settings
from lodkit.jit.typed import Numbers
from lodkit.registry import FewSequences, operators

X = LoDTensor(np.arange(80, dtype=np.float32).reshape(5, 16), [[2, 0, 3]])
MASK = np.array([True, False, True])
TRUES, FALSES = LoDTensor(X.values, [[2, 3]]), LoDTensor(X.values[:0], [[0]])
PADDED, LENGTHS = np.arange(18, dtype=np.float32).reshape(3, 3, 2), np.array([2, 0, 3])
TWICE = LoDTensor(np.zeros(6), [[2, 2, 2]])
#: Operators with a kernel for few sequences: inputs of a call, and the most functions that it passes.
FEW = {
    "split_lod_tensor": ((X, MASK), 8),
    "merge_lod_tensor": ((TRUES, FALSES, MASK), 8),
    "sequence_concat": ((X, X), 8),
    "sequence_expand": ((X, TWICE), 8),
    "sequence_slice": ((X, np.zeros(3, np.int64)), 8),
    "sequence_pad": ((X,), 9),
    "sequence_unpad": ((PADDED, LENGTHS), 7),
}


def test_samples_select_every_kernel_for_few_sequences(monkeypatch):
    monkeypatch.setattr(settings, "parallel_from", 1 << 16)
    for name, op in lodkit.OPS.items():
        op._load("cpu")
        if op._few:
            assert any(op.select(*inputs).contract for inputs, _ in SAMPLES[name]), name


@pytest.mark.jit
@pytest.mark.parametrize("name", FEW)
def test_the_kernel_for_few_sequences_is_selected(name, monkeypatch):
    monkeypatch.setattr(settings, "parallel_from", 1 << 16)
    op, (inputs, _) = lodkit.OPS[name], FEW[name]
    few, expected = op.select(*inputs), op.definition(*inputs)
    assert few.contract and "kernels/cpu/" in few.place and few.loop.place
    said = repr(op.explain(*inputs))
    assert few.place in said and "1 to 262,143 numbers" in said and "shares no work" in said
    given = op.explain(*inputs, out=np.empty(9))
    assert given.kernel.contract is None and "calls where no out= is given" in repr(given)
    for result in (few(*inputs, **op.defaults), op(*inputs)):
        for x, y in zip(*(r if isinstance(r, tuple) else (r,) for r in (result, expected)), strict=True):
            same(x, y)
    monkeypatch.setattr(settings, "parallel_from", 0)
    assert op.select(*inputs).contract is None and "kernels/common/" in op.select(*inputs).place
    assert "not chosen" in repr(op.explain(*inputs))


def test_the_kernel_for_few_sequences_says_why_it_is_not_chosen():
    def reason(op, *inputs, **attrs):
        said = op.explain(*inputs, **attrs)
        assert said.kernel.contract is None and said.kernel == op._find("cpu", said.kernel.key)
        return dict(said.rows)["  not chosen"].rpartition(" where ")[2]

    nested, halves = LoDTensor(X.values[:3], [[2], [1, 2]]), X.with_values(X.values.astype(np.float16))
    assert reason(lodkit.split_lod_tensor, nested, MASK[:1]) == "x has one level"
    assert reason(lodkit.split_lod_tensor, X, MASK.astype(int)) == "mask is a C-contiguous vector of bool"
    assert reason(lodkit.sequence_slice, X, np.zeros(6, int)[::2]) == "starts is a C-contiguous vector of int64"
    assert reason(lodkit.sequence_concat, X, halves) == "rows of y are like those of x"
    assert reason(lodkit.sequence_concat, *[X] * 3) == "there are 2 inputs"
    assert reason(lodkit.sequence_concat, X, X, axis=1) == "axis is 0"
    assert reason(lodkit.sequence_unpad, PADDED, LENGTHS, side="left") == "side is 'right'"
    assert reason(lodkit.sequence_pad, X, 0.0) == "pad_value is not given"
    assert reason(lodkit.sequence_unpad, PADDED[:, :0], LENGTHS) == "x has 1 to 262,143 numbers"


#: Calls that keep the contract but have data that do not fit.
WRONG = {
    "split_lod_tensor": ((X, MASK[:2]), r"mask has shape \(2,\) for 3 sequences"),
    "merge_lod_tensor": ((X, X, np.arange(6) < 2), "the mask has 2 True, in_true 3 sequences"),
    "sequence_concat": ((X, TRUES), "input 1 has 2 sequences, input 0 3"),
    "sequence_expand": ((X, TWICE[:2]), "x has 3 sequences, level -1 of y has 2 sequences"),
    "sequence_slice": ((X, np.array([0, 1, 0])), r"\[1:\] is not inside sequence 1, which has 0 parts"),
    "sequence_unpad": ((PADDED, LENGTHS + 1), r"lengths\[2\] = 4 is more than the 3 rows"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_data_of_few_sequences_are_explained(name):
    op, (inputs, text) = lodkit.OPS[name], WRONG[name]
    assert op.select(*inputs).contract
    op(*FEW[name][0])
    for _ in range(2):
        with pytest.raises(lodkit.LodkitError, match=text):
            op(*inputs)
        op._plans.clear()


@pytest.mark.jit
@pytest.mark.parametrize("name", FEW)
def test_the_kernel_for_few_sequences_is_called_by_the_plan(name):
    op, (inputs, most) = lodkit.OPS[name], FEW[name]
    names = functions_of(lambda: op(*inputs))
    assert names[:3] == [name, "plan", op.select(*inputs).__name__] and len(names) <= most, names


def test_a_kernel_for_few_sequences_returns_what_it_does_not_take(monkeypatch):
    """A plan then runs the kernel of all calls, which explains."""
    monkeypatch.setattr(operators, "OPS", operators.Registry(lodkit.OPS))

    @lodkit.op
    def longest(x: LoDTensor, extra: Dense | None = None, /, *, level: int = -1) -> Dense:
        """Longest length."""
        return np.array(x.max_length(level))

    ran = []

    @longest.kernel("cpu")
    def measure(x: LoDTensor, extra: Dense | None, /, *, level):
        ran.append("all")
        return longest.definition(x, extra, level=level)

    @longest.kernel("cpu")
    def measure_few(x: FewSequences, extra: Numbers | None, /, *, level: Literal[-1]):
        ran.append("few")
        values, offsets = x
        return NotImplemented if len(values) == 4 else np.array(np.diff(offsets).max())

    for numbers, expected in ((np.arange(6), ["few"]), (np.arange(4), ["few", "all"]), (np.arange(0), ["all"])):
        x = LoDTensor(numbers, [[len(numbers) - len(numbers) // 2, len(numbers) // 2]])
        for _ in range(2):
            ran.clear()
            assert (longest(x).item(), ran) == (x.max_length(), expected)
        assert longest.select(x)(x, level=-1) == x.max_length()
        ran.clear()
        assert (longest(x, np.arange(2)).item(), ran) == (x.max_length(), expected)
        ran.clear()
        longest(x, np.arange(2.0)), longest(x, level=0)
        assert ran == ["all", "all"]
    with pytest.raises(ValueError, match=r'FewSequences and FewRows are for @longest.kernel\("cpu"\), got .cuda.;'):
        longest.kernel("cuda")(measure_few)


@pytest.mark.parametrize(
    ("call", "inputs", "attrs"),
    [
        ("sequence_concat", (TRUES, TRUES), {"axis": 1}),
        ("sequence_concat", (X, X, X), {}),
        ("sequence_pad", (X,), {"side": "left"}),
        ("sequence_pad", (X, np.float32(7)), {}),
        ("split_lod_tensor", (X, np.repeat(MASK, 2)[::2]), {}),
    ],
)
def test_a_selected_kernel_is_called_as_the_operator_is(call, inputs, attrs):
    """With inputs and attributes that its contract has not, it hands the call on."""
    op = lodkit.OPS[call]
    like = inputs[:1] if call == "sequence_pad" else (X, X) if call == "sequence_concat" else (X, MASK)
    same(op.select(*like)(*inputs, **attrs), op(*inputs, **attrs))


def test_a_selected_kernel_refuses_what_the_operator_refuses():
    wide = LoDTensor(X.values.astype(np.float64), [[2, 0, 3]])
    with pytest.raises(lodkit.DTypeError):
        lodkit.sequence_concat.select(X, X)(X, wide)


def test_tensors_and_parameters_select_the_kernel_of_all_calls():
    assert "not chosen" in repr(lodkit.sequence_unpad.explain(lodkit.parameter(PADDED), LENGTHS))
