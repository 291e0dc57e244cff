"""A parameter is an array in every use, and so is what is made of one; an open tape sees what is computed of it."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import lodkit
from lodkit import GrowingTable, LodkitError, LoDTensor, SelectedRows
from lodkit.arrays.recorded import Parameter


def drawn():
    return np.random.default_rng(0).normal(size=(6, 2)).astype(np.float32)


def test_shares_memory_and_is_given_back():
    array = drawn()
    w = lodkit.parameter(array)
    assert isinstance(w, np.ndarray) and np.shares_memory(w, array) and lodkit.parameter(w) is w
    assert lodkit.sgd(w, np.ones_like(array), lr=1.0) is w
    lodkit.optim.SGD({"w": w}, lr=1.0).step([np.ones_like(array)])
    np.testing.assert_array_equal(array, drawn() - 1 - 1)
    assert lodkit.relu(np.ones_like(array), out=w) is w and (array == 1).all()


def test_views_and_copies_are_parameters_and_results_are_not():
    w = lodkit.parameter(drawn())
    for made in (
        w.T,
        w[:2],
        w.reshape(-1),
        next(iter(w)),
        copy.copy(w),
        copy.deepcopy(w),
        pickle.loads(pickle.dumps(w)),
    ):
        assert type(made) is Parameter
    for made in (w * 2, w.sum(axis=0), w[[0, 1]], np.exp(w), np.asarray(w), lodkit.relu(w), lodkit.stop_gradient(w)):
        assert type(made) is np.ndarray
    assert type(pickle.loads(pickle.dumps(LoDTensor(w, [[2, 4]]))).values) is Parameter
    assert repr(lodkit.parameter([[1.0, 2.0], [3.0, 4.0]])) == "Parameter([[1., 2.],\n           [3., 4.]])"


def test_what_is_no_parameter():
    with pytest.raises(lodkit.DTypeError, match="a parameter must hold floating numbers, not int64"):
        lodkit.parameter([1, 2])
    with pytest.raises(TypeError, match="parameter takes arrays, LoDTensors and SelectedRows, got str"):
        lodkit.parameter("w")
    with lodkit.Tape(), pytest.raises(TypeError, match=r"no result of a tape.*np\.asarray"):
        lodkit.parameter(lodkit.relu(np.ones(2)))


@pytest.mark.parametrize("inside", [False, True])
def test_saved_and_loaded(inside, tmp_path):
    w = lodkit.parameter(drawn())
    state = {"w": w, "t": LoDTensor(w, [[2, 4]]), "s": SelectedRows([0, 2, 1, 3, 5, 4], w, 9)}
    if inside:
        with lodkit.Tape():
            lodkit.save(tmp_path / "state.safetensors", state)
    else:
        lodkit.save(tmp_path / "state.safetensors", state)
    found = lodkit.load(tmp_path / "state.safetensors")
    for array in (found["w"], found["t"].values, found["s"].value):
        np.testing.assert_array_equal(array, drawn())


def test_values_of_plain_arrays_leave_an_open_tape():
    """What converts them detaches them, as np.asarray does; of parameters it is refused."""
    t, s = LoDTensor(drawn(), [[2, 4]]), SelectedRows([0, 2, 1, 3, 5, 4], drawn(), 9)
    with lodkit.Tape():
        assert len(t.__arrow_c_array__()) == 2
        np.testing.assert_array_equal(s.to_scipy().toarray(), s.to_dense())
        for made in (lodkit.parameter(t).__arrow_c_array__, lodkit.parameter(s).to_scipy):
            with pytest.raises(TypeError, match="of arrays on a tape is not recorded"):
                made()


def test_sources_that_are_refused():
    plain = drawn()
    w, x = lodkit.parameter(plain), lodkit.parameter(np.ones((1, 6), np.float32))
    with lodkit.Tape() as tape:
        y = lodkit.fc(x, plain)
    with pytest.raises(
        LodkitError, match=r"sources\[0\], float32 of shape \(6, 2\), is a plain array.*lodkit\.parameter"
    ):
        tape.gradient(y, [plain])
    with pytest.raises(LodkitError, match=r"is a parameter, but the tape read the plain array that shares"):
        tape.gradient(y, [w])
    with pytest.raises(ValueError, match='unconnected must be "raise", "none" or "zero", got None'):
        tape.gradient(y, [x], unconnected=None)
    assert tape.gradient(y, [x])[0].shape == (1, 6)


def test_values_that_a_tape_recorded_are_sources():
    """Those of a LoDTensor and of SelectedRows of plain arrays, and a result of an earlier tape."""
    t, s = LoDTensor(drawn(), [[2, 4]]), SelectedRows([0, 2, 1, 3, 5, 4], drawn(), 9)
    with lodkit.Tape():
        earlier = lodkit.square(drawn())
    with lodkit.Tape() as tape:
        values, value, watched = t.values, s.value, tape.watch(SelectedRows([0], [[3.0]], 2))
        loss = np.square(values).sum() + np.square(value).sum() + (lodkit.square(earlier) + earlier).sum()
        loss = loss + np.square(watched.value).sum()
    found = tape.gradient(loss, [values, t, value, s, earlier, watched])
    for gradient in (found[0], found[1].values, found[2], found[3]):
        np.testing.assert_array_equal(gradient, 2 * drawn())
    np.testing.assert_allclose(found[4], 2 * drawn() ** 2 + 1, rtol=1e-6)
    assert found[5].tolist() == [[6]]


def test_rows_of_a_growing_table_are_a_parameter():
    table = GrowingTable(2, np.float64, initializer=lambda n, item, dtype: np.full((n, *item), 3.0))
    slots = table.slots([7, 9])
    with lodkit.Tape() as tape:
        loss = np.square(table.lookup([7, 9, 7])).sum() + 0.5 * np.square(table.values[slots]).sum()
    gradient = tape.gradient(loss, [table.values])[0]
    assert gradient[slots].tolist() == [[15, 15], [9, 9]] and not gradient[2:].any()
    table.values = np.zeros(table.values.shape)
    assert type(table.values) is Parameter
