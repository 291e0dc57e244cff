"""Published names: slots and attributes that hold what they should not, and what may be unknown or a list."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor, VarDesc, VarType
from lodkit.paddle import SlotError, infer_op, run_op

ARRAY = [np.ones(2), np.zeros(2)]
X, TAGS = LoDTensor(np.zeros((3, 4)), [[2, 1]]), LoDTensor(np.array([0, 1, 1]), [[2, 1]])
WEIGHT, TRANSITION = np.ones((1, 4)), np.zeros((6, 4))
LSTM = {"Input": X, "Weight": WEIGHT, "Bias": np.zeros(7)}
CRF = {"Emission": np.zeros((2, 3, 4)), "Transition": TRANSITION, "Label": np.zeros((2, 3, 1), int)}
UNIT = {"Input": np.ones((2, 3)), "HiddenPrev": np.ones((2, 1)), "Weight": np.ones((1, 3))}


def desc(*dims, lod_level=0):
    return VarDesc("x", VarType.LOD_TENSOR, np.float32, dims, lod_level)


@pytest.mark.parametrize("name", ["lstm", "lstmp", "fusion_lstm"])
@pytest.mark.parametrize(("weight", "bias"), [((-1, -1), (1, 28)), ((4, 16), (1, -1)), ((-1, 16), (-1, -1))])
def test_dims_that_are_unknown(name, weight, bias):
    known = {"lstm": {"Weight": weight}, "lstmp": {"Weight": weight, "ProjWeight": (4, 4)}}
    known |= {"fusion_lstm": {"WeightX": (16, 16), "WeightH": weight}}
    slots = {slot: desc(*dims) for slot, dims in {**known[name], "Bias": bias}.items()}
    x = {"X" if name == "fusion_lstm" else "Input": desc(-1, 16, lod_level=1)}
    assert all(out.lod_level == 1 for out in infer_op(name, x | slots).values())


@pytest.mark.parametrize(
    ("name", "slots"),
    [
        ("lstm", {"Input": desc(-1, 4, lod_level=1), "Weight": desc(), "Bias": desc(1, 7)}),
        ("gru", {"Input": desc(-1, 4, lod_level=1), "Weight": desc()}),
    ],
)
def test_descriptions_without_dims(name, slots):
    with pytest.raises(lodkit.ShapeMismatchError, match=rf"{name}.infer: .* too few dimensions: .*weight \(\)"):
        infer_op(name, slots)


@pytest.mark.parametrize(("name", "slot"), [("crf_decoding", "Emission"), ("ctc_align", "Input")])
def test_descriptions_that_are_not_padded(name, slot):
    slots = {slot: desc(3), "Length" if name == "crf_decoding" else "InputLength": desc(3)}
    slots |= {"Transition": desc(4, 2)} if name == "crf_decoding" else {}
    with pytest.raises(lodkit.ShapeMismatchError, match=r"x has shape \(3,\); padded sequences are"):
        infer_op(name, slots)


def test_lists_of_numbers_are_arrays():
    given = {**LSTM, "Weight": WEIGHT.tolist(), "Bias": [0.0] * 7}
    assert run_op("lstm", given)["Hidden"].equals(run_op("lstm", LSTM)["Hidden"])
    losses = [run_op("linear_chain_crf", {**CRF, "Length": n})["LogLikelihood"] for n in ([3, 1], np.array([3, 1]))]
    np.testing.assert_array_equal(*losses)
    assert run_op("crf_decoding", {**CRF, "Length": [[3], [1]]})["ViterbiPath"].shape == (2, 3)
    assert run_op("sequence_mask", {"X": [1, 2], "MaxLenTensor": [3]})["Y"].shape == (2, 3)
    for index in (1, [1], np.array([[1]], np.int32)):
        assert run_op("read_from_array", {"X": ARRAY, "I": index})["Out"] is ARRAY[1]


@pytest.mark.parametrize(
    ("name", "slots", "attrs", "error", "text"),
    [
        ("lstm", {**LSTM, "Weight": "a"}, {}, TypeError, "Weight must be an array, .* got str"),
        ("lstm", {**LSTM, "Weight": 3}, {}, lodkit.DTypeError, "weight is int64"),
        ("lstm", {**LSTM, "Bias": np.array(1.0)}, {}, lodkit.ShapeMismatchError, r"bias has shape \(\)"),
        ("lstm", LSTM, {"use_peepholes": np.ones(2)}, TypeError, "use_peepholes must be True or False"),
        ("linear_chain_crf", {**CRF, "Emission": X, "Label": [0, 1, 1]}, {}, lodkit.NoKernelError, "wrap it"),
        ("linear_chain_crf", {**CRF, "Length": "ab"}, {}, TypeError, "Length must be an array"),
        ("chunk_eval", {"Inference": 1, "Label": TAGS}, {"num_chunk_types": 2}, lodkit.NoKernelError, "wrap it"),
        ("edit_distance", {"Hyps": TAGS, "Refs": TAGS}, {"normalized": np.ones(2)}, TypeError, "normalized must be"),
        ("sequence_pool", {"X": X}, {"pooltype": ["MAX"]}, TypeError, "pooltype must be a string"),
        ("sequence_pool", {"X": [X, X]}, {}, SlotError, "X takes one variable, got a list of 2"),
        ("sequence_pool", {"X": desc(2, 3)}, {}, TypeError, "got VarDesc"),
        ("gru_unit", UNIT, {"gate_activation": [1]}, ValueError, "an activation must be one of"),
        ("gru_unit", UNIT, {"gate_activation": True}, ValueError, "an activation must be one of"),
        ("read_from_array", {"X": ARRAY, "I": np.array([1.9])}, {}, lodkit.DTypeError, "I must be integers"),
        ("read_from_array", {"X": ARRAY, "I": "1"}, {}, TypeError, "I must be an array"),
        ("read_from_array", {"X": ARRAY, "I": [1 + 2j]}, {}, lodkit.DTypeError, "I must be integers"),
        ("read_from_array", {"X": ARRAY, "I": float("nan")}, {}, lodkit.DTypeError, "I must be integers"),
        ("read_from_array", {"X": ARRAY, "I": [[0, 1]]}, {}, SlotError, r"one integer, got shape \(1, 2\)"),
        ("sequence_mask", {"X": [1, 2], "MaxLenTensor": [1.7]}, {}, lodkit.DTypeError, "MaxLenTensor must be integers"),
        ("sequence_mask", {"X": [1, 2], "MaxLenTensor": []}, {}, SlotError, "MaxLenTensor must be one integer"),
        ("merge_ids", {"Ids": [], "Rows": [], "X": []}, {}, SlotError, "merge_ids needs the input Ids"),
        ("merge_ids", {"Ids": ARRAY, "Rows": ARRAY, "X": ()}, {}, SlotError, "Rows has 2 variables, X has 0"),
        (
            "filter_by_instag",
            {"Ins": np.ones((3, 1)), "Ins_tag": TAGS, "Filter_tag": [1]},
            {},
            SlotError,
            "Ins has no levels",
        ),
        ("read_from_array", {"X": ARRAY, "I": []}, {}, SlotError, r"one integer, got shape \(0,\)"),
    ],
)
def test_slots_and_attributes_are_checked_first(name, slots, attrs, error, text):
    with pytest.raises(error, match=text):
        run_op(name, slots, attrs)


@pytest.mark.parametrize("name", ["lod_array_length", "sum"])
def test_several_arrays_are_not_one_list(name):
    with pytest.raises(TypeError, match=rf"{name} takes arrays one by one, not as a list; pass \*"):
        lodkit.run(name, ARRAY)
    assert len(run_op(name, {"X": ARRAY})["Out"])
    with pytest.raises(TypeError, match="one by one"):
        lodkit.write_to_array(np.ones(2), [X, X], index=1)


@pytest.mark.parametrize("name", ["adam", "adamw", "lamb"])
@pytest.mark.parametrize("slot", ["Beta1Pow", "Beta2Pow"])
def test_powers_are_checked_before_anything_is_written(name, slot):
    frozen = np.array([0.9])
    frozen.flags.writeable = False
    for power in (np.array([1]), np.array([0.9, 0.9]), frozen, [0.9], np.ma.array([0.9], mask=[False])):
        states = {s: np.ones((4, 2)) for s in ("Param", "Moment1", "Moment2")}
        inputs = {"Grad": np.ones((4, 2)), "LearningRate": np.array([0.1]), **states}
        inputs |= {"Beta1Pow": np.array([0.9]), "Beta2Pow": np.array([0.999]), slot: power}
        attrs = {"weight_decay": 0.1} if name == "lamb" else {}
        with pytest.raises((TypeError, ValueError), match=slot):
            lodkit.paddle.run_op(name, inputs, attrs)
        assert all((x == 1).all() for x in states.values())


@pytest.mark.parametrize("name", ["adam", "adamw", "lamb", "adamax"])
@pytest.mark.parametrize("power", [np.nan, -0.9, 1.5, np.inf])
def test_what_is_no_power_of_a_beta(name, power):
    states = {s: np.ones((4, 2)) for s in ("Param", "Moment", "Moment1", "Moment2", "InfNorm")}
    slots = ("Moment", "InfNorm") if name == "adamax" else ("Moment1", "Moment2")
    inputs = {"Grad": np.ones((4, 2)), "LearningRate": np.array([0.1])} | {s: states[s] for s in ("Param", *slots)}
    powers = {"Beta1Pow": np.array([0.9]), "Beta2Pow": np.array([0.999])}
    powers = {"Beta1Pow": powers["Beta1Pow"]} if name == "adamax" else powers
    for slot in powers:
        attrs = {"weight_decay": 0.1} if name == "lamb" else {}
        with pytest.raises(ValueError, match="must be between 0 and 1, got"):
            lodkit.paddle.run_op(name, inputs | powers | {slot: np.array([power])}, attrs)
    assert all((x == 1).all() for x in states.values())


def test_betas_may_change_and_powers_underflow():
    states = {s: np.ones((1, 1), np.float32) for s in ("Param", "Moment1", "Moment2")}
    powers = {"Beta1Pow": np.array([0.9], np.float32), "Beta2Pow": np.array([0.9999999], np.float32)}
    inputs = {"Grad": np.ones((1, 1), np.float32), "LearningRate": np.array([0.1]), **states, **powers}
    for step in range(2000):  # a float32 power of 0.9 stays near the least subnormal number from step 960 on
        lodkit.paddle.run_op("adam", inputs, {"beta1": 0.9 if step % 3 else 0.8, "beta2": 0.9999999})
    assert powers["Beta1Pow"] < 1e-44
    assert np.isfinite(states["Param"]).all()


@pytest.mark.parametrize("beta", ["0.9", None, [0.9], 0.9 + 0j, np.array([0.9, 0.9])])
def test_betas_are_numbers(beta):
    inputs = {s: np.ones((4, 2)) for s in ("Param", "Grad", "Moment1", "Moment2")}
    inputs |= {"LearningRate": np.array([0.1]), "Beta1Pow": np.array([0.9]), "Beta2Pow": np.array([0.999])}
    for name in ("beta1", "beta2"):
        with pytest.raises(TypeError, match=f"adam: {name} must be a number"):
            lodkit.paddle.run_op("adam", inputs, {name: beta})


@pytest.mark.parametrize("betas", [(0.9, 0.0), (0.9, 0.001), (0.9999, 0.5), (0.0, 0.5), (0.9, 0.999)])
@pytest.mark.parametrize("name", ["adam", "adamw"])
def test_steps_are_counted_by_the_power_that_still_tells(name, betas):
    states = {s: np.full((2, 2), s == "Param", np.float32) for s in ("Param", "Moment1", "Moment2")}
    powers = {f"Beta{i}Pow": np.array([beta], np.float32) for i, beta in enumerate(betas, 1)}
    param = {"p": np.ones((2, 2), np.float32)}
    adam = lodkit.optim.Adam(param, lr=0.01, beta1=betas[0], beta2=betas[1])
    for step in range(1, 151):
        grad = np.full((2, 2), 1 + step % 5, np.float32)
        inputs = {"Grad": grad, "LearningRate": np.array([0.01]), **states, **powers}
        lodkit.paddle.run_op(name, inputs, {"beta1": betas[0], "beta2": betas[1]})
        adam.step({"p": grad})
    np.testing.assert_allclose(states["Param"], param["p"], rtol=1e-4)


@pytest.mark.parametrize(
    ("slot", "other"),
    [*itertools.product(("Beta1Pow", "Beta2Pow"), ("Param", "Grad", "Moment1", "Moment2")), ("Beta1Pow", "Beta2Pow")],
)
def test_powers_overlap_nothing(slot, other):
    inputs = {s: np.full((4, 2), 0.5) for s in ("Param", "Grad", "Moment1", "Moment2")}
    inputs |= {"LearningRate": np.array([0.1]), "Beta1Pow": np.array([0.5]), "Beta2Pow": np.array([0.5])}
    inputs[slot] = inputs[other].reshape(-1)[:1]
    with pytest.raises(lodkit.OutputError, match=r"Beta[12]Pow overlaps \w+; pass separate memory"):
        lodkit.paddle.run_op("adam", inputs)
    assert all((inputs[s] == 0.5).all() for s in ("Param", "Moment1", "Moment2"))


def test_powers_of_half_precision_are_refused():
    inputs = {s: np.ones((4, 2), np.float16) for s in ("Param", "Grad", "Moment1", "Moment2")}
    inputs |= {"LearningRate": np.array([0.1]), "Beta1Pow": np.array([0.9]), "Beta2Pow": np.array([1], np.float16)}
    with pytest.raises(lodkit.DTypeError, match="Beta2Pow must be float32 or float64"):
        lodkit.paddle.run_op("adam", inputs)
