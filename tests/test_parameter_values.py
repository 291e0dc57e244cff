"""Parameters in files, in LoDTensors, SelectedRows and tables that grow, with an open tape and without."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import GrowingTable, LoDTensor, SelectedRows
from lodkit.arrays.recorded import Parameter


def drawn():
    return np.random.default_rng(0).normal(size=(6, 2)).astype(np.float32)


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
