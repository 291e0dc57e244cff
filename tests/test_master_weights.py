"""Master weights: parameters of halves that are rounded from a copy in float32, which is stepped."""

from __future__ import annotations

import numpy as np
import pytest
from samples import some_of

import lodkit
from lodkit import LodkitError, SelectedRows
from lodkit.arrays import to_dtype
from lodkit.arrays.rounded_rows import round_rows, take_changed_rows

ml_dtypes = pytest.importorskip("ml_dtypes")
HALVES = [np.dtype(ml_dtypes.bfloat16), np.dtype(np.float16)]
SINGLE = np.dtype(np.float32)
SHAPE = 40, 24
halves = pytest.mark.parametrize("half", some_of(HALVES, 2), ids=str)


def numbers(seed, half, shape=SHAPE):
    return np.random.default_rng(seed).normal(size=shape).astype(half)


def gradients(count, half, sparse=True):
    rng = np.random.default_rng(7)
    for _ in range(count):
        rows = rng.integers(0, SHAPE[0], 9)
        grad = SelectedRows(rows, rng.normal(size=(9, SHAPE[1])).astype(half), SHAPE[0])
        yield grad if sparse else grad.to_dense()


def wide(grad):
    """The same numbers in float32."""
    if isinstance(grad, SelectedRows):
        return SelectedRows(grad.rows, to_dtype(grad.value, SINGLE), grad.height)
    return to_dtype(grad, SINGLE)


@halves
@pytest.mark.parametrize("sparse", [True, False])
def test_small_steps_add_up(half, sparse):
    """Of 1, 2**-13 is 1/64 of the last digit in bfloat16, and 1/8 in float16: rounded after each step, it is lost."""
    kept, lost = np.ones(SHAPE, half), np.ones(SHAPE, half)
    optimizer = lodkit.optim.SGD({"w": kept}, lr=1.0, master_weights=True)
    plain = lodkit.optim.SGD({"w": lost}, lr=1.0)
    step = np.full(SHAPE, 2.0**-13, half)
    grad = SelectedRows(np.arange(SHAPE[0]), step, SHAPE[0]) if sparse else step
    for _ in range(512):
        optimizer.step([grad])
        plain.step([grad])
    assert (kept.astype(np.float32) == 1 - 512 * 2.0**-13).all()
    assert (lost.astype(np.float32) == 1).all()


@halves
@pytest.mark.parametrize(
    ("name", "attrs"),
    some_of(
        [
            ("SGD", {}),
            ("SGD", {"duplicates": "sequential"}),
            ("Adam", {}),
            ("Adam", {"lazy": True, "weight_decay": 0.1}),
            ("RowwiseAdagrad", {}),
            ("Momentum", {"clip_norm": 1.0}),
        ],
        3,
    ),
)
@pytest.mark.parametrize("sparse", [True, False])
def test_steps_are_those_of_float32(half, name, attrs, sparse):
    """The copy has the bits of a parameter in float32, and the parameter those of the copy, rounded."""
    if attrs.get("duplicates") and not sparse:
        return
    make = getattr(lodkit.optim, name)
    param, single = numbers(0, half), to_dtype(numbers(0, half), SINGLE)
    optimizer = make({"w": param}, lr=0.05, master_weights=True, **attrs)
    exact = make({"w": single}, lr=0.05, **attrs)
    for grad in gradients(5, half, sparse):
        optimizer.step([grad])
        exact.step([wide(grad)])
        master = optimizer.state_dict()["states"]["w"]["master_weights"]
        np.testing.assert_array_equal(master, single)
        np.testing.assert_array_equal(param.view(np.uint16), single.astype(half).view(np.uint16))
    optimizer.step([wide(next(gradients(1, half, sparse)))])
    assert master.dtype == np.float32


@halves
@pytest.mark.parametrize("states", ["all", "touched"])
def test_steps_go_on_to_the_bits_after_a_file(half, states, tmp_path):
    param = numbers(0, half)
    optimizer = lodkit.optim.Adagrad({"w": param}, lr=0.05, states=states, master_weights=True)
    grads = [*gradients(8, half)]
    for grad in grads[:4]:
        optimizer.step([grad])
    name = tmp_path / "x.safetensors"
    lodkit.save(name, {"w": param, "optimizer": optimizer.state_dict()})
    found = lodkit.load(name)
    again = found["w"].astype(half)
    other = lodkit.optim.Adagrad({"w": again}, lr=1.0, states=states, master_weights=True)
    other.load_state_dict(found["optimizer"])
    for grad in grads[4:]:
        optimizer.step([grad])
        other.step([grad])
    np.testing.assert_array_equal(param.view(np.uint16), again.view(np.uint16))
    ours, theirs = (o.state_dict()["states"]["w"] for o in (optimizer, other))
    order = [np.argsort(x["rows"]) if states == "touched" else slice(None) for x in (ours, theirs)]
    np.testing.assert_array_equal(*(x["master_weights"][at] for x, at in zip((ours, theirs), order, strict=True)))
    without = lodkit.optim.Adagrad({"w": numbers(0, half)}, lr=0.05, states=states).state_dict()
    without["groups"][0]["master_weights"] = True
    if states == "all":
        with pytest.raises(LodkitError, match="the state master_weights is missing"):
            other.load_state_dict(without)


@halves
def test_states_of_touched_rows_are_those_of_all(half):
    params = [numbers(0, half), numbers(0, half)]
    whole, touched = (
        lodkit.optim.Adagrad({"w": p}, lr=0.05, states=s, master_weights=True)
        for p, s in zip(params, ("all", "touched"), strict=True)
    )
    for grad in gradients(6, half):
        whole.step([grad])
        touched.step([grad])
    np.testing.assert_array_equal(*(p.view(np.uint16) for p in params))
    found = touched.state_dict()["states"]["w"]
    expected = whole.state_dict()["states"]["w"]["master_weights"]
    np.testing.assert_array_equal(found["master_weights"], expected[found["rows"]])


@halves
@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("states", ["all", "touched"])
def test_what_another_wrote_is_taken_over(half, sparse, states):
    if states == "touched" and not sparse:
        return
    param = numbers(0, half)
    optimizer = lodkit.optim.SGD({"w": param}, lr=0.5, states=states, master_weights=True)
    first, second = gradients(2, half, sparse)
    optimizer.step([first])
    param[3:9] = 2.0
    param[4, 5] = np.nan
    if sparse:
        second = SelectedRows([3, 4, 4, 20], second.value[:4], SHAPE[0])
    single = wide(param)
    kept = optimizer.state_dict()["states"]["w"]["master_weights"]
    if states == "all":
        single[20] = kept[20]
    optimizer.step([second])
    lodkit.sgd(single, wide(second), lr=0.5)
    rows = [3, 4] if sparse else slice(3, 9)
    np.testing.assert_array_equal(param[rows].astype(np.float32), single.astype(half)[rows].astype(np.float32))
    assert np.isnan(param[4, 5].astype(np.float32))


@halves
@pytest.mark.parametrize("columns", [1, 3, 64, 67, 200])
def test_rows_are_rounded_and_compared(half, columns):
    rng = np.random.default_rng(0)
    copy = rng.normal(size=(30, columns)).astype(np.float32)
    param, rows = np.zeros((30, columns), half), rng.permutation(30)[:25]
    copy[rows[:3], 0] = np.inf, 1e-42, -0.0
    round_rows(copy, rows, param)
    expected = np.zeros((30, columns), half)
    expected[rows] = copy[rows].astype(half)
    np.testing.assert_array_equal(param.view(np.uint16), expected.view(np.uint16))
    before = copy.copy()
    take_changed_rows(param, rows, copy)
    np.testing.assert_array_equal(copy, before)
    param[rows[3], columns - 1] = 5.0
    take_changed_rows(param, rows, copy)
    before[rows[3], columns - 1] = 5.0
    np.testing.assert_array_equal(copy, before)
    take_changed_rows(param, None, copy)
    np.testing.assert_array_equal(copy, np.where(np.isin(np.arange(30), rows)[:, None], before, 0))


def test_parameters_of_float32_need_no_copy():
    half = HALVES[0]
    params = {"w": np.ones((3, 2), np.float32), "h": np.ones((3, 2), half)}
    optimizer = lodkit.optim.SGD(params, lr=0.5, master_weights=True)
    optimizer.step([np.ones((3, 2), np.float32), np.ones((3, 2), half)])
    states = optimizer.state_dict()["states"]
    assert "master_weights" not in states["w"] and "master_weights" in states["h"]
    assert (params["w"] == 0.5).all() and (params["h"] == 0.5).all()


def test_parameters_of_tapes():
    weight = lodkit.parameter(np.ones((3, 2), HALVES[0]))
    optimizer = lodkit.optim.SGD({"w": weight}, lr=2.0**-12, master_weights=True)
    for _ in range(256):
        with lodkit.Tape() as tape:
            loss = lodkit.assign(weight).sum()
        optimizer.step(tape.gradient(loss, [weight]))
    assert (weight.astype(np.float32) == 1 - 256 * 2.0**-12).all()
    with lodkit.Tape() as tape:
        loss = np.square(weight).sum()
    optimizer.step([np.ones((3, 2), HALVES[0])])
    with pytest.raises(LodkitError, match="overwritten"):
        tape.gradient(loss, [weight])


def test_refusals():
    half = HALVES[0]
    param = np.ones((3, 2), half)
    with pytest.raises(ValueError, match="master_weights=True keeps what rounding loses; leave out rounding_seed"):
        lodkit.optim.SGD({"w": param}, lr=0.5, master_weights=True, rounding_seed=1)
    with pytest.raises(TypeError, match="master_weights must be True or False, got 1"):
        lodkit.optim.SGD({"w": param}, lr=0.5, master_weights=1)
    with pytest.raises(TypeError, match="did you mean master_weights="):
        lodkit.optim.SGD({"w": param}, lr=0.5, master_weight=True)
    optimizer = lodkit.optim.SGD({"w": param}, lr=0.5)
    optimizer.groups[0]["master_weights"] = True
    with pytest.raises(ValueError, match="master_weights decides which states are kept"):
        optimizer.step([param.copy()])
    optimizer = lodkit.optim.SGD({"w": param}, lr=0.5, master_weights=True)
    for grad, error in ((np.ones((3, 2)), lodkit.DTypeError), (np.ones((2, 2), half), lodkit.ShapeMismatchError)):
        with pytest.raises(error):
            optimizer.step([grad])
    assert (param == 1).all()
