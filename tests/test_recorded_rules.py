"""What a tape sees of arrays: changes in place, views, what is refused, what detaches."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest
from differences import CUBE, MATRIX, agrees, differences, rng

import lodkit
from lodkit import LodkitError, LoDTensor
from lodkit.arrays.recorded import RecordedArray
from lodkit.tape import array_functions, array_gradients, array_methods  # noqa: F401


@pytest.mark.parametrize(
    "call",
    [
        np.median,
        np.unique,
        np.nan_to_num,
        lambda y: np.linalg.inv(y[:2]),
        lambda y: np.fft.fft(y),
        lambda y: np.pad(y, 1),
        np.modf,
        np.add.accumulate,
        lambda y: np.multiply.outer(y, y),
        lambda y: np.maximum(y, 0, where=y > 0),
        lambda y: y.sum(where=y > 0),
        lambda y: np.sum(y, initial=3.0),
        lambda y: np.linalg.norm(y, 1),
        lambda y: np.einsum("ii", y[:, :3]),
        lambda y: np.dot(y, CUBE),
        lambda y: y.view(np.ndarray),
        lambda y: y.flat,
        lambda y: y.astype(complex),
        lambda y: LoDTensor(y, [[3]]).to_padded(),
        lambda y: LoDTensor([y[0], y[1]], [[2]]),
        lambda y: LoDTensor.from_sequences([y, y]),
        lambda y: lodkit.tanh([y, y]),
        lambda y: lodkit.sgd(np.ones(4), np.ones(4), lr=y[0, :1]),
        lambda y: np.add(LoDTensor(y, [[3]]), 1, out=LoDTensor(np.zeros((3, 4)), [[3]])),
    ],
)
def test_other_functions_are_refused(call):
    """And only while a tape is open."""
    with lodkit.Tape():
        y = lodkit.tanh(MATRIX)
        with pytest.raises(TypeError, match=r"not recorded|plain array|no gradient flows"):
            call(y)


def test_recorded_arrays_outlive_their_tape():
    with lodkit.Tape():
        y = lodkit.tanh(MATRIX)
        t = LoDTensor(y, [[1, 2]])
    assert type(y) is RecordedArray
    for made in (y * 2, np.unique(y), y.view(np.ndarray), y[0], np.concatenate([y, y]), y.T, y.sum(0), np.pad(y, 1)):
        assert type(made) is np.ndarray
    assert type(y.sum()) is np.float64
    assert type(lodkit.tanh(y)) is np.ndarray
    assert type((t * 2).values) is np.ndarray
    y[0] = 1
    y += 1
    assert (np.asarray(y)[0] == 2).all()
    again = pickle.loads(pickle.dumps((y, t)))
    assert type(again[0]) is np.ndarray and type(again[1].values) is np.ndarray
    with lodkit.Tape() as tape:
        z = lodkit.tanh(y) + y
    assert tape.gradient(z, [y])[0].shape == (3, 4)


def test_what_detaches():
    x = lodkit.parameter(np.ones((2, 2)))
    with lodkit.Tape() as tape:
        y = lodkit.tanh(x)
        kept = (y * lodkit.stop_gradient(y)).sum()
        lost = lodkit.mean(np.asarray(y) * float(y.sum()))
        sequences = LoDTensor(y, [[2]])
        stopped = lodkit.sequence_pool(lodkit.stop_gradient(sequences))
        own = lodkit.mean(lodkit.tanh(lodkit.stop_gradient(x)))
        assert type(lodkit.stop_gradient(y)) is np.ndarray
    t = np.tanh(1)
    np.testing.assert_allclose(tape.gradient(kept, [x])[0], (1 - t * t) * t)
    with pytest.raises(LodkitError, match="has no path to the target: what was computed of it does not reach it"):
        tape.gradient([lost, stopped, own], [x])
    assert tape.gradient([lost, stopped, own], [x], unconnected="none") == [None]
    plain = np.asarray(x)
    assert type(lodkit.stop_gradient(x)) is np.ndarray and lodkit.stop_gradient(plain) is plain
    with lodkit.Tape(), pytest.raises(TypeError, match="stop_gradient takes"):
        lodkit.stop_gradient([1.0])


def test_where_and_clip_of_sequences():
    t = LoDTensor(rng.normal(size=(4, 2)), [[3, 1]])
    found = np.where(t > 0, t, [1.0, 2.0])
    assert found.same_lod(t)
    np.testing.assert_array_equal(found.values, np.where(t.values > 0, t.values, [1, 2]))
    np.testing.assert_array_equal(np.clip(t, -0.1, 0.1).values, np.clip(t.values, -0.1, 0.1))
    agrees(lambda v: np.where(t > 0.1, np.exp(t.with_values(v)), np.clip(t.with_values(v) * 2, None, 0.05)), t.values)
    with pytest.raises(lodkit.LoDMismatchError, match=r"np\.where"):
        np.where(t > 0, t, LoDTensor(t.values, [[2, 2]]))
    with pytest.raises(TypeError, match=r"np\.median of a LoDTensor: .*t\.values"):
        np.median(t)


def test_empty_arrays():
    y = np.zeros((0, 3))
    for call in (
        lambda y: y.max(1),
        lambda y: y.prod(1),
        lambda y: y[:, 0] @ y,
        lambda y: y[:, 0] @ y[:, 0],
        np.cumsum,
    ):
        with lodkit.Tape() as tape:
            made = call(tape.watch(y))
        assert tape.gradient(made, [y])[0].shape == (0, 3)


def test_a_target_that_the_tape_has_not_seen():
    x = lodkit.parameter(np.ones((2, 2)))
    with lodkit.Tape() as tape:
        y = lodkit.tanh(x)
        z = np.asarray(y) * 2
    with pytest.raises(LodkitError, match="this tape has not seen the target"):
        tape.gradient(z, [x])
    with lodkit.Tape() as tape:
        many = tape.watch(np.ones(100_000, np.float16)).mean()
    assert 0 < tape.gradient(many, [tape._watched[0][0]])[0][0] < 2e-5


def test_watch_refuses():
    tape = lodkit.Tape()
    with pytest.raises(LodkitError, match="not open"):
        tape.watch(np.ones(2))
    with tape:
        for x in ([1.0], np.arange(3), None, lodkit.SelectedRows([0], [[1]], 2), LoDTensor([1, 2], [[2]])):
            with pytest.raises(TypeError, match="watch takes NumPy arrays, LoDTensors and SelectedRows of floating"):
                tape.watch(x)


def test_a_gradient_of_a_gradient_is_refused():
    x = lodkit.parameter(np.ones(3))
    with lodkit.Tape() as outer:
        with lodkit.Tape() as tape:
            y = lodkit.tanh(x) ** 2
        (g,) = tape.gradient(y, [x])
        z = (g * g).sum()
        constant = lodkit.mean(lodkit.stop_gradient(g))
    with pytest.raises(LodkitError, match=r"Tape\.gradient has no gradient"):
        outer.gradient(z, [x])
    assert outer.gradient(constant, [x], unconnected="none") == [None]
    assert outer.gradient(y, [x])[0].shape == (3,)


def test_selected_rows_flow_into_operators():
    """A lookup of what a lookup gave, and a bag: the first gradient becomes dense."""
    table, ids = lodkit.parameter(rng.normal(size=(5, 2))), LoDTensor([1, 2, 2], [[2, 1]])
    with lodkit.Tape() as tape:
        rows = lodkit.lookup_table(table, ids)
        bags = lodkit.embedding_bag(rows.values, LoDTensor([0, 1, 1], [[2, 1]]))
    gradient = tape.gradient(bags, [table])[0]
    np.testing.assert_array_equal(gradient.to_dense(), [[0, 0], [1, 1], [2, 2], [0, 0], [0, 0]])


def test_selected_rows_are_their_value():
    """Made of recorded numbers, merged, added, scaled; the gradient is by the value."""
    rows, value = np.array([1, 3, 1]), rng.normal(size=(3, 2))

    def call(value):
        x = lodkit.SelectedRows(rows, value, 5)
        return np.square((x * 2 + x.merge() - x).to_dense()) + lodkit.merge_selected_rows(x).value.sum()

    agrees(call, value)
    with lodkit.Tape() as tape:
        x = lodkit.SelectedRows(rows, lodkit.tanh(value), 5)
        assert "SelectedRows(rows=[1, 3, 1]" in repr(x)
        with pytest.raises(TypeError, match="scaling SelectedRows by an array"):
            x * x.value.sum()
        merged = x.merge()
    assert tape.gradient(merged, [x])[0].tolist() == [[1, 1]] * 3


def test_sequences_selected_and_joined():
    x = LoDTensor(rng.normal(size=(6, 2)), [[1, 2], [2, 1, 3]])

    def call(values):
        t = lodkit.tanh(x.with_values(values) if not isinstance(values, LoDTensor) else values)
        parts = [t[[1, 0]], t[:1], t[np.array([True, False])], t.slice(1)]
        joined = lodkit.concat(parts) * lodkit.concat(parts)
        column = joined.with_values(joined.values[:, :1])
        return lodkit.sequence_pool(joined / (2 + column)) + t[1, 0].sum(0)

    agrees(call, x.values)


def test_threads_have_their_own_tapes():
    with lodkit.Tape():
        y, types = lodkit.tanh(MATRIX), []
        worker = threading.Thread(target=lambda: types.extend(map(type, (y * 2, lodkit.tanh(y)))))
        worker.start()
        worker.join()
    assert types == [np.ndarray, np.ndarray]


def test_text_of_recorded_arrays():
    with lodkit.Tape():
        y = lodkit.relu(np.array([[1.0, 2.0]]))
        assert repr(y) == "array([[1., 2.]])" and str(y[0]) == "[1. 2.]" and f"{y[0, 0]:.1f}" == "1.0"
        assert "1." in repr(LoDTensor(y, [[1]])) and "<" in LoDTensor(y, [[1]])._repr_html_()
        np.testing.assert_allclose(y, [[1, 2]])


def test_ufuncs_of_sequences_on_a_gpu(place):
    def call(t):
        return lodkit.sequence_pool(np.exp(t * 0.5) / (1 + t * t) - np.maximum(t, 0.2) + abs(t) ** 1.5)

    x = LoDTensor(rng.normal(size=(4, 2)), [[3, 1]])
    moved = place.to(x)
    for t in (x, moved):
        with lodkit.Tape() as tape:
            y = call(t)
        gradient = tape.gradient(y, [t])[0]
        found = gradient if t is x else place.home(gradient)
        expected = differences(lambda v: call(x.with_values(v)), [x.values], np.ones((2, 2)))[0]
        np.testing.assert_allclose(found.values, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("join", [np.concatenate, np.stack, np.vstack, np.hstack])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_joined_in_another_type(join, dtype):
    """Gradients are those of the numbers, in the type of each part."""
    x, y = np.ones((2, 3)), np.full((2, 3), 2, np.float32)
    with lodkit.Tape() as tape:
        joined = join([tape.watch(x), tape.watch(y) * 2], dtype=dtype, casting="same_kind")
    weights = np.arange(12).reshape(joined.shape)
    by_x, by_y = tape.gradient(joined, [x, y], weights.astype(dtype))
    parts = [np.asarray(p).reshape(2, 3) for p in _parts(join, weights)]
    assert (joined.dtype, by_x.dtype, by_y.dtype) == (dtype, np.float64, np.float32)
    np.testing.assert_array_equal(by_x, parts[0])
    np.testing.assert_array_equal(by_y, 2 * parts[1])


def _parts(join, joined):
    return np.split(joined, 2, axis=1 if join is np.hstack else 0)
