"""Every optimizer in the registry, over several steps: SelectedRows and dense gradients, options, PyTorch."""

from __future__ import annotations

import functools
import tracemalloc

import numpy as np
import pytest
from samples import some_of

import lodkit
from lodkit import LoDTensor, SelectedRows

# Shapes and types of the samples, whose kernels are compiled already.
HEIGHT, WIDTH = 6, 3
EVERY = [name for name, op in lodkit.OPS.items() if hasattr(op.definition, "optimizer")]
OPTIMIZERS = [name for name in EVERY if "mask" in lodkit.OPS[name].defaults]  # with the attributes that rules share
FUSED = [name for name, op in lodkit.OPS.items() if hasattr(op.definition, "update")]
ROWS = ([4, 1], [2, 5, 2, 2, 0], [5, 3, 1], [], [*range(HEIGHT)])  # two, repeated, unsorted, none, all


def traits(name):
    return lodkit.OPS[name].definition.optimizer


def fresh(name, start=0.0):
    """A parameter and its states, as they are before the first step."""
    op, kinds = lodkit.OPS[name], traits(name)
    names = [*op.inputs][2:]
    param = np.random.default_rng(0).normal(size=(HEIGHT, WIDTH))
    states = [np.full_like(param, start) for _ in names]
    if kinds.rowwise:
        states[-1] = np.zeros(HEIGHT, np.int64) if kinds.counter else np.full(HEIGHT, start)
    if kinds.single:
        states[-1] = np.full(1, kinds.start)
    return (param * 0 if kinds.pairs else param), states  # ftrl's parameter is what its accumulators give


def settings(name, step, **attrs):
    op = lodkit.OPS[name]
    needed = {name: number for name, number in (("iteration", step), ("clip_norm", 1.0)) if name in op._needed}
    return {"lr": 0.05, **needed, **attrs}


def gradients():
    rng = np.random.default_rng(1)
    return [SelectedRows(np.array(rows, np.int64), rng.normal(size=(len(rows), WIDTH)), HEIGHT) for rows in ROWS]


def steps(name, made, **attrs):
    """Parameter and states after a step by each gradient."""
    param, states = fresh(name)
    for step, grad in enumerate(made):
        lodkit.OPS[name](param, grad, *states, **settings(name, step, **attrs))
    return param, *states


@pytest.mark.parametrize("name", EVERY)
def test_sparse_gradients_are_the_dense_ones(name):
    """After five steps. Rows that count the steps they wait make up for them by one step, which is another one."""
    if traits(name).counter:
        pytest.skip("its rows wait for a gradient")
    dense = steps(name, [grad.to_dense() for grad in gradients()])
    for one, other in zip(steps(name, gradients()), dense, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_lazy_touches_listed_rows_alone(name):
    param, states = fresh(name, start=0.5)
    before = [x.copy() for x in (param, *states)]
    grad = SelectedRows(np.array([4, 1, 4]), np.ones((3, WIDTH)), HEIGHT)
    lodkit.OPS[name](param, grad, *states, **settings(name, 3, lazy=True))
    for after, old in zip((param, *states), before, strict=True):
        np.testing.assert_array_equal(after[[0, 2, 3, 5]], old[[0, 2, 3, 5]])
        assert (after[[1, 4]] != old[[1, 4]]).any()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_lazy_takes_memory_of_the_listed_rows(name):
    op, height, kinds = lodkit.OPS[name], 300_000, traits(name)
    param, *states = np.zeros((1 + len(op.inputs) - 2, height, WIDTH))
    if kinds.rowwise:
        states[-1] = np.zeros(height, np.int64 if kinds.counter else np.float64)
    grad = SelectedRows(np.arange(4), np.ones((4, WIDTH)), height)
    op(param, grad, *states, **settings(name, 0, lazy=True))
    tracemalloc.start()
    op(param, grad, *states, **settings(name, 1, lazy=True))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


def by_template():
    """An optimizer for each template of kernels: what these do around a rule depends on nothing else of it."""
    found = {}
    for name in OPTIMIZERS:
        kinds, attrs = traits(name), {**lodkit.OPS[name].defaults, "lr": 0.1}
        spreads = kinds.touches_all(attrs) or bool(attrs.get("weight_decay"))
        found.setdefault((kinds.rowwise, kinds.counter, kinds.whole, spreads, len(lodkit.OPS[name].inputs)), name)
    return [*found.values()]


@pytest.mark.parametrize("name", by_template())
def test_options_change_the_gradient_before_the_rule(name):
    """maximize and clipping are the same step by a gradient that was turned or clipped before."""
    grad = gradients()[1]
    merged = grad.merge()
    norm = np.linalg.norm(merged.value)
    clipped = SelectedRows(merged.rows, merged.value.clip(-0.2, 0.2), HEIGHT)
    scaled = SelectedRows(merged.rows, merged.value * (0.5 / norm), HEIGHT)
    for attrs, equal in (({"maximize": True}, grad * -1), ({"clip_value": 0.2}, clipped), ({"clip_norm": 0.5}, scaled)):
        for got, expected in zip(steps(name, [grad], **attrs), steps(name, [equal]), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("sparse", [True, False])
def test_masked_rows_stay(name, sparse):
    """The others take the step of the gradient's other rows, which are all where averages or the parameter decay."""
    op, grad = lodkit.OPS[name], gradients()[1]
    mask, dense = np.array([True, True, False, True, True, False]), grad.to_dense()
    spreads = not sparse or traits(name).touches_all(op.defaults) or bool(op.defaults.get("weight_decay"))
    rows = np.flatnonzero(mask) if spreads else np.array([0])
    (param, states), (other, others) = fresh(name, start=0.5), fresh(name, start=0.5)
    before = [x.copy() for x in (param, *states)]
    op(param, grad if sparse else dense, *states, **settings(name, 3, mask=mask))
    op(other, SelectedRows(rows, dense[rows], HEIGHT).merge(), *others, **settings(name, 3, lazy=True))
    for after, old, expected in zip((param, *states), before, (other, *others), strict=True):
        np.testing.assert_array_equal(after[~mask], old[~mask])
        np.testing.assert_allclose(after, expected, rtol=1e-9)
    with pytest.raises(lodkit.ShapeMismatchError, match="one for each of 6 rows, got int64 of shape"):
        op(param, grad, *states, **settings(name, 3, mask=np.arange(6)))


@pytest.mark.parametrize("name", some_of([n for n in OPTIMIZERS if "decoupled" in lodkit.OPS[n].defaults], 3))
def test_decay_is_a_gradient_or_a_factor(name):
    grad = np.random.default_rng(2).normal(size=(HEIGHT, WIDTH))
    off, lr = {"weight_decay": 0.0}, 0.05
    for decoupled in (False, True):
        (param, states), (other, others) = fresh(name, start=0.5), fresh(name, start=0.5)
        param += 1
        other += 1
        before = other.copy()
        lodkit.OPS[name](param, grad, *states, **settings(name, 3, weight_decay=0.3, decoupled=decoupled))
        if decoupled:
            other *= 1 - lr * 0.3
        lodkit.OPS[name](other, grad if decoupled else grad + 0.3 * before, *others, **settings(name, 3, **off))
        np.testing.assert_allclose(param, other, rtol=1e-12)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_both_ways_to_clip_at_once_are_refused(name):
    param, states = fresh(name)
    before = param.copy()
    for attrs, match in (({"clip_value": 1.0, "clip_norm": 1.0}, "one of them"), ({"clip_norm": 0.0}, "larger than 0")):
        with pytest.raises(ValueError, match=match):
            lodkit.OPS[name](param, gradients()[0], *states, **settings(name, 0, **attrs))
    np.testing.assert_array_equal(param, before)


SCALED = [name for name in FUSED if lodkit.OPS[name].definition.update.name in by_template()]


@pytest.mark.parametrize(("name", "weighted"), [*((name, False) for name in FUSED), *((name, True) for name in SCALED)])
def test_a_fused_update_is_the_gradient_and_the_update(name, weighted):
    """Weights and means, which scale the gradient of a row, with a rule of each template."""
    pool = "mean" if weighted else "sum"
    rng = np.random.default_rng(3)
    update = lodkit.OPS[name].definition.update.name
    bags = LoDTensor(np.array([5, 1, 5]), [[2, 0, 1]])
    grad_output, weights = rng.normal(size=(3, WIDTH)), np.array([2.0, 3.0, 5.0]) if weighted else None
    param, states = fresh(update, start=0.5)
    apart, others = fresh(update, start=0.5)
    attrs = settings(update, 3)
    lodkit.OPS[name](param, bags, grad_output, *states, weights, pool=pool, **attrs)
    grad = lodkit.embedding_bag_grad(apart, bags, grad_output, weights, pool=pool)
    lodkit.OPS[update](apart, grad.merge(), *others, lazy=True, **attrs)
    for got, expected in zip((param, *states), (apart, *others), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-9)


def test_halves_with_float32_states():
    """A float16 table whose averages are float32: these keep what a float16 would lose."""
    for lazy in (False, True):
        param, moments = np.zeros((HEIGHT, WIDTH), np.float16), np.zeros((2, HEIGHT, WIDTH), np.float32)
        grad = SelectedRows(np.array([1, 4]), np.full((2, WIDTH), 1e-3, np.float16), HEIGHT)
        for step in range(3):
            lodkit.adam(param, grad, *moments, lr=0.1, iteration=step, lazy=lazy)
        g = np.float64(np.float16(1e-3))
        np.testing.assert_allclose(moments[1][1], g * g * (1 - 0.999**3), rtol=1e-5)
        np.testing.assert_allclose(param[[1, 4]], -0.3, rtol=2e-3)
        assert not param[[0, 2, 3, 5]].any()


@pytest.mark.parametrize("lazy", [False, True])
def test_rounding_at_random_keeps_small_steps(lazy):
    """A step of a hundredth of the last digit is lost to rounding to nearest, and counts on average at random."""
    lost, kept = np.ones((2, 4, 500), np.float16)
    grad = SelectedRows(np.arange(4), np.full((4, 500), 1e-5, np.float16), 4)
    for step in range(200):
        lodkit.sgd(lost, grad, lr=1.0)
        lodkit.momentum(kept, grad, np.zeros_like(kept), lr=1.0, rounding_seed=step, lazy=lazy)
    assert (lost == 1).all()
    expected = 200 * np.float64(np.float16(1e-5))
    assert abs((1 - kept.astype(np.float64)).mean() - expected) < 0.1 * expected
    for wrong, match in (({"duplicates": "sequential"}, "one step a row"), ({"rounding_seed": -1}, "at least 0")):
        with pytest.raises(ValueError, match=match):
            lodkit.sgd(kept, grad, lr=1.0, **{"rounding_seed": 1, **wrong})
    with pytest.raises(lodkit.DTypeError, match="for a parameter of float16 or bfloat16"):
        lodkit.sgd(np.ones((4, 500)), grad.to_dense().astype(float), lr=1.0, rounding_seed=1)


def test_rounding_at_random_is_the_same_for_listed_rows_and_all():
    rng = np.random.default_rng(5)
    one = rng.normal(size=(HEIGHT, WIDTH)).astype(np.float16)
    other, grad = one.copy(), SelectedRows(np.array([4, 1]), rng.normal(size=(2, WIDTH)).astype(np.float16), HEIGHT)
    lodkit.sgd(one, grad, lr=0.1, rounding_seed=3)
    lodkit.sgd(other, grad.to_dense(), lr=0.1, rounding_seed=3)
    np.testing.assert_array_equal(one, other)


def test_smart_decay_makes_up_for_steps_without_gradient():
    """The moments of adam, and nearly its parameter, of which only the root of the squares is today's."""
    smart, states = np.zeros((1, 1)), [np.zeros((1, 1)), np.zeros((1, 1)), np.zeros(1, np.int64)]
    dense, moments = np.zeros((1, 1)), np.zeros((2, 1, 1))
    for step, g in enumerate([1.0, 0.5, 0.0, 0.0, 0.0, 2.0]):
        grad = SelectedRows(np.array([0] if g else []), np.full((int(g != 0), 1), g), 1)
        lodkit.smart_decay_adam(smart, grad, *states, lr=0.1, iteration=step)
        moments = 0.9 * moments[0] + 0.1 * g, 0.999 * moments[1] + 0.001 * g * g
        dense -= 0.1 * moments[0] / (np.sqrt(moments[1]) + 1e-8) if step != 5 else 0
    np.testing.assert_allclose(states[:2], moments, rtol=1e-12)
    assert states[2] == 6
    last = 0.1 * moments[0] / np.sqrt(moments[1])
    assert abs(smart - (dense - last)) < 0.6 * abs(dense)


def test_noise_is_drawn_anew_at_each_step():
    draws = [
        lodkit.dpsgd(np.zeros(500), np.zeros(500), lr=1.0, clip_norm=1.0, sigma=2.0, iteration=i) for i in (0, 0, 1)
    ]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert abs(np.corrcoef(draws[0], draws[2])[0, 1]) < 0.2
    assert 1.8 < draws[0].std() < 2.2


ADAM = {"beta1": 0.8, "beta2": 0.95, "epsilon": 1e-3}
TORCH_ADAM = {"betas": (0.8, 0.95), "eps": 1e-3}
RMSPROP = {"decay": 0.9, "epsilon": 1e-3, "epsilon_in_root": False, "rate_in_velocity": False}
TORCH_RMSPROP = {"alpha": 0.9, "eps": 1e-3}
PEERS = {
    "sgd": ("sgd", 0, {}, "SGD", {}),
    "sgd, decay": ("sgd", 0, {"weight_decay": 0.1, "maximize": True}, "SGD", {"weight_decay": 0.1, "maximize": True}),
    "momentum": ("momentum", 1, {"momentum": 0.8}, "SGD", {"momentum": 0.8}),
    "nesterov": ("momentum", 1, {"momentum": 0.8, "nesterov": True}, "SGD", {"momentum": 0.8, "nesterov": True}),
    "dampening": ("momentum", 1, {"momentum": 0.8, "dampening": 0.3}, "SGD", {"momentum": 0.8, "dampening": 0.3}),
    "adagrad": ("adagrad", 1, {"epsilon": 1e-3, "weight_decay": 0.1}, "Adagrad", {"eps": 1e-3, "weight_decay": 0.1}),
    "adadelta": ("adadelta", 2, {"decay": 0.9, "epsilon": 1e-3}, "Adadelta", {"rho": 0.9, "eps": 1e-3}),
    "decayed_adagrad": ("decayed_adagrad", 1, {"decay": 0.9, "epsilon": 1e-3}, "RMSprop", TORCH_RMSPROP),
    "rmsprop": ("rmsprop", 2, {**RMSPROP, "momentum": 0.5}, "RMSprop", {**TORCH_RMSPROP, "momentum": 0.5}),
    "centered": (
        "rmsprop",
        3,
        {**RMSPROP, "momentum": 0.5},
        "RMSprop",
        {**TORCH_RMSPROP, "momentum": 0.5, "centered": True},
    ),
    "adam": ("adam", 2, {**ADAM, "corrected_epsilon": True}, "Adam", TORCH_ADAM),
    "amsgrad": ("adam", 3, {**ADAM, "corrected_epsilon": True}, "Adam", {**TORCH_ADAM, "amsgrad": True}),
    "adamw": ("adamw", 2, {**ADAM, "weight_decay": 0.1}, "AdamW", {**TORCH_ADAM, "weight_decay": 0.1}),
    "adamax": ("adamax", 2, {**ADAM, "weight_decay": 0.1}, "Adamax", {**TORCH_ADAM, "weight_decay": 0.1}),
    "nadam": ("nadam", 2, ADAM, "NAdam", TORCH_ADAM),
    "nadam, decoupled": (
        "nadam",
        2,
        {**ADAM, "weight_decay": 0.1, "decoupled": True},
        "NAdam",
        {**TORCH_ADAM, "weight_decay": 0.1, "decoupled_weight_decay": True},
    ),
    "radam": ("radam", 2, ADAM, "RAdam", TORCH_ADAM),
}


@functools.cache
def torch():
    return pytest.importorskip("torch")


@pytest.mark.parametrize("peer", PEERS)
def test_equals_torch(peer):
    """On dense gradients, over twelve steps, to 1e-6 (both in double precision)."""
    name, count, attrs, theirs, kwargs = PEERS[peer]
    rng, (param, _) = np.random.default_rng(4), fresh(name)
    leaf = torch().tensor(param.copy(), requires_grad=True)
    optimizer = getattr(torch().optim, theirs)([leaf], lr=0.05, **kwargs)
    states = [np.zeros_like(param) for _ in range(count)]
    for step in range(12):
        grad = rng.normal(size=param.shape)
        leaf.grad = torch().tensor(grad)
        optimizer.step()
        now = {**attrs, "dampening": 0.0} if step == 0 and "dampening" in attrs else attrs
        lodkit.OPS[name](param, grad, *states, **settings(name, step, **now))
        np.testing.assert_allclose(param, leaf.detach().numpy(), rtol=1e-6, atol=1e-9)
