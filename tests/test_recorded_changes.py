"""Recorded arrays that change in place: what is followed, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from differences import MATRIX, agrees

import lodkit
from lodkit import LodkitError, LoDTensor
from lodkit.tape import array_functions, array_gradients, array_methods  # noqa: F401


def _doubled(x):
    y = lodkit.tanh(x)
    z = y * 3
    y *= 2
    y += z
    return y * z


def _assigned(x):
    y = lodkit.tanh(x)
    square = y * y
    y[1:] = square[:2] * 5
    y[0, [0, 0, 1]] = np.array([1.0, 2.0, 3.0]) * y[0, 0]
    y[y < -0.5] = 0.25
    return y * square


def _assigned_to_sequences(x):
    t = LoDTensor(lodkit.tanh(x), [[1, 2]])
    u = t * 2
    t -= u
    np.exp(u, out=u)
    return lodkit.sequence_pool(t * u)


@pytest.mark.parametrize("call", [_doubled, _assigned, _assigned_to_sequences])
def test_changes_in_place(call):
    agrees(call, MATRIX)


def test_changes_in_place_that_are_refused():
    x = np.ones((3, 2))
    with lodkit.Tape() as tape:
        w = tape.watch(x)
        with pytest.raises(LodkitError, match="a source is not changed in place"):
            w += 1
        y = lodkit.tanh(x)
        top = y[:1]
        with pytest.raises(LodkitError, match="shares memory with others"):
            y *= 2
        with pytest.raises(LodkitError, match="shares memory with others"):
            top[0] = 1
        with pytest.raises(TypeError, match=r"out= is a plain array.*stop_gradient"):
            np.add(y, 1, out=np.zeros((3, 2)))
        with pytest.raises(TypeError, match="copyto of arrays on a tape"):
            np.copyto(np.zeros((3, 2)), y)
        with pytest.raises(ValueError, match="broadcast"):
            (y * 1)[:2] = np.ones(5)
        with pytest.raises(AttributeError, match="cannot be set"):
            y.shape = (2, 3)
        for method in (y.sort, y.fill, y.resize, y.partition):
            with pytest.raises(TypeError, match=f"{method.__name__} of arrays on a tape is not recorded"):
                method(1)
    assert (x == 1).all()
    assert tape.gradient(y, [x])[0].shape == (3, 2)


def test_numbers_that_were_overwritten_are_refused():
    x, buffer = lodkit.parameter(np.full((3, 2), 0.5)), np.zeros((3, 2))
    with lodkit.Tape() as tape:
        first = lodkit.mean(lodkit.tanh(x, out=buffer))
        lodkit.relu(x, out=buffer)
    with pytest.raises(LodkitError, match="overwritten since"):
        tape.gradient(first, [x])
    with lodkit.Tape() as tape:
        kept, lost = lodkit.tanh(x), np.square(x)
        lodkit.sgd(x, np.ones((3, 2)), lr=0.1)
    np.testing.assert_allclose(tape.gradient(kept, [x])[0], 1 - np.tanh(0.5) ** 2)  # from the result alone
    with pytest.raises(LodkitError, match="square reads numbers that were overwritten since"):
        tape.gradient(lost, [x])


def test_updates_after_a_tape_was_closed():
    x, weight = lodkit.parameter(np.ones((2, 2))), lodkit.parameter(np.eye(2))
    with lodkit.Tape() as tape:
        y, z = lodkit.fc(x, weight), lodkit.tanh(weight)
    before = tape.gradient(y, [x])[0]
    lodkit.sgd(weight, np.ones((2, 2)), lr=0.5)
    with pytest.raises(LodkitError, match="the gradient of fc reads numbers that were overwritten since"):
        tape.gradient(y, [x])
    assert (before == 1).all()
    np.testing.assert_allclose(tape.gradient(z, [weight])[0], 1 - np.tanh(np.eye(2)) ** 2)


def test_tapes_that_close_while_an_update_is_noted(monkeypatch):
    """Other threads add to the closed tapes at any time."""
    x, more = lodkit.parameter(np.ones((2, 2))), []
    with lodkit.Tape() as tape:
        y = lodkit.fc(x, x)
    noted = lodkit.Tape._overwritten

    def noting(self, array):
        noted(self, array)
        more.append(lodkit.Tape())
        with more[-1]:
            pass

    monkeypatch.setattr(lodkit.Tape, "_overwritten", noting)
    lodkit.sgd(x, np.ones((2, 2)), lr=0.5)
    assert more
    with pytest.raises(LodkitError, match="overwritten since"):
        tape.gradient(y, [x])


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interrupt_beside_an_update_is_noted(when, monkeypatch):
    """Between the update and the note of it a tape would take the new numbers for those that it has read."""
    x = lodkit.parameter(np.ones((2, 2)))
    with lodkit.Tape() as tape:
        y = lodkit.fc(x, x)

    names = lodkit.sgd._call.__globals__

    def interrupted(op, inputs, note=names["__note"]):
        if when == "after":
            note(op, inputs)
        monkeypatch.setitem(names, "__note", note)
        raise KeyboardInterrupt

    lodkit.sgd(np.ones((2, 2)), np.ones((2, 2)), lr=0.5)
    monkeypatch.setitem(names, "__note", interrupted)
    with pytest.raises(KeyboardInterrupt):
        lodkit.sgd(x, np.ones((2, 2)), lr=0.5)
    assert (x == 0.5).all()
    with pytest.raises(LodkitError, match="overwritten since"):
        tape.gradient(y, [x])


def test_a_source_that_out_overwrote():
    buffer = lodkit.parameter(np.full((3, 2), 0.5))
    with lodkit.Tape() as tape:
        y = lodkit.mean(lodkit.relu(lodkit.tanh(buffer), out=buffer))
    with pytest.raises(LodkitError, match="several results that were written to a source by out="):
        tape.gradient(y, [buffer])


def test_updates_by_recorded_numbers():
    """Gradients are written, however they were scaled; results of variables are refused."""
    x, table = lodkit.parameter(np.ones((2, 2))), np.zeros((4, 2))
    with lodkit.Tape() as tape:
        y = lodkit.tanh(x)
        with pytest.raises(TypeError, match=r"scatter_assign writes to an array.*stop_gradient\(slices\)"):
            lodkit.scatter_assign(table, [0, 1], y)
        lodkit.scatter_assign(table, [0, 1], lodkit.stop_gradient(y))
        (grad,) = tape.gradient(y, [x])
        with pytest.raises(TypeError, match="sgd writes to an array"):
            lodkit.sgd(y, grad, lr=1.0)
        lodkit.sgd(x, grad * 0.5 + grad.max(), lr=1.0)
    assert table[0, 0] == np.tanh(1) and (x < 1).all()


def test_views_of_sources_are_refused():
    x = np.ones((4, 2))
    for view in (lambda x: x[:2], lambda x: x.T, lambda x: x.reshape(-1), lambda x: x[::-1]):
        with lodkit.Tape() as tape:
            hidden = lodkit.mean(lodkit.tanh(view(x)))
            seen = lodkit.mean(lodkit.tanh(view(tape.watch(x))))
        with pytest.raises(LodkitError, match=r"read a view of a source.*make the view of the parameter inside"):
            tape.gradient(hidden, [x])
        assert tape.gradient(seen, [x])[0].shape == (4, 2)
        parameter = lodkit.parameter(x)
        before = view(parameter)
        with lodkit.Tape() as tape:
            hidden = lodkit.mean(lodkit.tanh(before) + lodkit.tanh(view(parameter)))
            seen = lodkit.mean(lodkit.tanh(view(parameter)))
        with pytest.raises(LodkitError, match=r"read a view of a source.*make the view of the parameter inside"):
            tape.gradient(hidden, [parameter])
        assert tape.gradient(seen, [parameter])[0].shape == (4, 2)
    buffer = np.ones(8)
    a, b = lodkit.parameter(buffer[:4]), lodkit.parameter(buffer[4:])
    with lodkit.Tape() as tape:
        y = lodkit.sum(a, b)
    assert [g.tolist() for g in tape.gradient(y, [a, b])] == [[1] * 4] * 2


def test_parts_of_sequences_are_seen():
    t = LoDTensor(np.ones((3, 2)), [[1, 2]])
    parts = (
        lambda t: lodkit.sequence_pool(t.slice(1)),
        lambda t: lodkit.sequence_pool(t[[1]]),
        lambda t: t[1] * 1,
        lambda t: list(t)[1] * 1,
        lambda t: lodkit.sequence_pool(lodkit.concat([t[1:], t[1:]])) / 2,
    )
    for part in parts:
        with lodkit.Tape() as tape:
            y = part(t)
        assert tape.gradient(y, [t])[0].values.tolist() == [[0, 0], [1, 1], [1, 1]]


def test_changes_that_numpy_makes_unseen():
    """Of watched arrays they are noticed; index arrays are copied."""
    x = np.array([1.0, 2.0])
    with lodkit.Tape() as tape:
        y = tape.watch(x) ** 2
    assert tape.gradient(y, [x])[0].tolist() == [2, 4]
    x *= 10
    with pytest.raises(LodkitError, match="NumPy changed a watched array in place"):
        tape.gradient(y, [x])
    index, source = np.array([0]), lodkit.parameter(np.ones((2, 2)))
    with lodkit.Tape() as tape:
        y, z = lodkit.relu(np.ones((2, 2))), lodkit.relu(source)
        y[index] = lodkit.relu(source)[1:] * 5
        picked = lodkit.relu(source)[index]
        norm = np.linalg.norm(z)
        z *= 2
        index[0] = 1
    assert tape.gradient([y, picked], [source])[0].tolist() == [[1, 1], [5, 5]]
    np.testing.assert_allclose(tape.gradient(norm, [source])[0], 0.5)


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize(
    "write",
    [
        lambda w: lodkit.relu(np.ones((2, 2)), out=w),
        lambda w: lodkit.relu(np.ones((1, 2)), out=w[:1]),
        lambda w: lodkit.sgd(w.reshape(-1), np.ones(4), lr=1.0),
        lambda w: lodkit.sgd(w[:1], np.ones((1, 2)), lr=1.0),
        lambda w: lodkit.optim.SGD({"w": w.ravel()}, lr=1.0).step([np.ones(4)]),
    ],
    ids=["out", "out of a part", "update of a view", "update of a part", "optimizer"],
)
def test_lodkit_writes_to_an_array_or_a_view_of_it(write, inside):
    w = np.array([[1.0, 2.0], [3.0, 4.0]])
    with lodkit.Tape() as tape:
        x = tape.watch(np.ones((1, 2)))
        loss = np.square(lodkit.fc(x, w)).sum()
        if inside:
            write(w)
    if not inside:
        write(w)
    with pytest.raises(lodkit.LodkitError, match="reads numbers that were overwritten since"):
        tape.gradient(loss, [x])


@pytest.mark.parametrize("of", ["parameter", "result"])
@pytest.mark.parametrize(
    "write",
    [
        lambda w: w.__iadd__(1),
        lambda w: w.__setitem__(..., 3),
        lambda w: w.fill(1),
        lambda w: w.sort(),
        lambda w: np.copyto(w, 2),
        lambda w: np.fill_diagonal(w, 4),
        lambda w: np.exp(w, out=w),
        lambda w: np.add.at(w, [0], 1),
        lambda w: np.dot(np.ones((2, 2)), np.ones((2, 2)), out=w),
        lambda w: np.ones((2, 2, 2)).sum(axis=0, out=w),
        lambda w: w.clip(0, 0.1, out=w),
        lambda w: w.clip(0, 0.1, w),
        lambda w: np.nan_to_num(w, copy=False),
    ],
)
def test_numpy_writes_to_a_parameter_or_a_result(write, of):
    """After the tape was closed; what was read of it is not the numbers that are there now."""
    w, x = lodkit.parameter([[0.5, 0.7], [0.9, 0.2]]), lodkit.parameter(np.ones((2, 2)))
    with lodkit.Tape() as tape:
        read = w if of == "parameter" else lodkit.relu(w)
        y = x @ read
    np.atleast_1d(read), np.nan_to_num(read), read.astype(np.float64, copy=False), read.clip(0, 1)  # these only read
    assert (tape.gradient(y, [x])[0] == np.asarray(read).sum(axis=1)).all()
    write(read)
    with pytest.raises(LodkitError, match="reads numbers that were overwritten since"):
        tape.gradient(y, [x])


def test_parts_of_a_parameter_are_parameters():
    for part in (lambda w: w[0], lambda w: w.T, lambda w: np.split(w, 2)[0], lambda w: next(iter(w)), np.ravel):
        w, x = lodkit.parameter(np.ones((2, 2))), lodkit.parameter(np.ones((2, 2)))
        with lodkit.Tape() as tape:
            y = x @ w
        part(w)[...] = 2
        with pytest.raises(LodkitError, match="overwritten since"):
            tape.gradient(y, [x])
