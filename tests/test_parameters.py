"""Gradients by parameters, whose arithmetic every tape records: right, or refused."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from differences import differences, numbers

import lodkit
from lodkit import LoDTensor, SelectedRows, parameter
from lodkit.arrays.recorded import Parameter

rng = np.random.default_rng(5)
IDS = LoDTensor([1, 2, 2, 0, 3], [[2, 1, 2]])
LABELS = np.array([0, 2, 1])
MASK = (np.arange(12).reshape(4, 3) % 3 > 0) * 1.0
ANGLES = np.linspace(0.1, 2.0, 5)[:, None]


def matrix(*shape):
    return rng.normal(size=shape or (4, 3))


def agrees(function, *sources, rtol=1e-5):
    """Hold gradients by parameters against central differences of the function of plain arrays."""
    made = list(map(parameter, sources))
    with lodkit.Tape() as tape:
        result = function(*made)
    weights = rng.normal(size=numbers(result).shape)
    found = tape.gradient(result, made, weights)
    for gradient, expected in zip(found, differences(function, sources, weights), strict=True):
        gradient = gradient.to_dense() if isinstance(gradient, SelectedRows) else gradient
        assert type(gradient) is np.ndarray
        np.testing.assert_allclose(gradient, expected, rtol=rtol, atol=1e-7)


def two(W):
    return LoDTensor(W, [[3, 1]])


def bag(W):
    return lodkit.sequence_pool(lodkit.lookup_table(W, IDS), pool="mean")


def cross_entropy(logits):
    return lodkit.softmax_with_cross_entropy(logits, LABELS)


def smoothed_cross_entropy(logits, share=0.1):
    """Label smoothing by hand."""
    logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return -((1 - share) * logs[np.arange(3), LABELS] + share * logs.mean(axis=1)).mean()


def rotated(x):
    """Rotary positions, by the values of a LoDTensor."""
    a, b = x.values[:, :1], x.values[:, 1:2]
    turned = np.concatenate([a * np.cos(ANGLES) - b * np.sin(ANGLES), a * np.sin(ANGLES) + b * np.cos(ANGLES)], axis=1)
    return x.with_values(turned)


def in_batch_softmax(queries, items, bias):
    """A softmax over the items of a batch, each with a bias of its own."""
    scores = bag(queries) @ bag(items).T + lodkit.lookup_table(bias, np.array([1, 2, 0]))[:, 0]
    return smoothed_cross_entropy(scores, 0.0)


#: What people add to a model: by the number of matrices of 4 x 3 that it takes.
ADDED = {
    "L2": lambda W: bag(W).mean() + 0.5 * np.square(W).sum(),
    "L1": lambda W: bag(W).mean() + 0.1 * np.abs(W).sum(),
    "max-norm": lambda W: bag(W * np.minimum(1, 1.5 / np.linalg.norm(W, axis=1, keepdims=True))),
    "weight norm": lambda W: lodkit.fc(matrix_of(2, 4), W / np.linalg.norm(W)),
    "tied weights": lambda W: cross_entropy(lodkit.tanh(bag(W)) @ W[:3].T),
    "masks": lambda W: bag(W * MASK),
    "low-rank products": lambda U, V: lodkit.tanh(U @ V.T),
    "label smoothing": lambda W: smoothed_cross_entropy(bag(W)),
    "rotary": lambda W: lodkit.sequence_pool(rotated(lodkit.lookup_table(W, IDS)), pool="mean"),
    "in-batch softmax": in_batch_softmax,
}


def matrix_of(*shape):
    return np.random.default_rng(1).normal(size=shape)


@pytest.mark.parametrize("name", ADDED)
def test_what_people_add_to_a_model(name):
    function = ADDED[name]
    agrees(function, *(matrix() for _ in range(function.__code__.co_argcount if name != "label smoothing" else 1)))


#: Expressions of which a parameter is the only source.
ALONE = {
    "W.T": lambda W: W.T + 1,
    "W @ x": lambda W: W @ matrix_of(3),
    "x @ W": lambda W: matrix_of(2, 4) @ W,
    "W / norm": lambda W: W / np.linalg.norm(W),
    "rows by norms": lambda W: W / np.sqrt(np.square(W).sum(axis=1, keepdims=True)),
    "W * W": lambda W: W * W,
    "2 ** W": lambda W: 2.0**W,
    "-W": lambda W: -W,
    "W[1:]": lambda W: W[1:] * 2,
    "W[[0, 0, 3]]": lambda W: W[[0, 0, 3]],
    "W[W > 0]": lambda W: W[np.asarray(W) > 0] ** 2,
    "for row in W": lambda W: np.stack([row * k for k, row in enumerate(W)]),
    "W.ravel()": lambda W: W.ravel().reshape(3, 4),
    "W.sum()": lambda W: W.sum() * W.mean() * W.std() + W.max() - W.min(),
    "np.concatenate": lambda W: np.concatenate([W, 2 * W]),
    "np.where": lambda W: np.where(MASK > 0, W, 3 * W),
    "np.einsum": lambda W: np.einsum("ij,kj->ik", W, W),
    "np.clip": lambda W: np.clip(W, -0.5, 0.5),
    "np.exp": lambda W: np.exp(W) + np.tanh(W) * np.log1p(W * W),
    "astype": lambda W: W.astype(np.float64) * 3,
    "copy": lambda W: W.copy() * 3,
    "operator alone": lambda W: lodkit.tanh(W),
    "operator and NumPy": lambda W: lodkit.tanh(W) + W,
    "lookup and NumPy": lambda W: lodkit.lookup_table(W, IDS).values.sum() + np.square(W).sum(),
    "in a LoDTensor": lambda W: lodkit.sequence_pool(two(W)) + W.sum(),
    "values of a LoDTensor": lambda W: (
        lodkit.sequence_pool(LoDTensor(W, [[3, 1]])).sum() + LoDTensor(W, [[3, 1]]).values
    ),
    "arithmetic of a LoDTensor": lambda W: np.exp(two(W) * 0.5),
    "in SelectedRows": lambda W: (
        SelectedRows([1, 1, 0, 3], W, 5).to_dense() + SelectedRows([0, 1, 2, 3], W, 4).value.sum()
    ),
    "a list of parameters": lambda W: np.stack([W, W]).sum(axis=0),
    "an update of a copy": lambda W: functools.reduce(np.add, [W.copy() * k for k in range(3)]),
}


@pytest.mark.parametrize("name", ALONE)
def test_expressions_of_one_parameter(name):
    agrees(ALONE[name], matrix())


def test_the_gradient_of_a_lookup_alone_is_sparse():
    W = parameter(matrix())
    with lodkit.Tape() as tape:
        loss = bag(W).sum()
    assert isinstance(tape.gradient(loss, [W])[0], SelectedRows)


def test_values_of_parameters():
    t, rows = parameter(LoDTensor(matrix(), [[3, 1]])), parameter(SelectedRows([1, 0, 1, 2], matrix(), 5))
    assert type(t.values) is type(t[0]) is type(t[:1].values) is type(rows.value) is Parameter
    assert t.equals(LoDTensor(np.asarray(t.values), [[3, 1]])) and "LoDTensor([[" in repr(t)
    with lodkit.Tape() as tape:
        loss = np.square(t.values).sum() + np.square(rows.value).sum() + rows.to_dense().sum()
    by_t, by_rows = tape.gradient(loss, [t, rows])
    np.testing.assert_allclose(by_t.values, 2 * np.asarray(t.values))
    np.testing.assert_allclose(by_rows, 2 * np.asarray(rows.value) + 1)


def test_values_of_any_lodtensor_are_recorded_on_a_tape():
    """Else the path by ``values`` were lost, as there is another."""
    t, rows = LoDTensor(matrix(), [[3, 1]]), SelectedRows([1, 0, 1, 2], matrix(), 5)
    with lodkit.Tape() as tape:
        loss = np.square(t.values).sum() + t.values[0].sum() + np.square(rows.value).sum() + (2 * rows).value.sum()
        loss = loss + lodkit.sequence_pool(t).sum()
    by_t, by_rows = tape.gradient(loss, [t, rows])
    expected = 2 * t.values + 1
    expected[0] += 1
    np.testing.assert_allclose(by_t.values, expected)
    np.testing.assert_allclose(by_rows, 2 * rows.value + 2)


VIEWS = {
    "W[1:]": lambda W: W[1:],
    "W.T": lambda W: W.T,
    "row": lambda W: W[2],
    "reshape": lambda W: W.reshape(-1),
    "np.reshape": lambda W: np.reshape(W, -1),
    "np.ravel": np.ravel,
    "np.atleast_2d": np.atleast_2d,
    "np.split": lambda W: np.split(W, 2)[0],
    "iteration": lambda W: list(W)[1],
    "view": lambda W: W.view(),
    "real": lambda W: W.real,
    "np.squeeze": np.squeeze,
}
#: Functions that return their array itself, which is the same variable.
SAME = {"np.atleast_2d", "np.squeeze", "real"}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_that_was_made_before_the_tape(name):
    """Its arithmetic is recorded; the gradient by what it is a view of is refused, as it would lack that."""
    W = parameter(matrix())
    part = VIEWS[name](W)
    assert type(part) is Parameter and np.shares_memory(part, W)
    with lodkit.Tape() as tape:
        loss = np.square(part).sum()
        both = loss + lodkit.tanh(W).sum()
    np.testing.assert_allclose(tape.gradient(loss, [part])[0], 2 * np.asarray(part))
    for sources in ([W], [part]) if name not in SAME else ():
        with pytest.raises(lodkit.LodkitError, match="read a view of a source that was made outside this tape"):
            tape.gradient(both, sources)


def test_plain_sources_are_refused():
    W, other = matrix(), matrix()
    with lodkit.Tape() as tape:
        loss = lodkit.tanh(W).mean() + 0.5 * np.square(W).sum()
        with pytest.raises(lodkit.LodkitError, match=r"sources\[0\], float64 of shape \(4, 3\), is a plain array"):
            tape.gradient(loss, [W])
        with pytest.raises(lodkit.LodkitError, match="read the plain array that shares its memory"):
            tape.gradient(loss, [parameter(W)])
    for sources in ([W], [other], [np.asarray(parameter(W))]):
        with pytest.raises(lodkit.LodkitError, match="is a plain array"):
            tape.gradient(loss, sources)
    with pytest.raises(lodkit.LodkitError, match="read the plain array that shares its memory"):
        tape.gradient(loss, [parameter(W)])
    with pytest.raises(lodkit.DTypeError, match=r"sources\[0\], int64 of shape \(3,\), has no gradient"):
        tape.gradient(loss, [LABELS])


def test_methods_of_plain_arrays_are_refused():
    """NumPy does not announce them; a plain result would lose the gradient."""
    W, x = parameter(matrix()), matrix_of(5, 4)
    with lodkit.Tape():
        for call in (lambda: x.dot(W), lambda: np.ndarray.dot(x, W), lambda: x[0].dot(W[:, 0])):
            with pytest.raises(TypeError, match=r"np\.dot\(x, w\), not x\.dot\(w\)"):
                call()
    assert type(x.dot(W)) is np.ndarray
    agrees(lambda W: np.dot(x, W), matrix())


def test_a_target_that_is_a_number():
    W, plain = parameter(matrix()), matrix()
    with lodkit.Tape() as tape:
        lodkit.tanh(W)
        lost = np.square(plain).sum()
    for target in (lost, float(lost)):
        with pytest.raises(lodkit.LodkitError, match="a plain number: this tape did not see how it was computed"):
            tape.gradient(target, [W])


def test_the_remedies_work():
    """Those of the message for a plain source."""
    x = matrix()
    W = lodkit.parameter(x)
    with lodkit.Tape() as tape:
        loss = 0.5 * np.square(W).sum()
    np.testing.assert_allclose(tape.gradient(loss, [W])[0], x)
    with lodkit.Tape() as tape:
        W = tape.watch(x)
        loss = 0.5 * np.square(W).sum()
    np.testing.assert_allclose(tape.gradient(loss, [W])[0], x)


def test_sources_without_a_path():
    W, V, U = (parameter(matrix()) for _ in range(3))
    with lodkit.Tape() as tape:
        loss = lodkit.tanh(W).sum()
        lodkit.tanh(V)
    for source, reason in ((V, "does not reach it"), (U, "did not read it")):
        with pytest.raises(lodkit.LodkitError, match=rf"sources\[1\], .* has no path to the target: .*{reason}"):
            tape.gradient(loss, [W, source])
        assert tape.gradient(loss, [source], unconnected="none") == [None]
        assert tape.gradient(loss, [source], unconnected="zero")[0].tolist() == np.zeros((4, 3)).tolist()
    t = parameter(LoDTensor(matrix(), [[3, 1]]))
    assert tape.gradient(loss, [t], unconnected="zero")[0].equals(t.with_values(np.zeros((4, 3))))
    with pytest.raises(ValueError, match='unconnected must be "raise", "none" or "zero", got 0'):
        tape.gradient(loss, [W], unconnected=0)


def test_what_detaches_says_so():
    W = parameter(matrix())
    with lodkit.Tape() as tape:
        constant = (np.asarray(W) * lodkit.stop_gradient(W)).sum(keepdims=True)
        other = lodkit.tanh(W).sum() + constant
    with pytest.raises(lodkit.LodkitError, match="has no path to the target"):
        tape.gradient(constant, [W])
    np.testing.assert_allclose(tape.gradient(other, [W])[0], 1 - np.tanh(np.asarray(W)) ** 2)
    assert type(lodkit.stop_gradient(W)) is np.ndarray


def test_a_loop_trains_what_it_regularizes():
    """Weight decay by hand equals the optimizer's."""
    x = matrix()
    by_hand, by_optimizer = parameter(x.copy()), parameter(x.copy())
    first = lodkit.optim.SGD({"W": by_hand}, lr=0.1)
    second = lodkit.optim.SGD({"W": by_optimizer}, lr=0.1, weight_decay=0.3)
    for _ in range(5):
        with lodkit.Tape() as tape:
            loss = lodkit.tanh(by_hand).sum() + 0.15 * np.square(by_hand).sum()
        first.step(tape.gradient(loss, [by_hand]))
        with lodkit.Tape() as tape:
            loss = lodkit.tanh(by_optimizer).sum()
        second.step(tape.gradient(loss, [by_optimizer]))
    np.testing.assert_allclose(by_hand, by_optimizer, rtol=1e-12)
