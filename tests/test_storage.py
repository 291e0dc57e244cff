"""lodkit.save and lodkit.load: what is written comes back, and what is damaged raises."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor, SelectedRows, StorageError

VALUES = {
    "epoch": 3,
    "name": "a/b",
    "rate": 0.5,
    "none": None,
    "flags": [True, False, [1, 2.5, "x"]],
    "table": np.arange(6, dtype=np.float16).reshape(3, 2),
    "nested": {"ids": LoDTensor([1, 2, 3], [[1, 1], [2, 1]]), "empty": np.zeros((0, 4), np.int32), "deeper": {}},
    "structure": LoDTensor(None, [[2, 1]]),
    "grad": SelectedRows([5, 1, 5], np.ones((3, 2), np.float32), 9),
    "number": np.int64(7),
    "no dimension": np.array(2.5),
    "strided": np.arange(10.0)[::2],
    "bools": np.array([True, False]),
    "list of arrays": [np.arange(2), np.arange(3.0)],
}


def same(a, b):
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        return all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, LoDTensor):
        return a.equals(b) if a.values is not None else b.values is None and a.same_lod(b)
    if isinstance(a, SelectedRows):
        return a.height == b.height and same(a.rows, b.rows) and same(a.value, b.value)
    if isinstance(a, np.ndarray):
        return type(b) is np.ndarray and a.dtype == b.dtype and np.array_equal(a, b)
    return a == b


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_what_is_saved_comes_back(tmp_path, suffix):
    if suffix == ".safetensors":
        pytest.importorskip("safetensors")
    file = tmp_path / f"state{suffix}"
    lodkit.save(file, VALUES)
    assert same(VALUES, lodkit.load(file))
    assert [p.name for p in tmp_path.iterdir()] == [file.name]


def test_other_programs_read_the_arrays(tmp_path):
    lodkit.save(tmp_path / "a.npz", VALUES)
    with np.load(tmp_path / "a.npz") as archive:
        np.testing.assert_array_equal(archive["nested/ids/values"], [1, 2, 3])
    np.savez(tmp_path / "b.npz", x=np.arange(3), y=np.ones(2))
    assert same(lodkit.load(tmp_path / "b.npz"), {"x": np.arange(3), "y": np.ones(2)})


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ([1], TypeError, "save takes a dictionary, got list"),
        ({"a": {1: 2}}, TypeError, "a: keys are strings"),
        ({"a/b": 2}, TypeError, "keys are strings without '/'"),
        ({"a.npy": 2}, TypeError, "keys are strings without '/', NUL and '.npy'"),
        ({"file": np.ones(1)}, ValueError, "'file' is no key of the outermost dictionary"),
        ({"a": np.ma.masked_array([1.0], [True])}, TypeError, "a is a masked array"),
        ({"a": {"b": object()}}, TypeError, "a/b: save takes no object"),
        ({"a": np.array(["x"])}, TypeError, "arrays of numbers or booleans, not <U1"),
        ({"a": np.array([None])}, TypeError, "not object"),
        ({"a": [np.ones(1)], "b": {1, 2}}, TypeError, "b: save takes no set"),
    ],
)
def test_what_cannot_be_saved(tmp_path, values, error, message):
    file = tmp_path / "state.npz"
    lodkit.save(file, {"old": 1})
    with pytest.raises(error, match=message):
        lodkit.save(file, values)
    assert lodkit.load(file) == {"old": 1}


def test_paths(tmp_path):
    for call in (lambda path: lodkit.save(path, {}), lodkit.load):
        with pytest.raises(ValueError, match=r"must end in \.npz or \.safetensors"):
            call(tmp_path / "state.pt")
    with pytest.raises(FileNotFoundError):
        lodkit.load(tmp_path / "none.npz")


def test_damaged_files(tmp_path):
    file = tmp_path / "state.npz"
    lodkit.save(file, VALUES)
    whole = file.read_bytes()
    for damaged in (b"", b"text", whole[: len(whole) // 2], whole[:-20]):
        file.write_bytes(damaged)
        with pytest.raises(StorageError, match="cannot be read"):
            lodkit.load(file)
    for meta in ("{", '{"dict": {"a": {"array": "b"}}}', '{"dict": {"a": {"lod_tensor": null, "lod": [3]}}}'):
        np.savez(file, __lodkit__=np.array(meta))
        with pytest.raises(StorageError, match="cannot be read"):
            lodkit.load(file)
    np.savez(file, x=np.array([object()], dtype=object))
    with pytest.raises(StorageError, match="cannot be read"):
        lodkit.load(file)
