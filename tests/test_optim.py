"""Optimizers as objects: the operator's steps, groups, schedules, states of touched rows, states in files."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LodkitError, SelectedRows
from lodkit.optim import SGD, Adagrad, Adam, Momentum, Optimizer, RMSprop

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
    return {"lazy": True} if cls.op.definition.traits.touches_all({**cls.op.defaults, "lr": 0.1}) else {}


def operator_steps(cls, param, grads, lr, **attrs):
    """The same steps by calls of the operator."""
    new = cls({"p": param}, lr=1.0)._new(param)
    states = [new(s) for s in cls.states]
    for k, grad in enumerate(grads):
        count = {"iteration": k} if "iteration" in cls.op._needed else {}
        cls.op(param, grad, *states, lr=lr, **cls.defaults, **count, **attrs)
    return param


@every
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
    if cls.op.definition.traits.whole:
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
    optimizer.step([last, None])
    again.step([last, None])
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
        optimizer.step({"a": np.ones(2), "b": None, "c": np.ones(2)})
    assert a.tolist() == [-1, -1] and b.tolist() == [0, 0] and c.tolist() == [-1.5, -1.5]
    optimizer.groups[0]["lr"] = np.array([2.0])
    optimizer.step([np.ones(2), np.ones(2), None])
    assert a.tolist() == [-3, -3] and b.tolist() == [-2, -2]
    assert [*optimizer.params] == ["a", "b", "c"]
    assert "lr" not in optimizer.state_dict()["groups"][1]


def test_training_under_a_tape():
    rng = np.random.default_rng(0)
    words, weight = rng.normal(size=(50, 4)), rng.normal(size=(4, 2)) * 0.1
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


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: SGD([np.ones(2)], lr=1.0), TypeError, "params must be a dictionary of arrays, or a list of groups"),
        (lambda: SGD({"a": [1.0]}, lr=1.0), TypeError, r"params\['a'\] must be an array"),
        (lambda: SGD({1: np.ones(2)}, lr=1.0), TypeError, "by a string"),
        (lambda: SGD({"a/b": np.ones(2)}, lr=1.0), ValueError, "names have no '/'"),
        (lambda: SGD({"a": np.ones(())}, lr=1.0), lodkit.ShapeMismatchError, r"a has no dimension; pass a\.reshape"),
        (lambda: SGD({"a": np.ones(2)}, lr=float("nan")), ValueError, "lr must be finite, got nan"),
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


@pytest.mark.parametrize(
    ("grads", "error", "message"),
    [
        ([np.ones((HEIGHT, WIDTH), np.float32)], ValueError, "1 gradients for 2 parameters: p, q"),
        ({"p": None}, ValueError, r"grads lacks \['q'\]"),
        ({"p": None, "q": None, "r": None}, ValueError, r"has \['r'\] that are no parameters"),
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
        (Adam, {}, {"rounding_seed": 1}, "rounding_seed is for a float16"),
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


@pytest.mark.parametrize("number", [-5, 2.5, True, np.nan, None, np.array([1, 2])])
def test_iterations_that_are_none(number):
    optimizer = Adam({"p": table()}, lr=0.1)
    optimizer.step([next(gradients(1))])
    state = optimizer.state_dict()
    other = Adam({"p": table()}, lr=0.2)
    for damaged in (
        {**state, "iteration": number},
        {**state, "states": {"p": {**state["states"]["p"], "iteration": number}}},
    ):
        with pytest.raises(LodkitError, match="iteration must be a whole number from 0 on"):
            other.load_state_dict(damaged)
        assert other.iteration == 0 and other.groups[0]["lr"] == 0.2
        assert not other.state_dict()["states"]["p"]["moment1"].any()


def test_rounding_is_another_one_at_each_step():
    """Steps far too small for float16 add up to their sum in every element, not only on average over all."""
    param = np.ones((50, 4), np.float16)
    optimizer = SGD({"p": param}, lr=1.0, rounding_seed=7)
    for _ in range(400):
        optimizer.step([np.full((50, 4), 1e-4, np.float16)])
    assert abs(param.mean(dtype=float) - 0.96) < 0.002 and param.std(dtype=float) < 0.006


def test_a_tape_sees_steps_of_touched_rows():
    for states in ("all", "touched"):
        weight, x = np.ones((3, 2)), np.ones((1, 3))
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
