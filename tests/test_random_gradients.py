"""Random expressions over operators, NumPy's functions, views and changes in place agree with central differences."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import lodkit
from lodkit import LoDTensor

IDS = LoDTensor([1, 2, 2, 0, 3], [[2, 1], [2, 1, 2]])
ROWS, WIDTH = 5, 3
CONSTANT = np.linspace(-1, 1, WIDTH)


def _in_place(x):
    made = x * 1.0
    made *= 0.5
    made += x
    return made


def _assigned(x):
    made = np.sin(x)
    made[1:2] = x[-1] * made.sum()
    return made


# Sequences to sequences: LoDTensors of ROWS rows of WIDTH.
RAGGED = [
    lambda x: 2 * x,
    lambda x: x + CONSTANT,
    lambda x: -x / 3,
    lambda x: x * x,
    lambda x: np.exp(0.3 * x),
    lambda x: np.tanh(x) + np.sqrt(x * x + 1),
    lambda x: 1 / (x * x + 2),
    lambda x: np.maximum(x, 0.1) - abs(x),
    lambda x: x.with_values(x.values[:, :1]) * x,
    lambda x: x.with_values(x.values @ (np.eye(WIDTH) + 0.1)),
    lambda x: x.with_values(np.concatenate([x.values[2:], x.values[:2]])),
    lambda x: x.with_values(x.values - x.values.mean(axis=1, keepdims=True)),
    _in_place,
    lambda x: lodkit.concat([x[1:], x[:1]])[[1, 0]],
    lodkit.tanh,
    lodkit.sequence_softmax,
    lodkit.sequence_cumsum,
    lambda x: lodkit.sequence_center(x, level=0),
    lambda x: lodkit.sequence_reverse(x, level=1),
    lambda x: lodkit.fc(x, np.eye(WIDTH) - 0.2),
]
RAGGED_OF_TWO = [
    lambda x, y: x + y,
    lambda x, y: x * y,
    lambda x, y: x - np.arctan(y),
    lambda x, y: np.maximum(x, y),
    lambda x, y: x * lodkit.sequence_softmax(y),
    lambda x, y: x.with_values(np.where(y.values > 0, x.values, y.values * 2)),
]
# Sequences to one row each, and rows to rows.
POOLED = [
    lambda x, pool=pool: lodkit.sequence_pool(x, pool=pool).values
    for pool in ("sum", "mean", "max", "last", "logsumexp")
]
POOLED += [lambda x: lodkit.sequence_pool(x, level=0)[[0, 1, 1]], lambda x: x[0, 1] * np.ones((3, 1))]
DENSE = [
    lambda x: x * 3.0,
    lambda x: x.T.ravel().reshape(x.shape) + x,
    lambda x: x @ x.T @ x * 0.1,
    lambda x: np.log1p(x * x),
    lambda x: x / (1 + x.std() + np.linalg.norm(x)),
    lambda x: np.cumsum(x, axis=0) - x.max(axis=1, keepdims=True),
    lambda x: np.stack([row * k for k, row in enumerate(x)]),
    lambda x: np.einsum("ij,kj->ik", x, x) @ x * 0.1,
    _in_place,
    _assigned,
    lodkit.relu,
    lodkit.tanh,
]


def expression(table, path, seed):
    """A random graph: every step takes one or two of the values so far."""
    random = np.random.default_rng(seed)
    start = lodkit.lookup_table(table, IDS)
    ragged, dense = [start], []
    for step in path:
        x, y = (ragged[i] for i in random.integers(len(ragged), size=2))
        if step < len(RAGGED):
            ragged.append(RAGGED[step](x))
        elif step < len(RAGGED) + len(RAGGED_OF_TWO):
            ragged.append(RAGGED_OF_TWO[step - len(RAGGED)](x, y))
        else:
            dense.append(POOLED[step % len(POOLED)](y))
            dense.append(DENSE[step % len(DENSE)](dense[random.integers(len(dense))]))
    parts = [lodkit.tanh(lodkit.sequence_pool(ragged[-1]).values), *(lodkit.tanh(x) for x in dense[-2:])]
    return np.concatenate([x * weight for x, weight in zip(parts, (1.0, 0.7, -0.4), strict=False)])


def differs(table, path, seed):
    """Largest difference of the gradient from central differences, in tolerances."""
    parameter = lodkit.parameter(table)
    with lodkit.Tape() as tape:
        result = expression(parameter, path, seed)
    gradient = tape.gradient(result, [parameter])[0]
    gradient = gradient.to_dense() if isinstance(gradient, lodkit.SelectedRows) else gradient
    worst = 0.0
    for place in np.ndindex(table.shape):
        found = []
        for step in (1e-6, 1e-5):
            up, down = table.copy(), table.copy()
            up[place] += step
            down[place] -= step
            found.append((expression(up, path, seed).sum() - expression(down, path, seed).sum()) / (2 * step))
        kink = abs(found[0] - found[1])  # of a maximum, between the two
        tolerance = 1e-6 + 1e-4 * abs(found[0]) + 2 * kink
        worst = max(worst, abs(gradient[place] - found[0]) / tolerance)
    return worst


STEPS = len(RAGGED) + len(RAGGED_OF_TWO) + 12


@settings(deadline=None, max_examples=60)
@given(path=st.lists(st.integers(0, STEPS), min_size=1, max_size=7), seed=st.integers(0, 2**32))
def test_random_expressions(path, seed):
    table = np.random.default_rng(seed).normal(size=(4, WIDTH))
    assert differs(table, path, seed) < 1


def test_every_function_of_the_trees():
    for step in range(STEPS):
        table = np.random.default_rng(step).normal(size=(4, WIDTH))
        assert differs(table, [step, len(RAGGED) + 2, step], step) < 1, step
