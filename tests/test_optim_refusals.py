"""What optimizers refuse before they change anything."""

from __future__ import annotations

import re

import numpy as np
import pytest
from test_optim import HEIGHT, WIDTH, gradients, operator_steps, table

import lodkit
from lodkit import LodkitError, SelectedRows
from lodkit.optim import SGD, Adagrad, Adam, RMSprop


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: SGD([np.ones(2)], lr=1.0), TypeError, "params must be a dictionary of arrays, or a list of groups"),
        (lambda: SGD({"a": [1.0]}, lr=1.0), TypeError, r"params\['a'\] must be an array"),
        (lambda: SGD({1: np.ones(2)}, lr=1.0), TypeError, "by a string"),
        (lambda: SGD({"a/b": np.ones(2)}, lr=1.0), ValueError, "names have no '/'"),
        (lambda: SGD({"a": np.ones(())}, lr=1.0), lodkit.ShapeMismatchError, r"a has no dimension; make it of shape"),
        (lambda: SGD({"a": np.ones(2)}, lr=float("nan")), ValueError, "lr must be finite and at least 0, got nan"),
        (lambda: SGD(dict.fromkeys("ab", np.ones(2)), lr=1.0), ValueError, "'a' and 'b' share memory"),
        (lambda: SGD({"a": np.ones(2)}, lr=1.0, states="touched", mask=np.ones(2, bool)), ValueError, "takes no mask"),
        (lambda: SGD({"a": np.ones(2, int)}, lr=1.0), TypeError, "a is int64; an optimizer updates floating numbers"),
        (lambda: SGD({"a": np.ones((4, 4))[:, ::2]}, lr=1.0), ValueError, "a is not a C-contiguous array"),
        (lambda: SGD([{"params": {"a": np.ones(2)}}] * 2, lr=1.0), ValueError, "two parameters are called 'a'"),
        (lambda: SGD({"a": np.ones(2)}, lr=1.0, epsilon=1.0), TypeError, "SGD has no attribute 'epsilon'; it takes"),
        (lambda: Adam({"a": np.ones(2)}, lr=1.0, iteration=3), TypeError, "no attribute 'iteration'"),
        (lambda: Adam({"a": np.ones(2)}, lr=1.0, beta1=1.5), ValueError, "beta1 must be"),
        (lambda: SGD({"a": np.ones(2)}, lr="fast"), TypeError, "lr"),
        (lambda: SGD({"a": np.ones(2)}, lr=lambda step: None), TypeError, "the schedule returned None for step 0"),
        (lambda: SGD({"a": np.ones(2)}, lr=1.0, states="some"), ValueError, 'states must be "all" or "touched"'),
        (lambda: Adam({"a": np.ones(2)}, lr=1.0, states="touched"), ValueError, "pass lazy=True"),
    ],
)
def test_bad_settings(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_tensor_is_told_what_shares_its_memory():
    torch = pytest.importorskip("torch")
    for kind in (torch.float32, torch.float16, torch.bfloat16):
        w = torch.ones(3, 2, dtype=kind, requires_grad=True)
        with pytest.raises(TypeError, match=r"params\['w'\] is a tensor; pass \S+, which shares") as told:
            SGD({"w": w}, lr=1.0)
        names = {"torch": torch, "w": w}
        if kind is torch.bfloat16:
            names["ml_dtypes"] = pytest.importorskip("ml_dtypes")
        param = eval(re.search(r"pass (\S+), which", str(told.value))[1], names)
        SGD({"w": param}, lr=0.5).step({"w": np.ones_like(param)})
        assert w.tolist() == [[0.5, 0.5]] * 3
    with pytest.raises(lodkit.DTypeError, match=r"w is torch\.float8_e5m2; .* convert with \.float\(\)"):
        SGD({"w": torch.ones(3).to(torch.float8_e5m2)}, lr=1.0)


def test_settings_are_those_of_groups():
    optimizer = Adam({"p": np.ones(2)}, lr=0.1)
    with pytest.raises(AttributeError, match=r"lr is a setting of a group: optimizer.groups\[0\]\['lr'\] = "):
        optimizer.lr = 0.0
    with pytest.raises(AttributeError, match="make another optimizer"):
        optimizer.params = {}
    optimizer.groups[0]["lr"] = 0.0
    optimizer.step([np.ones(2)])
    assert optimizer.params["p"].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("grads", "error", "message"),
    [
        ([np.ones((HEIGHT, WIDTH), np.float32)], ValueError, "1 gradients for 2 parameters: p, q"),
        ({"p": np.zeros((HEIGHT, WIDTH), np.float32)}, ValueError, r"no gradient for q.*missing=\"skip\""),
        ([None, None], ValueError, "no gradient for p, q, which would not be trained"),
        ({"p": None, "q": None, "r": None}, ValueError, r"has \['r'\], which are no parameters; there are p, q"),
        (np.ones(2), TypeError, "grads must be a dictionary or a list"),
        (
            [np.ones((HEIGHT, WIDTH), np.float32), np.ones(4, np.float32)],
            ValueError,
            r"q: the gradient has shape \(4,\)",
        ),
        ([np.ones((HEIGHT, WIDTH), np.float32), np.ones(3)], TypeError, "q: the gradient is float64"),
        ([np.ones((HEIGHT, WIDTH), np.float32), [1.0, 2.0, 3.0]], TypeError, "q: the gradient must be an array"),
    ],
)
def test_bad_gradients_change_nothing(grads, error, message):
    param = table(dtype=np.float32)
    optimizer = Adagrad({"p": param, "q": np.ones(3, np.float32)}, lr=0.1)
    with pytest.raises(error, match=message):
        optimizer.step(grads)
    np.testing.assert_array_equal(param, table(dtype=np.float32))
    assert optimizer.iteration == 0 and not optimizer.state_dict()["states"]["p"]["moment"].any()


def test_dense_gradients_of_touched_rows():
    optimizer = Adagrad({"p": table()}, lr=0.1, states="touched")
    with pytest.raises(TypeError, match="takes SelectedRows, a dense gradient touches every row"):
        optimizer.step([table()])


def test_states_that_do_not_fit():
    optimizer = Adam({"p": table()}, lr=0.1)
    state = optimizer.state_dict()
    with pytest.raises(LodkitError, match="the state is of 'Adam', this optimizer is SGD"):
        SGD({"p": table()}, lr=0.1).load_state_dict(state)
    with pytest.raises(LodkitError, match=r"parameters \[\['p'\]\], this optimizer \[\['q'\]\]"):
        Adam({"q": table()}, lr=0.1).load_state_dict(state)
    with pytest.raises(LodkitError, match="p: the state moment1 is missing, or not float32"):
        Adam({"p": table(dtype=np.float32)}, lr=0.1).load_state_dict(state)
    parts = {"states": {}}, {"states": 5}, {"groups": 5}, {"groups": [None]}, {"states": {"p": 5}}, {"iteration": []}
    for damaged in (*({**state, **part} for part in parts), {k: v for k, v in state.items() if k != "groups"}):
        with pytest.raises(LodkitError, match=r"lacks|missing|damaged"):
            Adam({"p": table()}, lr=0.1).load_state_dict(damaged)
    rms = RMSprop({"p": table()}, lr=0.1, centered=True)
    assert "mean" in rms.state_dict()["states"]["p"]
    damaged = Adagrad({"p": table()}, lr=0.1, states="touched").state_dict()
    damaged["states"]["p"] |= {"rows": np.array([3, HEIGHT]), "moment": np.zeros((2, WIDTH))}
    with pytest.raises(LodkitError, match=f"the state has row {HEIGHT}, the table {HEIGHT} rows"):
        Adagrad({"p": table()}, lr=0.1, states="touched").load_state_dict(damaged)


@pytest.mark.parametrize(
    ("cls", "attrs", "change", "message"),
    [
        (Adam, {"lazy": True, "states": "touched"}, {"lazy": False}, "pass lazy=True"),
        (Adagrad, {}, {"states": "touched"}, "states decides which states are kept"),
        (Adagrad, {"states": "touched"}, {"states": "all"}, "states decides which states are kept"),
        (Adam, {}, {"amsgrad": True}, "amsgrad decides which states are kept, and cannot be changed from None to True"),
        (Adam, {"amsgrad": True}, {"amsgrad": False}, "amsgrad decides"),
        (Adam, {}, {"amsgrad": "no"}, "amsgrad must be True or False"),
        (Adam, {}, {"beta1": 2.0}, "beta1 must be"),
        (Adam, {}, {"beta": 0.5}, "no attribute 'beta'"),
        (Adam, {}, {"lr": True}, "lr must be a number"),
        (Adam, {}, {"clip_value": 1.0, "clip_norm": 1.0}, "give one of them"),
        (Adam, {}, {"mask": np.ones(3, bool)}, "one for each of 40 rows"),
        (Adam, {}, {"rounding_seed": 1}, "rounding_seed is for a parameter of float16"),
        (Adam, {}, {"params": {}}, "groups must have the parameters p, q"),
        (Adam, {}, {"params": {"p": np.ones((2, 3), np.float32)}}, r"p was float64 of shape \(40, 3\)"),
    ],
)
def test_changed_groups_are_checked(cls, attrs, change, message):
    """All of them, before the first parameter changes; and what is refused in a group is refused from the start."""
    params, grad = {"p": table(), "q": table()}, next(gradients(1))
    optimizer = cls([{"params": {"p": params["p"]}}, {"params": {"q": params["q"]}}], lr=0.1, **attrs)
    group = optimizer.groups[0 if "params" in change else 1]
    group.update(change)
    for _ in range(2):
        with pytest.raises((ValueError, TypeError, LodkitError), match=message):
            optimizer.step([grad, grad])
    np.testing.assert_array_equal(params["p"], table())
    assert optimizer.iteration == 0


def test_a_group_with_a_better_setting():
    param = table()
    optimizer = Adam({"p": param}, lr=0.1)
    for group in optimizer.groups:
        group |= {"lr": lambda step: 0.2, "beta1": 0.5, "clip_value": None}
    for grad in gradients(2):
        optimizer.step([grad])
    np.testing.assert_array_equal(param, operator_steps(Adam, table(), gradients(2), 0.2, beta1=0.5))


@pytest.mark.parametrize(
    ("attrs", "message"),
    [
        ({"clip_value": 1.0, "clip_norm": 1.0}, "clip_value and clip_norm are two ways"),
        ({"lr": True}, "lr must be a number or a one-element array, got True"),
        ({"weight_decay": True}, "weight_decay must be a number, got True"),
        ({"mask": np.ones(HEIGHT)}, "mask must be an array of bool"),
    ],
)
def test_settings_are_refused_when_an_optimizer_is_made(attrs, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Adam({"p": table()}, **{"lr": 0.1, **attrs})


def spoilt(case, p, q):
    """Gradients of p and q, of which the operator would refuse q's; or q's would be wrong."""
    good = np.ones_like(p)
    if case == "read-only":
        q.flags.writeable = False
    return {
        "read-only": [good, good],
        "itself": [good, q],
        "a view of itself": [good, SelectedRows([3], q[3:4], HEIGHT)],
        "another": [good, p],
        "a view of another": [good, SelectedRows([0, 1], p[5:7], HEIGHT)],
        "masked": [good, np.ma.masked_array(good, good > 0)],
        "sequential": [good, SelectedRows([0], good[:1], HEIGHT)],
    }[case]


@pytest.mark.parametrize(
    "case", ["read-only", "itself", "a view of itself", "another", "a view of another", "masked", "sequential"]
)
@pytest.mark.parametrize("states", ["all", "touched"])
def test_a_late_refusal_changes_nothing(case, states):
    p, q = table(), table(1)
    groups = [{"params": {"p": p}}, {"params": {"q": q}, "lazy": states == "touched"}]
    if case == "sequential":
        groups[1]["duplicates"] = "sequential"
    if states == "touched":
        if case == "sequential":
            return
        groups[1]["states"] = "touched"
    optimizer = Adam(groups, lr=0.1)
    grads = spoilt(case, p, q)
    if states == "touched" and not isinstance(grads[1], SelectedRows):
        grads[1] = SelectedRows(np.arange(HEIGHT), grads[1], HEIGHT) if case != "masked" else grads[1]
    with pytest.raises((ValueError, TypeError, LodkitError), match=r"read-only|overlaps|masked|sequential|touched"):
        optimizer.step(grads)
    np.testing.assert_array_equal(p, table())
    np.testing.assert_array_equal(q, table(1))
    assert optimizer.iteration == 0 and not optimizer.state_dict()["states"]["p"]["moment1"].any()


def test_a_step_by_traced_numbers_changes_nothing():
    p, q = table(), table(1)
    optimizer = SGD({"p": p, "q": q}, lr=0.1)
    with lodkit.Tape(), pytest.raises(TypeError, match="sgd writes to an array, and no gradient flows through it"):
        optimizer.step([np.ones_like(p), lodkit.tanh(q)])
    np.testing.assert_array_equal(p, table())


@pytest.mark.parametrize(
    "number",
    [-5, 2.5, True, np.nan, None, np.array([1, 2]), 2**62, 10**400, 1 << 20_000, np.array([10**400], object)],
    ids=lambda number: type(number).__name__,
)
def test_iterations_that_are_none(number):
    optimizer = Adam({"p": table()}, lr=0.1)
    optimizer.step([next(gradients(1))])
    state = optimizer.state_dict()
    other = Adam({"p": table()}, lr=0.2)
    for damaged in (
        {**state, "iteration": number},
        {**state, "states": {"p": {**state["states"]["p"], "iteration": number}}},
    ):
        with pytest.raises(LodkitError, match="iteration must be a whole number from 0 on, below 2") as caught:
            other.load_state_dict(damaged)
        assert len(str(caught.value)) < 300
        assert other.iteration == 0 and other.groups[0]["lr"] == 0.2
        assert not other.state_dict()["states"]["p"]["moment1"].any()


@pytest.mark.parametrize("kind", lodkit.optim.Optimizer.__subclasses__())
def test_the_most_iterations_leave_steps_to_come(kind):
    optimizer = kind({"p": table()}, lr=0.1)
    state = optimizer.state_dict()
    state["iteration"] = state["states"]["p"]["iteration"] = 2**62 - 1
    optimizer.load_state_dict(state)
    for grad in gradients(2):
        optimizer.step([grad])
    assert optimizer.iteration == 2**62 + 1


@pytest.mark.parametrize("sparse", [True, False])
def test_numbers_that_the_type_of_a_parameter_does_not_hold(sparse):
    param, value = np.ones((3, 2), np.float32), np.ones((3, 2), np.float32)
    grad = lodkit.SelectedRows([0, 2, 2], value, 3) if sparse else value
    with pytest.raises(ValueError, match=r"makes 1e\+39, outside what float32 holds"):
        lodkit.sgd(param, grad, lr=1e39)
    assert (param == 1).all()
    lodkit.sgd(param, grad, lr=0.1, clip_value=1e39)
    assert param.min() < 1
    wide, value = param.astype(np.float64), value.astype(np.float64)
    lodkit.sgd(wide, lodkit.SelectedRows([0], value[:1], 3) if sparse else value, lr=1e39)
    assert wide.min() == -1e39
