"""The table of docs/interop.md: what is said to be shared is, what is said to be copied is."""

from __future__ import annotations

import numpy as np

import lodkit
from lodkit import LoDTensor


def test_what_is_shared():
    arrays = [np.array([1.0, 2.0]), np.array([3.0])]
    t = LoDTensor.from_nested(arrays)
    assert not any(np.shares_memory(t.values, a) for a in arrays)
    assert all(np.shares_memory(t.values, s) for s in (*t, *t.sequences()))
    x = np.ones((2, 3, 4))
    uniform = LoDTensor.from_nested(x)
    assert np.shares_memory(uniform.values, x)
    assert np.shares_memory(uniform.to_uniform(), x)
    assert uniform.to_uniform().shape == x.shape


def test_names_of_arrays_in_files(tmp_path):
    values = {
        "array": np.ones(2),
        "tensor": LoDTensor([1, 2], [[1], [2]]),
        "rows": lodkit.SelectedRows([1], [1.0], 2),
        "list": [np.ones(1), 2, np.ones(3)],
        "features": lodkit.Features([1], [1], [1], [0.5], map_keys=[3]),
    }
    lodkit.save(tmp_path / "x.npz", values)
    with np.load(tmp_path / "x.npz") as archive:
        assert set(archive) == {
            *("array", "tensor/values", "tensor/lod0", "tensor/lod1", "rows/rows", "rows/value", "list/0", "list/2"),
            *(f"features/{part}" for part in ("lengths", "keys", "values_lengths", "values", "map_keys")),
            "__lodkit__",
        }
    lodkit.save(tmp_path / "x.npz", values["tensor"])
    with np.load(tmp_path / "x.npz") as archive:
        assert set(archive) == {"values", "lod0", "lod1", "__lodkit__"}
