"""SelectedRows step all rows of a parameter as the dense gradient does, to the bit, without making it."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import lodkit

HEIGHT, WIDTH = 5000, 24
RULES = {"momentum": {"clip_value": 0.5, "maximize": True}, "adam": {"iteration": 3}}


def made(name, rows, width=WIDTH):
    rng = np.random.default_rng(0)
    count = len(lodkit.OPS[name].inputs) - 2 - (name != "momentum")
    arrays = [rng.random((HEIGHT, width), np.float32) for _ in range(1 + count)]
    return arrays, lodkit.SelectedRows(rows, rng.standard_normal((len(rows), width), dtype=np.float32), HEIGHT)


def step(name, arrays, grad):
    param, *states = (x.copy() for x in arrays)
    getattr(lodkit, name)(param, grad, *states, lr=0.1, **RULES[name])
    return param, *states


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize(
    "rows",
    [[], [HEIGHT - 1, 0], np.random.default_rng(1).integers(0, HEIGHT, 3000), [7] * 200 + [3]],
    ids=["none", "ends", "random", "long run"],
)
def test_bits_of_the_dense_gradient(name, rows):
    arrays, grad = made(name, np.asarray(rows, np.int64))
    for one, other in zip(step(name, arrays, grad), step(name, arrays, grad.to_dense()), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.jit
def test_it_takes_no_memory():
    (param, *states), grad = made("adam", np.arange(10))
    step("adam", (param, *states), grad)
    tracemalloc.start()
    lodkit.adam(param, grad, *states, lr=0.1, **RULES["adam"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < param.nbytes // 20
