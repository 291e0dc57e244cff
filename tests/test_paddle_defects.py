"""What Paddle computes wrongly, by its own operators' names: here it is right, or refused.

Paddle's recurrent operators (gates without gradient, ignored modes) are not in this package.
"""

from __future__ import annotations

import numpy as np
import pytest
from differences import parameters

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.paddle import run_op

LR = np.array([0.1])


def gradients(run, *arrays):
    arrays = parameters(arrays)
    with lodkit.Tape() as tape:
        out = run(*arrays)
    return tape.gradient(out, arrays)


def ragged(values, *lengths):
    return LoDTensor(np.array(values, float), [list(n) for n in lengths])


def test_a_softmax_of_large_scores_is_no_nan():
    out = run_op("sequence_softmax", {"X": ragged([1000.0, 1000.0], [2])})["Out"]
    np.testing.assert_array_equal(out.values, [0.5, 0.5])


def test_a_convolution_that_starts_behind_a_short_sequence_has_a_gradient():
    x, weight = ragged([[1.0], [2.0], [3.0]], [1, 2]), np.ones((2, 1))
    out = run_op("sequence_conv", {"X": x, "Filter": weight}, {"contextStart": 1, "contextLength": 2})["Out"]
    grad = gradients(lambda w: lodkit.sequence_conv(x, w, context_start=1, context_length=2), weight)[0]
    np.testing.assert_array_equal(out.values.ravel(), [0, 3, 0])
    np.testing.assert_array_equal(grad.ravel(), [3, 0])


@pytest.mark.parametrize("is_sparse", [False, True])
def test_the_padding_row_has_no_gradient(is_sparse):
    table, ids = np.ones((3, 2)), np.array([1, 2])
    grad = gradients(lambda w: lodkit.lookup_table(w, ids, padding_idx=1, is_sparse=is_sparse), table)[0]
    grad = grad.to_dense() if is_sparse else grad
    np.testing.assert_array_equal(grad, [[0, 0], [0, 0], [1, 1]])


def test_sparse_gradients_are_clipped():
    clipped = run_op("clip", {"X": SelectedRows([2, 2], [[3.0], [-9.0]], 4)}, {"min": -1.0, "max": 1.0})["Out"]
    np.testing.assert_array_equal(clipped.to_dense().ravel(), [0, 0, -1, 0])  # of the sum of equal rows


STATES = {
    "adam": {"Moment1": 0.5, "Moment2": 0.5},
    "momentum": {"Velocity": 0.5},
    "rmsprop": {"MeanSquare": 0.5, "Moment": 0.5},
    "adagrad": {"Moment": 0.5},
    "adadelta": {"AvgSquaredGrad": 0.5, "AvgSquaredUpdate": 0.5},
    "ftrl": {"SquaredAccumulator": 0.5, "LinearAccumulator": 0.5},
    "lamb": {"Moment1": 0.5, "Moment2": 0.5},
    "sgd": {},
}
ATTRS = {"momentum": {"mu": 0.9}, "lamb": {"weight_decay": 0.01}}


def step(name, grad, **attrs):
    """What an optimizer of Paddle's gives; ftrl's parameter is what its accumulators give."""
    param = np.full((4, 1), -0.5 / (np.sqrt(0.5) / 0.1) if name == "ftrl" else 1.0)
    inputs = {"Param": param, "Grad": grad, "LearningRate": LR}
    inputs |= {slot: np.full((4, 1), start) for slot, start in STATES[name].items()}
    if name in ("adam", "lamb"):
        inputs |= {"Beta1Pow": np.array([0.9]), "Beta2Pow": np.array([0.999])}
    return run_op(name, inputs, {**ATTRS.get(name, {}), **attrs})


@pytest.mark.parametrize("name", STATES)
@pytest.mark.parametrize("rows", [[3, 1], [1, 3], [2, 0, 2], []], ids=["unsorted", "sorted", "duplicate", "none"])
def test_sparse_steps_are_the_dense_ones(name, rows):
    """No row is lost, powers of betas are those of this step, and a gradient without rows decays as zeros do."""
    grad = SelectedRows(np.array(rows, np.int64), np.arange(1.0, 1 + len(rows)).reshape(-1, 1), 4)
    sparse, dense = step(name, grad), step(name, grad.to_dense())
    assert sparse.keys() == dense.keys()
    for slot in dense:
        np.testing.assert_allclose(sparse[slot], dense[slot], rtol=1e-12, err_msg=slot)


@pytest.mark.parametrize("rows", [[1, 3], [3, 1], [2, 2]])
def test_a_lazy_adam_takes_this_steps_powers(rows):
    """The rows that it lists change as a dense step changes them; others stay."""
    grad = SelectedRows(rows, [[1.0], [2.0]], 4)
    lazy, dense = (step("adam", g, lazy_mode=g is grad) for g in (grad, grad.to_dense()))
    others = np.setdiff1d(np.arange(4), rows)
    np.testing.assert_allclose(lazy["ParamOut"][rows], dense["ParamOut"][rows], rtol=1e-12)
    np.testing.assert_array_equal(lazy["ParamOut"][others], 1)


def test_unsorted_rows_of_nesterovs_momentum():
    grad = SelectedRows([3, 1], [[1.0], [2.0]], 4)
    sparse, dense = (step("momentum", given, use_nesterov=True) for given in (grad, grad.to_dense()))
    np.testing.assert_allclose(sparse["ParamOut"], dense["ParamOut"], rtol=1e-12)


def test_unsorted_rows_of_a_centered_rmsprop():
    grad = SelectedRows([3, 1], [[1.0], [2.0]], 4)

    def centered(given):
        inputs = {"Param": np.ones((4, 1)), "Grad": given, "LearningRate": LR, "MeanGrad": np.full((4, 1), 0.1)}
        inputs |= {"MeanSquare": np.full((4, 1), 0.5), "Moment": np.full((4, 1), 0.5)}
        return run_op("rmsprop", inputs, {"centered": True})["ParamOut"]

    np.testing.assert_allclose(centered(grad), centered(grad.to_dense()), rtol=1e-12)


def test_adadelta_takes_the_average_before_this_step():
    out = step("adadelta", np.full((4, 1), 2.0), rho=0.9, epsilon=1e-6)
    square = 0.9 * 0.5 + 0.1 * 4
    moved = np.sqrt((0.5 + 1e-6) / (square + 1e-6)) * 2
    np.testing.assert_allclose(out["AvgSquaredUpdateOut"], 0.9 * 0.5 + 0.1 * moved**2, rtol=1e-12)


def test_what_paddle_applies_in_part_is_refused():
    inputs = {"Param": np.ones((4, 1)), "Grad": np.ones((4, 1)), "LearningRate": LR}
    inputs |= {"Moment1": np.ones((4, 1)), "Moment2": np.ones((4, 1))}
    inputs |= {"Beta1Pow": np.array([0.9]), "Beta2Pow": np.array([0.999])}
    with pytest.raises(NotImplementedError, match="lr_ratio"):
        run_op("adamw", inputs, {"lr_ratio": 0.5})


def test_sgd_refuses_another_height_and_leaves_other_rows():
    with pytest.raises(lodkit.LodkitError, match=r"gradient has shape \(5, 1\)"):
        run_op("sgd", {"Param": np.ones((4, 1)), "Grad": SelectedRows([1], [[1.0]], 5), "LearningRate": LR})
    out = step("sgd", SelectedRows([1], [[1.0]], 4))["ParamOut"]
    np.testing.assert_allclose(out.ravel(), [1, 0.9, 1, 1])


def test_levels_are_kept():
    x, y = ragged([[1.0], [2.0], [3.0]], [1, 1], [1, 2]), ragged([[4.0], [5.0]], [1, 1], [1, 1])
    joined = run_op("sequence_concat", {"X": [x, y]})["Out"]
    np.testing.assert_array_equal(joined.values.ravel(), [1, 4, 2, 3, 5])
    for name in ("abs", "assign"):
        assert run_op(name, {"X": x})["Out"].equals(x)


def test_pools_see_every_nan_and_empty_sequences():
    nan = run_op("sequence_pool", {"X": ragged([[1.0], [np.nan], [2.0]], [3])}, {"pooltype": "MAX"})["Out"]
    assert np.isnan(nan).all()
    for lengths in ([0, 0, 0], [1, 0, 0]):
        x = LoDTensor(np.ones((sum(lengths), 2)), [lengths])
        for pool in ("SUM", "AVERAGE", "SQRT", "MAX", "LAST", "FIRST"):
            out = run_op("sequence_pool", {"X": x}, {"pooltype": pool, "pad_value": 7.0})["Out"]
            np.testing.assert_array_equal(out[[n == 0 for n in lengths]], 7.0)


def test_lengths_are_lengths():
    x = LoDTensor(np.ones((3, 1)), [[3]])
    assert lodkit.lod_append(x, [1, 1, 1]).recursive_sequence_lengths() == [[3], [1, 1, 1]]


def test_empty_sequences_are_merged_and_convolved():
    x, mask = ragged([[1.0], [2.0], [3.0]], [0, 2, 1]), np.array([[True], [False], [True]])
    parts = run_op("split_lod_tensor", {"X": x, "Mask": mask})
    merged = run_op(
        "merge_lod_tensor", {"X": x, "Mask": mask, "InTrue": parts["OutTrue"], "InFalse": parts["OutFalse"]}
    )["Out"]
    assert merged.equals(x)
    assert run_op("row_conv", {"X": x, "Filter": np.ones((1, 1))})["Out"].equals(x)


@pytest.mark.parametrize(("number", "padding"), [(5, -1), (5, 1), (-1, -1), (-2, 1)])
def test_ids_outside_the_table_are_refused(number, padding):
    with pytest.raises(lodkit.RowIndexError):
        run_op("lookup_table_v2", {"W": np.ones((3, 2)), "Ids": np.array([number])}, {"padding_idx": padding})


def test_a_gradient_has_the_height_of_its_table_and_all_its_dimensions():
    grad = gradients(lambda w: lodkit.lookup_table(w, np.array([7, 7])), np.ones((10, 2, 3)))[0]
    assert grad.height == 10
    merged = run_op("merge_selected_rows", {"X": grad})["Out"]
    assert merged.value.shape == (1, 2, 3)
    np.testing.assert_array_equal(merged.value, 2)


@pytest.mark.parametrize("name", ["sequence_reverse", "sequence_pad", "sequence_concat"])
def test_batches_without_sequences(name):
    empty = LoDTensor(np.empty((0, 2)), [[]])
    inputs = {"X": [empty, empty]} if name == "sequence_concat" else {"X": empty}
    if name == "sequence_pad":
        inputs["PadValue"] = np.zeros(1)
    out = next(iter(run_op(name, inputs).values()))
    assert len(out) == 0


def test_padding_of_no_rows_is_undone():
    out = run_op("sequence_unpad", {"X": np.ones((2, 3, 1)), "Length": np.array([0, 0])})["Out"]
    assert out.values.shape == (0, 1) and out.recursive_sequence_lengths() == [[0, 0]]


def test_the_gradient_of_cvm_is_a_derivative():
    """Of ``log(x0 + 1)``, ``log(x1 + 1) - log(x0 + 1)`` and the rest."""
    grad = gradients(lodkit.continuous_value_model, np.array([[3.0, 1.0, 2.0]]))[0]
    np.testing.assert_allclose(grad, [[0, 1 / 2, 1]], atol=1e-12)


def test_rows_of_equal_ids_are_all_kept():
    rows = SelectedRows([4, 4, 1], [[1.0], [2.0], [3.0]], 6)
    parts = run_op("split_ids", {"Ids": [rows]}, {"num_outputs": 2})["Out"]
    assert sum(float(part.value.sum()) for part in parts) == 6


def test_matches_of_widths_that_differ():
    x, y, weight = ragged([[1.0, 2.0]], [1]), ragged([[1.0, 0.0, 2.0]], [1]), np.arange(6.0).reshape(2, 1, 3)
    out = run_op("match_matrix_tensor", {"X": x, "Y": y, "W": weight}, {"dim_t": 1})["Out"]
    expected = x.values @ weight[:, 0] @ y.values.T
    np.testing.assert_allclose(np.ravel(getattr(out, "values", out)), expected.ravel())
