"""Optimizers as objects: the operator's steps, groups, schedules, states of touched rows, states in files."""

from __future__ import annotations

import contextlib
import itertools

import numpy as np
import pytest
from conftest import tracing
from samples import some_of

import lodkit
from lodkit import LodkitError, SelectedRows
from lodkit.optim import SGD, Adagrad, Adam, Momentum, Optimizer

HEIGHT, WIDTH = 40, 3  # and float64: what the samples have compiled
CLASSES = Optimizer.__subclasses__()
#: One of each kind of states, for what does not depend on the rule: none, of elements, of elements and of rows.
KINDS = [lodkit.optim.SGD, lodkit.optim.Adagrad, lodkit.optim.Adam, lodkit.optim.RowwiseAdam]
every = pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)


def table(seed=0, dtype=np.float64):
    return np.random.default_rng(seed).normal(size=(HEIGHT, WIDTH)).astype(dtype)


def gradients(count, dtype=np.float64):
    """SelectedRows with rows that repeat, come again, and are none."""
    rng = np.random.default_rng(1)
    for k in range(count):
        rows = rng.integers(0, HEIGHT, 0 if k == 2 else 7)
        yield SelectedRows(rows, rng.normal(size=(len(rows), WIDTH)).astype(dtype), HEIGHT)


def settings(cls):
    """Attributes with which a rule leaves rows without a gradient alone."""
    return {"lazy": True} if cls.op.definition.optimizer.touches_all({**cls.op.defaults, "lr": 0.1}) else {}


def operator_steps(cls, param, grads, lr, **attrs):
    """The same steps by calls of the operator."""
    new = cls({"p": param}, lr=1.0)._new(param)
    states = [new(s) for s in cls.states]
    for k, grad in enumerate(grads):
        count = {"iteration": k} if "iteration" in cls.op._needed else {}
        cls.op(param, grad, *states, lr=lr, **cls.defaults, **count, **attrs)
    return param


@pytest.mark.parametrize("cls", some_of(CLASSES, 2), ids=lambda cls: cls.__name__)
def test_steps_are_those_of_the_operator(cls):
    param = table()
    optimizer = cls({"p": param}, lr=0.1)
    for grad in gradients(4):
        optimizer.step([grad])
    np.testing.assert_array_equal(param, operator_steps(cls, table(), gradients(4), 0.1))
    assert optimizer.iteration == 4
    dense = table()
    optimizer = cls({"p": dense}, lr=0.1)
    for grad in gradients(4):
        optimizer.step({"p": grad.to_dense()})
    np.testing.assert_array_equal(dense, operator_steps(cls, table(), (g.to_dense() for g in gradients(4)), 0.1))


@pytest.mark.parametrize(
    ("cls", "duplicates"), [*((cls, "merge") for cls in CLASSES), *((cls, "sequential") for cls in KINDS)]
)
def test_states_of_touched_rows(cls, duplicates, tmp_path):
    """The same bits as states of all rows, before and after a file."""
    if cls.op.definition.optimizer.whole:
        with pytest.raises(ValueError, match=r"states=\"touched\".*by norms over all"):
            cls({"p": table()}, lr=0.1, states="touched")
        return
    attrs = {**settings(cls), "duplicates": duplicates}
    params = table(), table()
    touched, whole = (cls({"p": p}, lr=0.1, states=s, **attrs) for p, s in zip(params, ("touched", "all"), strict=True))
    for k, grad in enumerate(gradients(6)):
        touched.step([grad])
        whole.step([grad])
        if k == 3:
            lodkit.save(tmp_path / "state.npz", touched.state_dict())
            touched = cls({"p": params[0]}, lr=0.5, states="touched", **settings(cls))
            touched.load_state_dict(lodkit.load(tmp_path / "state.npz"))
    np.testing.assert_array_equal(*params)
    if cls.states:
        found = touched.state_dict()["states"]["p"]
        assert len(found["rows"]) == len(found[cls.states[0]]) < HEIGHT


def test_memory_of_touched_rows_follows_their_number():
    param = np.zeros((10_000_000, 1), np.float32)
    optimizer = Adagrad({"p": param}, lr=0.1, states="touched")
    rows = np.arange(1000) * 9_999
    optimizer.step([SelectedRows(rows, np.ones((1000, 1), np.float32), len(param))])
    state = optimizer._states["p"]["touched"]
    assert sum(s.nbytes for s in state._states.values()) + state._rows.nbytes < 100_000
    assert (param[rows] < 0).all() and np.count_nonzero(param) == 1000


@every
def test_states_in_files(cls, tmp_path):
    """A run that stops, and goes on from its file, has the bits of one that does not."""
    param = table()
    optimizer = cls({"p": param, "q": np.ones(3)}, lr=0.05)
    for grad in gradients(3):
        optimizer.step({"p": grad, "q": np.ones(3)})
    lodkit.save(tmp_path / "state.npz", {"p": param, "optimizer": optimizer.state_dict()})
    state = lodkit.load(tmp_path / "state.npz")
    again = cls({"p": state["p"], "q": np.ones(3)}, lr=0.7)
    again.load_state_dict(state["optimizer"])
    assert again.iteration == 3 and again.groups[0]["lr"] == 0.05
    last = next(gradients(1))
    optimizer.step([last, None], missing="skip")
    again.step([last, None], missing="skip")
    np.testing.assert_array_equal(param, state["p"])


def test_states_of_float16_are_float32():
    param = np.zeros((4, 2), np.float16)
    optimizer = Adam({"p": param}, lr=0.1, lazy=True)
    optimizer.step([SelectedRows([1], np.ones((1, 2), np.float16), 4)])
    assert optimizer.state_dict()["states"]["p"]["moment1"].dtype == np.float32
    np.testing.assert_allclose(param[1], -0.1, rtol=1e-3)


def test_groups_and_schedules():
    a, b, c = np.zeros(2), np.zeros(2), np.zeros(2)
    rates = {"lr": lambda step: 1.0 / (1 + step)}
    optimizer = SGD([{"params": {"a": a, "b": b}}, {"params": {"c": c}, **rates}], lr=0.5)
    for _ in range(2):
        optimizer.step({"a": np.ones(2), "c": np.ones(2)}, missing="skip")
    assert a.tolist() == [-1, -1] and b.tolist() == [0, 0] and c.tolist() == [-1.5, -1.5]
    optimizer.groups[0]["lr"] = np.array([2.0])
    optimizer.step([np.ones(2), np.ones(2), None], missing="skip")
    assert a.tolist() == [-3, -3] and b.tolist() == [-2, -2]
    assert [*optimizer.params] == ["a", "b", "c"]
    assert "lr" not in optimizer.state_dict()["groups"][1]


def test_training_under_a_tape():
    rng = np.random.default_rng(0)
    words, weight = map(lodkit.parameter, (rng.normal(size=(50, 4)), rng.normal(size=(4, 2)) * 0.1))
    optimizer = Adam({"words": words, "weight": weight}, lr=0.05, amsgrad=True, lazy=True)
    ids = lodkit.LoDTensor(rng.integers(0, 50, 60), [[3] * 20])
    labels = (ids.values.reshape(20, 3).sum(axis=1) > 75).astype(np.int64)
    losses = []
    for _ in range(30):
        with lodkit.Tape() as tape:
            logits = lodkit.embedding_bag(words, ids) @ weight
            loss = lodkit.mean(lodkit.softmax_with_cross_entropy(logits, labels))
        optimizer.step(tape.gradient(loss, [words, weight]))
        losses.append(float(loss[0]))
    assert losses[-1] < losses[0] / 4
    assert set(optimizer.state_dict()["states"]["words"]) == {"iteration", "moment1", "moment2", "largest"}


def test_equal_to_torch():
    torch = pytest.importorskip("torch")
    for cls, other, attrs in (
        (SGD, torch.optim.SGD, {}),
        (Momentum, torch.optim.SGD, {"momentum": 0.9}),
        (Adagrad, torch.optim.Adagrad, {}),
        (Adam, torch.optim.Adam, {}),
        (Adam, torch.optim.Adam, {"amsgrad": True}),
    ):
        param, theirs = table(), torch.tensor(table())
        mine, peer = cls({"p": param}, lr=0.1, **attrs), other([theirs], lr=0.1, **attrs)
        for grad in gradients(5):
            dense = grad.to_dense()
            theirs.grad = torch.tensor(dense)
            mine.step([dense])
            peer.step()
        np.testing.assert_allclose(param, theirs.numpy(), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "name", ["SGD", "Adam", "RowwiseAdagrad", "FTRL", "SmartDecayAdam", "LAMB", "WNGrad", "Storm", "DPSGD"]
)
def test_on_a_gpu(place, name, tmp_path):
    """Steps, states and files are those of the CPU."""
    cls = getattr(lodkit.optim, name)
    home, away = table(), place.to(table())
    optimizers = [cls({"p": p}, lr=0.1) for p in (home, away)]
    for grad in gradients(3):
        optimizers[0].step([grad])
        optimizers[1].step([place.to(grad)])
    np.testing.assert_allclose(place.home(away), home, rtol=1e-5, atol=1e-6)
    lodkit.save(tmp_path / "state.npz", optimizers[1].state_dict())
    again = cls({"p": place.to(home)}, lr=0.1)
    again.load_state_dict(lodkit.load(tmp_path / "state.npz"))
    for state in cls.states:
        found, expected = (o.state_dict()["states"]["p"][state] for o in (again, optimizers[0]))
        np.testing.assert_allclose(place.home(found), expected, rtol=1e-5, atol=1e-6)


def test_rounding_is_another_one_at_each_step():
    """Steps far too small for float16 add up to their sum in every element, not only on average over all."""
    param = np.ones((50, 4), np.float16)
    optimizer = SGD({"p": param}, lr=1.0, rounding_seed=7)
    for _ in range(400):
        optimizer.step([np.full((50, 4), 1e-4, np.float16)])
    assert abs(param.mean(dtype=float) - 0.96) < 0.002 and param.std(dtype=float) < 0.006


def test_a_tape_sees_steps_of_touched_rows():
    for states in ("all", "touched"):
        weight, x = map(lodkit.parameter, (np.ones((3, 2)), np.ones((1, 3))))
        with lodkit.Tape() as tape:
            y = lodkit.fc(x, weight)
        SGD({"w": weight}, lr=0.1, states=states).step([SelectedRows([1], np.ones((1, 2)), 3)])
        with pytest.raises(LodkitError, match="overwritten since"):
            tape.gradient(y, [x])


def test_noise_is_another_one_at_each_step_and_parameter():
    params = {name: np.zeros((50, 4)) for name in "pq"}
    optimizer = lodkit.optim.DPSGD(params, lr=1.0, sigma=1.0, seed=3)
    steps = []
    for _ in range(2):
        before = {name: param.copy() for name, param in params.items()}
        optimizer.step([np.zeros((50, 4))] * 2)
        steps += [(params[name] - before[name]).ravel() for name in "pq"]
    assert abs(np.corrcoef(steps) - np.eye(4)).max() < 0.3
    for attrs in ({"seed": -1}, {"sigma": -1.0}, {"clip_norm": 0.0}, {"batch_size": 0.0}):
        with pytest.raises(ValueError, match=f"{next(iter(attrs))} must be"):
            lodkit.optim.DPSGD(params, lr=1.0, **attrs)
    with pytest.raises(ValueError, match="beta must be larger than 0"):
        lodkit.optim.Storm(params, lr=1.0, beta=0.0)


class Stop(Exception):
    """What another signal's handler raises."""


def test_a_parted_step_leaves_states_that_load():
    """States of touched rows, parted at each bytecode of the code that gives new rows their slots."""
    grads = [SelectedRows(rows, np.ones((len(rows), WIDTH)), HEIGHT) for rows in ([5, 1], [9, 5, 3], [2, 9, 7])]
    reached = True
    for number in itertools.count():
        made, left = Adagrad({"t": table()}, lr=0.1, states="touched"), number
        made.step({"t": grads[0]})

        def trace(frame, event, arg):
            nonlocal left
            if not frame.f_code.co_filename.endswith("touched.py"):
                return trace if event == "call" else None
            frame.f_trace_opcodes = True
            left -= event == "opcode"
            if left < 0:
                raise Stop
            return trace

        with contextlib.suppress(Stop), tracing(trace):
            made.step({"t": grads[1]})
            reached = False
        made.step({"t": grads[2]})
        again = Adagrad({"t": table()}, lr=0.1, states="touched")
        again.load_state_dict(made.state_dict())
        rows = made.state_dict()["states"]["t"]["rows"]
        assert len(np.unique(rows)) == len(rows) and {1, 2, 5, 7, 9} <= {*rows.tolist()}
        if not reached:
            break
    assert number > 100
