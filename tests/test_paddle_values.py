"""Paddle's own values: each number here is one that Paddle gives, by its formulas or its tests."""

from __future__ import annotations

import numpy as np
import pytest
from inferred import described, run_as_inferred

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.paddle import SlotError, infer_op, run_op

PARAM, GRAD = np.array([1.0, 2.0, 3.0]), np.array([0.1, -0.2, 0.05])


def one(x):
    return np.array([x])


def adam_inputs(**more):
    numbers = {"LearningRate": one(0.1), "Beta1Pow": one(0.9), "Beta2Pow": one(0.999)}
    return {"Param": PARAM.copy(), "Grad": GRAD, "Moment1": np.zeros(3), "Moment2": np.zeros(3), **numbers, **more}


@pytest.mark.parametrize("levels", [None, [[1, 2]]])
def test_int32_ids_are_hashed_by_their_four_bytes(levels):
    ids = np.array([[5], [8], [9]], np.int32)
    x = ids if levels is None else LoDTensor(ids, levels)
    out = run_as_inferred("hash", {"X": x}, {"num_hash": 2, "mod_by": 10000})["Out"]
    values = out if levels is None else out.values
    assert values.dtype == np.int32 and values.shape == (3, 2, 1)
    assert values.reshape(3, 2).tolist() == [[3481, 7475], [1719, 5986], [8473, 694]]


def test_int64_ids_are_hashed_by_eight_and_other_bytes_are_other_numbers():
    ids = np.array([[5, 7], [8, -1]])
    wide, narrow = (run_op("hash", {"X": ids.astype(t)}, {"num_hash": 1, "mod_by": 1000})["Out"] for t in "qi")
    assert wide.dtype == np.int64 and (wide != narrow).any()
    swapped = run_op("hash", {"X": ids.astype(">i4")}, {"num_hash": 1, "mod_by": 1000})["Out"]
    np.testing.assert_array_equal(swapped, narrow)
    with pytest.raises(ValueError, match=r"mod_by must be at most 2\*\*31"):
        run_op("hash", {"X": ids.astype(np.int32)}, {"mod_by": 2**31 + 1})
    with pytest.raises(lodkit.DTypeError, match=r"x is int64, and ids are hashed as int32"):
        lodkit.hash_rows(ids, mod_by=10, dtype="int32")


def adam_step(epsilon, corrected, t=1):
    m1, m2 = 0.1 * GRAD, 0.001 * GRAD * GRAD
    rate = 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
    return PARAM - rate * m1 / (np.sqrt(m2) + epsilon * (np.sqrt(1 - 0.999**t) if corrected else 1))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("version", "corrected"), [("1.8", False), ("1.8.5", False), ("2.0", True), (None, True)])
def test_adam_adds_epsilon_as_its_version_does(version, corrected, sparse):
    inputs = adam_inputs()
    if sparse:
        inputs["Grad"] = SelectedRows([2, 0, 1, 2], [0.02, 0.1, -0.2, 0.03], 3)
    out = run_as_inferred("adam", inputs, {"epsilon": 0.01}, version=version)
    np.testing.assert_allclose(out["ParamOut"], adam_step(0.01, corrected), rtol=1e-12)
    np.testing.assert_allclose(out["Beta2PowOut"], [0.999**2])


def lamb_step(corrected, decay=0.5):
    m1, m2 = 0.1 * GRAD, 0.001 * GRAD * GRAD
    if corrected:
        m1, m2 = m1 / (1 - 0.9), m2 / (1 - 0.999)
    r = m1 / (np.sqrt(m2) + 1e-6) + decay * PARAM
    return PARAM - 0.1 * np.linalg.norm(PARAM) / np.linalg.norm(r) * r


@pytest.mark.parametrize(("version", "corrected"), [("1.8", False), ("2.0.2", False), ("2.1", True), (None, True)])
def test_lamb_corrects_moments_as_its_version_does(version, corrected):
    inputs = adam_inputs()
    out = run_as_inferred("lamb", inputs, {"weight_decay": 0.5}, version=version)
    np.testing.assert_allclose(out["ParamOut"], lamb_step(corrected), rtol=1e-9)
    np.testing.assert_allclose(out["Moment1Out"], 0.1 * GRAD)
    assert ("Beta1PowOut" in out) is corrected
    np.testing.assert_allclose(inputs["Beta1Pow"], [0.81 if corrected else 0.9])  # 1.8 reads and advances none


def test_one_setting_chooses_the_version(monkeypatch):
    monkeypatch.setattr(lodkit.paddle, "default_version", "1.8")
    np.testing.assert_allclose(run_op("lamb", adam_inputs(), {"weight_decay": 0.5})["ParamOut"], lamb_step(False))
    assert "Beta1PowOut" not in infer_op("lamb", described(adam_inputs()), {"weight_decay": 0.5})
    np.testing.assert_allclose(run_op("adam", adam_inputs(), version="2.6")["ParamOut"], adam_step(1e-8, True))


@pytest.mark.parametrize(
    ("version", "error"),
    [("1.7", ValueError), ("new", ValueError), ("2.", ValueError), (2.0, TypeError), (["2"], TypeError)],
)
def test_versions_are_checked_by_name(version, error):
    for call, inputs in ((run_op, adam_inputs()), (infer_op, described(adam_inputs()))):
        with pytest.raises(error, match=r'version must be .*"1\.8"'):
            call("adam", inputs, version=version)
    assert run_op("adam", adam_inputs(), version="2")["ParamOut"] is not None


@pytest.mark.parametrize(("g", "u", "norm"), [(0.5, 0.0, 0.5), (0.5, 1.0, 1.0), (-0.2, 0.2, 0.28)])
def test_adamax_adds_epsilon_to_the_norm(g, u, norm):
    states = {"Moment": one(0.0), "InfNorm": one(u), "Beta1Pow": one(0.9), "LearningRate": one(0.1)}
    out = run_as_inferred("adamax", {"Param": one(1.0), "Grad": one(g), **states}, {"epsilon": 0.1, "beta2": 0.9})
    np.testing.assert_allclose(out["InfNormOut"], norm)
    np.testing.assert_allclose(out["ParamOut"], 1 - 0.1 / (1 - 0.9) * 0.1 * g / norm)


def test_adamax_of_selected_rows_is_the_dense_one():
    for grad in (np.array([[0.0], [0.5]]), SelectedRows([1, 1], [[0.2], [0.3]], 2)):
        states = {"Moment": np.ones((2, 1)), "InfNorm": np.ones((2, 1)), "Beta1Pow": one(0.9), "LearningRate": one(0.1)}
        out = run_op("adamax", {"Param": np.ones((2, 1)), "Grad": grad, **states}, {"epsilon": 0.1, "beta2": 0.9})
        np.testing.assert_allclose(out["InfNormOut"], [[1.0], [1.0]])


def test_betas_and_epsilon_come_as_tensors_too():
    tensors = {"Beta1Tensor": one(0.8), "Beta2Tensor": one(0.99), "EpsilonTensor": one(0.5)}
    for name in ("adam", "adamw"):
        powers = {"Beta1Pow": one(0.8), "Beta2Pow": one(0.99)}
        out = run_as_inferred(name, adam_inputs(**tensors, **powers), {"beta1": 0.1, "beta2": 0.2, "epsilon": 0.3})
        attrs = {"beta1": 0.8, "beta2": 0.99, "epsilon": 0.5}
        expected = run_op(name, adam_inputs(Beta1Pow=one(0.8), Beta2Pow=one(0.99)), attrs)
        for slot in expected:
            np.testing.assert_array_equal(out[slot], expected[slot])
        with pytest.raises(SlotError, match=r"Beta1Tensor must be one number, got shape \(2,\)"):
            run_op(name, adam_inputs(Beta1Tensor=np.ones(2)))


@pytest.mark.parametrize("power", [-0.5, -0.6, -1.0, 0.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_ftrl_takes_squares_to_a_power(power, dtype):
    rng = np.random.default_rng(0)
    p, g, n, z = (rng.normal(size=(2, 3)).astype(dtype) for _ in range(4))
    n, z = n * n, np.where(np.arange(3) == 1, 0, z).astype(dtype)
    n[0, 0] = 0
    after = (n + g * g).astype(float)
    linear = z + g - (after**-power - n.astype(float) ** -power) / 0.1 * p
    expected = np.where(abs(linear) > 0.2, (0.2 * np.sign(linear) - linear) / (after**-power / 0.1 + 2 * 0.3), 0)
    inputs = {"Param": p.copy(), "Grad": g, "SquaredAccumulator": n.copy(), "LinearAccumulator": z.copy()}
    attrs = {"l1": 0.2, "l2": 0.3, "lr_power": power}
    out = run_as_inferred("ftrl", {**inputs, "LearningRate": one(0.1)}, attrs)
    rtol = 1e-4 if dtype is np.float32 else 1e-9
    np.testing.assert_allclose(out["LinearAccumOut"], linear, rtol=rtol, atol=1e-5 if rtol > 1e-6 else 0)
    np.testing.assert_allclose(out["ParamOut"], expected, rtol=rtol, atol=1e-6 if rtol > 1e-6 else 0)


def test_ftrl_of_selected_rows_takes_the_power_and_refuses_positive_ones():
    states = {"SquaredAccumulator": np.zeros((3, 1)), "LinearAccumulator": np.zeros((3, 1)), "LearningRate": one(0.1)}
    grad, param = SelectedRows([2, 2], [[1.0], [2.0]], 3), np.zeros((3, 1))
    out = run_op("ftrl", {"Param": param, "Grad": grad, **states}, {"lr_power": -0.6})
    np.testing.assert_allclose(out["ParamOut"].ravel(), [0, 0, -3 / (9**0.6 / 0.1)])
    with pytest.raises(ValueError, match=r"lr_power must be at most 0, got 0\.5"):
        run_op("ftrl", {"Param": param, "Grad": grad, **states}, {"lr_power": 0.5})


def centered_rmsprop(param, grad, square, velocity, mean):
    """A step in float32, rounded product by product as Paddle's; the parameter and the averages after it."""
    rho, epsilon, momentum, lr, one = np.array([0.9, 1e-6, 0.5, 0.1, 1], np.float32)
    square = rho * square + (one - rho) * grad * grad
    mean = rho * mean + (one - rho) * grad
    velocity = momentum * velocity + lr * grad / np.sqrt(square - mean * mean + epsilon)
    return {"ParamOut": param - velocity, "MeanSquareOut": square, "MomentOut": velocity, "MeanGradOut": mean}


@pytest.mark.parametrize("spread", [1.0, 1e-3, 0.0])
def test_a_centered_rmsprop_is_rounded_as_paddles_where_the_variance_vanishes(spread):
    rng = np.random.default_rng(0)
    mean, moved = rng.uniform(0.1, 1, (2, 50, 2))
    grad = (mean * (1 + spread * (moved - 0.5))).astype(np.float32)
    param, velocity, mean = np.ones_like(grad), np.zeros_like(grad), mean.astype(np.float32)
    square = mean * mean
    expected = centered_rmsprop(param, grad, square, velocity, mean)
    states = {"MeanSquare": square.copy(), "Moment": velocity.copy(), "MeanGrad": mean.copy()}
    inputs = {"Param": param.copy(), "Grad": grad, "LearningRate": np.array([0.1], np.float32), **states}
    out = run_as_inferred("rmsprop", inputs, {"centered": True, "epsilon": 1e-6, "momentum": 0.5})
    for slot, wanted in expected.items():
        np.testing.assert_allclose(out[slot], wanted, rtol=1e-6)


def test_a_centered_rmsprop_has_no_root_of_less_than_0():
    inputs = {"Param": one(1.0), "Grad": one(0.0), "LearningRate": one(0.1), "Moment": one(0.0)}
    out = run_op("rmsprop", {**inputs, "MeanSquare": one(0.5), "MeanGrad": one(1.0)}, {"centered": True})
    assert out["ParamOut"] == 1


@pytest.mark.parametrize("decay", [0.0, 0.25])
@pytest.mark.parametrize("sparse", [False, True])
def test_gradients_are_rescaled_before_they_decay(sparse, decay):
    param, velocity, dense = np.ones((3, 1)), np.full((3, 1), 0.5), np.array([[0.0], [3.0], [0.0]])
    grad = SelectedRows([1, 1], [[1.0], [2.0]], 3) if sparse else dense
    attrs = {"mu": 0.9, "rescale_grad": 0.5, "regularization_method": "l2_decay", "regularization_coeff": decay}
    inputs = {"Param": param.copy(), "Grad": grad, "Velocity": velocity.copy(), "LearningRate": one(0.1)}
    out = run_as_inferred("momentum", inputs, attrs)
    moved = 0.9 * velocity + 0.5 * dense + decay * param
    np.testing.assert_allclose(out["VelocityOut"], moved)
    np.testing.assert_allclose(out["ParamOut"], param - 0.1 * moved)
    inputs = {"Param": param.copy(), "Velocity": velocity.copy(), "LearningRate": one(0.1)}
    scaled, half = (
        {**inputs, "Param": param.copy(), "Velocity": velocity.copy(), "Grad": g} for g in (dense, dense / 2)
    )
    rescaled = run_op("lars_momentum", scaled, {"mu": 0.9, "rescale_grad": 0.5})["ParamOut"]
    np.testing.assert_allclose(rescaled, run_op("lars_momentum", half, {"mu": 0.9})["ParamOut"])
    for by in ("a", np.ones(2), None):
        with pytest.raises(TypeError, match="rescale_grad must be a number"):
            run_op("momentum", half, {"mu": 0.9, "rescale_grad": by})
