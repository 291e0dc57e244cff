"""Parameters that are changed in place, and several tapes: a gradient is right, or refused."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import lodkit
from lodkit import parameter

rng = np.random.default_rng(5)


def matrix():
    return rng.normal(size=(4, 3))


WRITES = {
    "W += 1": lambda W: W.__iadd__(1),
    "W[0] = 1": lambda W: W.__setitem__(0, 1),
    "W.fill": lambda W: W.fill(1),
    "W.sort": lambda W: W.sort(axis=0),
    "np.copyto": lambda W: np.copyto(W, 1),
    "np.exp(out=)": lambda W: np.exp(W, out=W),
    "np.add.at": lambda W: np.add.at(W, [0, 0], 1),
    "np.clip(out=)": lambda W: np.clip(W, 0, 1, out=W),
    "np.copyto(dst=)": lambda W: np.copyto(dst=W, src=0.0),
    "np.put(a=)": lambda W: np.put(a=W, ind=[0], v=9),
    "np.place(arr=)": lambda W: np.place(arr=W, mask=np.ones((4, 3), bool), vals=[1.0]),
    "np.dot, third": lambda W: np.dot(np.eye(4), matrix(), W),
    "of a view": lambda W: W.T.__setitem__(0, 1),
    "lodkit.sgd": lambda W: lodkit.sgd(W, np.ones(W.shape), lr=0.1),
    "out=": lambda W: lodkit.tanh(matrix(), out=W),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_parameter_that_is_changed_between_two_tapes(name):
    """The later tape reads the new numbers; the earlier one refuses to read these in place of its own."""
    W = parameter(matrix())
    with lodkit.Tape() as earlier:
        loss = np.square(W).sum()
    WRITES[name](W)
    with lodkit.Tape() as later:
        again = np.square(W).sum()
    np.testing.assert_allclose(later.gradient(again, [W])[0], 2 * np.asarray(W))
    with pytest.raises(lodkit.LodkitError, match="overwritten since"):
        earlier.gradient(loss, [W])


@pytest.mark.parametrize("name", WRITES)
def test_a_parameter_is_not_changed_while_it_is_read(name):
    W = parameter(matrix())
    with lodkit.Tape() as tape:
        loss = np.square(W).sum()
        before = np.array(W)
        try:
            WRITES[name](W)
        except (TypeError, lodkit.LodkitError):
            np.testing.assert_array_equal(W, before)
    if np.array_equal(W, before):
        np.testing.assert_allclose(tape.gradient(loss, [W])[0], 2 * before)
    else:
        with pytest.raises(lodkit.LodkitError, match="overwritten since"):
            tape.gradient(loss, [W])


def test_a_result_that_is_changed_after_its_tape():
    W = parameter(matrix())
    with lodkit.Tape() as tape:
        y = np.exp(W)
        loss = y.sum()
    y[:] = 0
    with pytest.raises(lodkit.LodkitError, match="overwritten since"):
        tape.gradient(loss, [W])


def test_two_tapes():
    W = parameter(matrix())
    with lodkit.Tape() as outer:
        first = np.square(W)
        with lodkit.Tape() as inner:
            second = (first * W).sum()
        by_inner = inner.gradient(second, [W, first])
    np.testing.assert_allclose(outer.gradient(second, [W])[0], 3 * np.square(np.asarray(W)))
    np.testing.assert_allclose(by_inner[0], np.square(np.asarray(W)))
    np.testing.assert_allclose(by_inner[1], np.asarray(W))


def test_a_change_that_one_of_two_tapes_refuses_changes_neither():
    """A result of the outer tape is a source to the inner one."""
    W = parameter(matrix())
    with lodkit.Tape() as outer:
        y = np.square(W)
        with lodkit.Tape():
            lodkit.tanh(y)
            with pytest.raises(lodkit.LodkitError, match="changed in place"):
                y += 1
        loss = (y * 3).sum()
    np.testing.assert_allclose(outer.gradient(loss, [W])[0], 6 * np.asarray(W))


@pytest.mark.parametrize(
    "write",
    [
        lambda W: lodkit.sgd(W, np.ones(W.shape), lr=1.0),
        lambda W: lodkit.optim.SGD({"W": W}, lr=1.0).step([np.ones(W.shape)]),
        lambda W: W.__isub__(1),
        lambda W: lodkit.tanh(np.ones(W.shape), out=W),
    ],
)
def test_a_write_by_another_thread_while_a_tape_is_open(write):
    W = parameter(matrix())
    with lodkit.Tape() as tape:
        loss = np.square(W).sum()
        thread = threading.Thread(target=write, args=(W,))
        thread.start()
        thread.join()
    with pytest.raises(lodkit.LodkitError, match="overwritten since"):
        tape.gradient(loss, [W])


def test_gradients_are_arrays_of_their_own():
    """Also that of a sum, which is one number for all elements."""
    W = parameter(matrix())
    with lodkit.Tape() as tape:
        loss = W.sum()
    (gradient,) = tape.gradient(loss, [W])
    gradient *= 2
    assert (gradient == 2).all()
