"""Equal rows are summed in one way: a gradient, its merged form and its dense form make the same step, bit by bit."""

from __future__ import annotations

import types

import numpy as np
import pytest
from test_every_op import same_bits

import lodkit
from lodkit import LoDTensor, SelectedRows

OPTIMIZERS = {
    "sgd": (0, {"lr": 0.1}),
    "adagrad": (1, {"lr": 0.1}),
    "ftrl": (2, {"lr": 0.1, "l1": 0.01}),
    "adam": (2, {"lr": 0.1, "iteration": 0, "lazy": True}),
}


def grads(n, height, item, dtype, seed=0):
    """A gradient whose rows repeat, with zeros of both signs."""
    rng = np.random.default_rng(seed)
    value = rng.normal(size=(n, *item)).astype(dtype)
    value[::3] *= -0.0
    return SelectedRows(rng.integers(0, height, n), value, height)


def steps(name, grad, place, form=lambda grad: grad, call=None):
    """The parameter and the states after a step from numbers of both signs, by the operator or another ``call``."""
    states, attrs = OPTIMIZERS[name]
    start = np.where(np.arange(grad.shape[0]) % 2, -0.0, 0.5).astype(grad.dtype)
    param = np.broadcast_to(start.reshape(-1, *[1] * (grad.ndim - 1)), grad.shape).copy()
    inputs = param, *(np.full(grad.shape, 0.25, grad.dtype) for _ in range(states))
    param, *inputs = map(place.to, inputs)
    result = (call or lodkit.OPS[name])(param, form(place.to(grad)), *inputs, **attrs)
    return tuple(map(place.home, result)) if states else (place.home(result),)


@pytest.mark.parametrize(
    ("name", "item", "dtype"),
    [(name, (3,), np.float64) for name in OPTIMIZERS]
    + [(name, item, np.float32) for name in ("sgd", "adagrad") for item in [(), (4, 16)]],
    ids=str,
)
def test_a_gradient_steps_as_its_merged_form(name, item, dtype, widest_updates):
    here = types.SimpleNamespace(to=lambda x: x, home=lambda x: x)
    for n, height in ((0, 5), (40, 7), (300, 5), (700, 300)):
        grad = grads(n, height, item, dtype)
        same_bits(steps(name, grad, here), steps(name, grad, here, SelectedRows.merge))


@pytest.mark.parametrize("name", ["sgd", "adagrad"])
def test_wide_rows_step_as_the_definition_says(name, widest_updates):
    """64 columns at a time, in one type: tests over the registry may take fewer."""
    here, grad = types.SimpleNamespace(to=lambda x: x, home=lambda x: x), grads(40, 7, (4, 16), np.float32)
    op = lodkit.OPS[name]
    expected = steps(name, grad, here, call=lambda *inputs, **attrs: op.definition(*inputs, **{**op.defaults, **attrs}))
    for got, right in zip(steps(name, grad, here), expected, strict=True):
        np.testing.assert_allclose(got, right, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("item", [(), (3,)], ids=str)
def test_on_a_gpu_too(item, place, monkeypatch):
    if isinstance(place.to(np.ones(1)), np.ndarray):
        pytest.skip("the CPU has its own tests")
    from lodkit.kernels.cuda.primitives import offsets

    monkeypatch.setattr(offsets.settings, "tile_rows", 8)
    monkeypatch.setattr(offsets.settings, "run_rows", 8)
    for n, height in ((4, 5), (60, 3), (1200, 400)):
        grad = grads(n, height, item, np.float32)
        step = steps("adagrad", grad, place)
        same_bits(step, steps("adagrad", grad, place, SelectedRows.merge))
        same_bits(step, steps("adagrad", grad, place, SelectedRows.to_dense))


def test_at_every_block_chunk_and_tile(tiny_blocks):
    """Runs longer than the tiles of a merge, which is 48 rows here."""
    for threads in (1, 2):
        lodkit.set_num_threads(threads)
        for n, height in ((500, 2), (500, 30), (50, 40)):
            grad, results = grads(n, height, (3,), np.float64), []
            for g in (grad, grad.merge()):
                param, moment = np.ones(g.shape), np.ones(g.shape)
                results.append(lodkit.adagrad(param, g, moment, lr=0.1))
            same_bits(*results)


def test_a_fused_update_sums_as_the_gradient_of_a_bag(tiny_blocks):
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 9, 60)
    ids = LoDTensor(rng.integers(0, 5, lengths.sum()), [lengths])
    grad, table = rng.normal(size=(60, 3)), np.ones((5, 3))
    fused = lodkit.embedding_bag_adagrad(table.copy(), ids, grad, np.ones_like(table), lr=0.1, pool="mean")
    parameter = lodkit.parameter(table)
    with lodkit.Tape() as tape:
        out = lodkit.embedding_bag(parameter, ids, pool="mean")
    rows = tape.gradient(out, [parameter], output_gradients=grad)[0]
    same_bits(fused, lodkit.adagrad(table.copy(), rows, np.ones_like(table), lr=0.1))


def test_runs_are_found_once(monkeypatch):
    from lodkit.kernels.cpu.primitives import merge

    calls = []
    sort = merge.sort_rows
    monkeypatch.setattr(merge, "sort_rows", lambda *args: calls.append(1) or sort(*args))
    grad = grads(100, 9, (4,), np.float32)
    first, second = grad.merge(), (grad * 2.0).merge()
    lodkit.sgd(np.ones(grad.shape, np.float32), grad, lr=0.1)
    assert len(calls) == 1
    same_bits(second, first * 2.0)
