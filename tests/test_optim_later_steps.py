"""Steps after the first, whose gradients are compared with one that was found good."""

from __future__ import annotations

import collections.abc
import copy

import numpy as np
import pytest
from test_optim import HEIGHT, WIDTH, table

import lodkit
from lodkit import SelectedRows
from lodkit.optim import SGD, Adam, Momentum


def _rows(value=None, height=HEIGHT):
    value = np.ones((2, WIDTH), np.float32) if value is None else value
    return SelectedRows([1, 3], value, height)


def _resized(rows):
    rows._value.resize((5, WIDTH), refcheck=False)
    return rows


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda p, s: _rows(height=HEIGHT + 1), lodkit.ShapeMismatchError, "q: the gradient has shape"),
        (lambda p, s: _rows(np.ones((2, WIDTH))), TypeError, "q: the gradient is float64"),
        (lambda p, s: np.ones((HEIGHT, WIDTH)), TypeError, "q: the gradient is float64"),
        (lambda p, s: _rows(p[:2]), lodkit.OutputError, "q: the gradient overlaps the parameter"),
        (lambda p, s: _resized(_rows()), lodkit.LoDError, "the gradient of q lists 2 rows, its value has 5 now"),
        (lambda p, s: p.setflags(write=False), lodkit.OutputError, "q is read-only"),
        (lambda p, s: s["moment1"].setflags(write=False), lodkit.OutputError, "a state of q is read-only"),
        (lambda p, s: s["moment1"].resize((2, 3), refcheck=False), lodkit.ShapeMismatchError, "q: its state moment1"),
        (
            lambda p, s: s.update(moment1=s["moment1"].astype(np.float64)),
            lodkit.DTypeError,
            "q: its state moment1 is float64, and a step of float32 takes float32",
        ),
        (lambda p, s: [[1.0]], TypeError, "q: the gradient must be an array or SelectedRows, got list"),
    ],
)
def test_later_gradients_are_checked_like_the_first(change, error, message):
    """After steps with gradients that were found good, one that is not changes no parameter before it either."""
    params = {name: table(dtype=np.float32) for name in "pq"}
    optimizer = Adam(params, lr=0.1, lazy=True)
    for _ in range(3):
        optimizer.step({"p": _rows(), "q": _rows()})
    before, state = params["p"].copy(), optimizer._states["q"]
    bad = change(params["q"], state)
    with pytest.raises(error, match=message):
        optimizer.step({"p": _rows(), "q": _rows() if bad is None else bad})
    np.testing.assert_array_equal(params["p"], before)
    assert optimizer.iteration == state["iteration"] == 3


def test_gradients_that_are_made_when_they_are_asked_for_are_taken_once():
    class Made(collections.abc.Mapping):
        asked = 0

        def __getitem__(self, name):
            self.asked += 1
            return _rows()

        def __iter__(self):
            return iter("p")

        def __len__(self):
            return 1

    grads, optimizer = Made(), Adam({"p": table(dtype=np.float32)}, lr=0.1, lazy=True)
    optimizer.step(grads)
    assert grads.asked == optimizer.iteration == 1


def test_master_weights_that_were_resized_are_refused_before_the_first_step():
    params = {name: table(dtype=np.float16) for name in "pq"}
    optimizer = SGD(params, lr=0.1, master_weights=True)
    grads = {name: np.ones((HEIGHT, WIDTH), np.float16) for name in "pq"}
    optimizer.step(grads)
    before = params["p"].copy()
    optimizer._states["q"]["master_weights"].resize((2, 3), refcheck=False)
    with pytest.raises(lodkit.ShapeMismatchError, match=r"q: its state master_weights has shape \(2, 3\)"):
        optimizer.step(grads)
    np.testing.assert_array_equal(params["p"], before)


@pytest.mark.parametrize("make", [np.ones, lambda n: lodkit.parameter(np.ones(n))])
def test_a_copy_of_an_optimizer_steps_the_copy_of_its_parameter(make):
    param = make(3)
    optimizer = SGD({"p": param}, lr=0.5)
    optimizer.step([np.ones(3)])
    param, optimizer = copy.deepcopy((param, optimizer))
    optimizer.step([np.ones(3)])
    assert param.tolist() == optimizer.params["p"].tolist() == [0.0] * 3


def test_optimizers_that_share_states_share_those_that_one_loads():
    optimizer = Momentum({"p": np.ones(2)}, lr=1.0)
    optimizer.step([np.ones(2)])
    other = copy.copy(optimizer)
    other.load_state_dict(copy.deepcopy(other.state_dict()))
    optimizer.step([np.ones(2)])
    assert optimizer.state_dict()["states"]["p"]["iteration"] == 2


def test_a_schedule_may_set_the_rate_of_the_groups_after_its_own():
    def schedule(step):
        groups[1]["lr"] = 0.5**step
        return 0.0

    param = np.ones(1)
    groups = [{"params": {"a": np.ones(1)}, "lr": schedule}, {"params": {"b": param}}]
    optimizer = SGD(groups, lr=7.0)
    groups = optimizer.groups
    for left in (0.0, -0.5, -0.75):
        optimizer.step([np.ones(1)] * 2)
        assert param.item() == left


def test_a_schedule_is_not_asked_for_a_step_without_a_gradient():
    asked = []
    optimizer = SGD({"a": np.ones(1), "b": np.ones(1)}, lr=lambda step: asked.append(step) or 0.5)
    asked.clear()
    with pytest.raises(ValueError, match="no gradient for b"):
        optimizer.step({"a": np.ones(2)})
    assert not asked


def test_parameters_that_left_their_dictionary_are_missed():
    optimizer = SGD({"a": np.ones(1)}, lr=0.5)
    optimizer.groups[0]["a"] = optimizer.groups[0]["params"].pop("a")
    with pytest.raises(lodkit.LodkitError, match="groups must have the parameters a"):
        optimizer.step([np.ones(1)])


@pytest.mark.parametrize("part", [slice(None), slice(1, 3)])
def test_a_gradient_in_the_memory_of_another_parameter_is_refused(part):
    params = {"p": np.ones(4), "q": np.ones(4)[part].copy()}
    optimizer = SGD(params, lr=0.5)
    optimizer.step({name: np.zeros_like(param) for name, param in params.items()})
    grad = params["p"] if part == slice(None) else params["p"][part]
    with pytest.raises(lodkit.OutputError, match="q: the gradient overlaps the parameter p"):
        optimizer.step({"p": np.ones(4), "q": grad})
    assert params["p"].tolist() == [1.0] * 4
