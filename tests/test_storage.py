"""lodkit.save and lodkit.load: what is written comes back, and what is damaged raises."""

from __future__ import annotations

import enum
import gc
import json
import mmap
import os

import numpy as np
import pytest

import lodkit
from lodkit import Features, LoDTensor, SelectedRows, SizeError

HUGE = np.broadcast_to(1.0, (2**50,))

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


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_what_is_saved_comes_back(tmp_path, suffix, mmap):
    file = tmp_path / f"state{suffix}"
    lodkit.save(file, VALUES)
    assert same(VALUES, lodkit.load(file, mmap=mmap))
    assert [p.name for p in tmp_path.iterdir()] == [file.name]


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
@pytest.mark.parametrize("value", [VALUES["grad"], VALUES["nested"]["ids"], VALUES["table"], [1, np.ones(2)], 3, None])
def test_a_value_that_is_no_dictionary(tmp_path, suffix, value):
    lodkit.save(tmp_path / f"x{suffix}", value)
    assert same(value, lodkit.load(tmp_path / f"x{suffix}"))


class Kind(enum.IntEnum):
    PAGE, APP, SITE = 1, 2, 1


FEATURES = {
    "list": Features([2, 0, 1], [1, 2, 1], [2, 0, 1], [10.0, 11.0, 12.0], names=Kind),
    "scalar": Features([1, 1], [1, 2], None, np.ones((2, 3), np.float32)),
    "map": Features([1, 0], [1], [2], [0.5, 1.5], map_keys=[7, 3]),
}


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
@pytest.mark.parametrize("kind", FEATURES)
def test_features_come_back(tmp_path, suffix, kind):
    lodkit.save(tmp_path / f"x{suffix}", {"day": [FEATURES[kind]]})
    (found,) = lodkit.load(tmp_path / f"x{suffix}")["day"]
    assert found == FEATURES[kind]
    assert found.kind == kind
    if kind == "list":
        assert found.names.__members__.keys() == {"PAGE", "APP", "SITE"}
        assert found["APP"].equals(FEATURES[kind][Kind.APP])


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_a_slice_is_saved_alone(tmp_path, suffix):
    whole = LoDTensor(np.arange(1000.0), [[999, 1]])
    lodkit.save(tmp_path / f"x{suffix}", {"last": whole[1:]})
    assert lodkit.load(tmp_path / f"x{suffix}")["last"].to_list() == [[999.0]]
    assert (tmp_path / f"x{suffix}").stat().st_size < 3000


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_merged_rows_stay_merged_if_they_are(tmp_path, suffix):
    grad = SelectedRows([5, 1, 5], np.ones((3, 2)), 9)
    lodkit.save(tmp_path / f"x{suffix}", {"raw": grad, "merged": grad.merge()})
    found = lodkit.load(tmp_path / f"x{suffix}")
    assert found["merged"].is_merged
    assert not found["raw"].is_merged
    lodkit.save(tmp_path / f"x{suffix}", SelectedRows._wrap(np.array([5, 1]), np.ones(2), 9, merged=True))
    assert not lodkit.load(tmp_path / f"x{suffix}").is_merged


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_mapped_arrays_are_read_only_views_of_the_file(tmp_path, suffix):
    file = tmp_path / f"x{suffix}"
    table = np.arange(24, dtype=np.float32).reshape(6, 4)
    odd = np.ones(3, np.int8)
    lodkit.save(file, {"odd": odd, "t": LoDTensor(table, [[2, 4]]), "empty": np.zeros((0, 3)), "last": odd})
    found = lodkit.load(file, mmap=True)
    values = found["t"].values
    owner = values
    while isinstance(owner, np.ndarray):
        owner = owner.base
    owner = owner.obj if isinstance(owner, memoryview) else owner
    assert type(owner) is mmap.mmap
    assert values.flags.aligned and not values.flags.writeable and not found["empty"].flags.writeable
    assert not found["t"].offsets().flags.writeable
    with pytest.raises(lodkit.LodkitError, match="read-only"):
        lodkit.sgd(values, np.ones_like(table), lr=1.0)
    assert lodkit.load(file)["t"].values.flags.writeable
    lodkit.save(file, {"t": 1})
    del found
    np.testing.assert_array_equal(values, table)


def test_states_of_every_optimizer(tmp_path):
    rng = np.random.default_rng(0)
    grad = SelectedRows([3, 1], rng.normal(size=(2, 3)), 6)
    for cls in lodkit.optim.Optimizer.__subclasses__():
        for suffix, mapped in ((".npz", False), (".safetensors", True)):
            params = {"table": np.ones((6, 3))}
            optimizer = cls(params, lr=0.1)
            optimizer.step([grad.to_dense()])
            lodkit.save(tmp_path / f"x{suffix}", {"params": params, "state": optimizer.state_dict()})
            found = lodkit.load(tmp_path / f"x{suffix}", mmap=mapped)
            again = {"table": np.array(found["params"]["table"])}
            resumed = cls(again, lr=0.1)
            resumed.load_state_dict(found["state"])
            for one in (optimizer, resumed):
                one.step([grad.to_dense()])
            np.testing.assert_array_equal(params["table"], again["table"], err_msg=cls.__name__)


def test_other_programs_read_the_arrays(tmp_path):
    lodkit.save(tmp_path / "a.npz", VALUES)
    with np.load(tmp_path / "a.npz") as archive:
        np.testing.assert_array_equal(archive["nested/ids/values"], [1, 2, 3])
    fortran = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    for write, mapped in ((np.savez, True), (np.savez_compressed, True), (np.savez, False)):
        arrays = {"x": np.arange(3), "y": fortran, "big": np.arange(3, dtype=">i4"), "s": np.array(["a"])}
        arrays["days"] = np.array(["2020-01-01"], "datetime64[D]")
        write(tmp_path / "b.npz", **arrays)
        assert same(lodkit.load(tmp_path / "b.npz", mmap=mapped), arrays)


def test_a_file_of_an_earlier_version(tmp_path):
    meta = {"dict": {"epoch": 3, "x": {"lod_tensor": {"array": "x/values"}, "lod": [{"array": "x/lod0"}]}}}
    meta["dict"]["g"] = {"selected_rows": {"array": "g/rows"}, "value": {"array": "g/value"}, "height": 9}
    arrays = {"x/values": np.arange(3), "x/lod0": np.array([0, 2, 3]), "g/rows": np.array([4]), "g/value": np.ones(1)}
    np.savez(tmp_path / "a.npz", __lodkit__=np.array(json.dumps(meta)), **arrays)
    found = lodkit.load(tmp_path / "a.npz")
    assert (found["epoch"], found["x"].to_list(), found["g"].height) == (3, [[0, 1], [2]], 9)


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (object(), TypeError, "the value: save takes no object"),
        ([[1], {2}], TypeError, "1: save takes no set"),
        ({"o": lodkit.optim.SGD({}, lr=1.0)}, TypeError, r"o: save takes no SGD; pass o\.state_dict\(\)"),
        ({"a": {1: 2}}, TypeError, r"a: keys are strings .*got 1; pass \{str\(k\): x for k, x in a\.items\(\)\}$"),
        ({"a/b": 2}, TypeError, "keys are strings without '/'.*; rename it, or nest dictionaries"),
        ({"a": [np.longdouble("1e4000")]}, lodkit.DTypeError, r"^a/0 is a number of type .*; save float\(x\), or np"),
        ({"a": np.ones(1, complex)}, TypeError, r"not complex128; save .* x\.real and x\.imag"),
        ({"a": np.ones(1, "M8[s]")}, TypeError, r"save numbers, x\.astype\(np\.int64\)"),
        ({"a": np.ones(1, [("b", float)])}, TypeError, "save field by field"),
        ({"a.npy": 2}, TypeError, "keys are strings without '/', NUL and '.npy'"),
        ({"__lodkit__": np.ones(1)}, ValueError, "'__lodkit__' is no key of the outermost dictionary"),
        ({"words": np.array(["x"])}, TypeError, r"numbers or booleans, not <U1; save words as ids: lodkit\.voc"),
        ({"a": np.ma.masked_array([1.0], [True])}, TypeError, "a is a masked array"),
        ({"a": {"b": object()}}, TypeError, "a/b: save takes no object"),
        ({"a": np.array([None])}, TypeError, "not object"),
        ({"a": [np.ones(1)], "b": {1, 2}}, TypeError, "b: save takes no set"),
        ({"a": {"": np.ones(1)}}, TypeError, "a: keys are strings without '/', NUL and '.npy', got ''"),
        ({"\0": np.ones(1)}, TypeError, "NUL and"),
        ({"a": {b"x" * 1000: np.ones(1)}}, TypeError, "a: keys are strings .{100,190}$"),
        ({"a": {"\udc80": np.ones(1)}}, ValueError, r"'a/\\udc80' is no text that UTF-8 holds .*; rename it"),
        ({"a": {"b": 10**5000}}, ValueError, r"'a/b' is an integer of 16610 bits, .*; save it as text"),
        (
            {"a": {"b": HUGE}},
            SizeError,
            r"'a/b': there is no memory for .* \(1125899906842624,\), 9007199254740992 bytes",
        ),
        ({"g": SelectedRows([1], np.broadcast_to(1.0, (1, 2**50)), 5)}, SizeError, "'g/value': there is no memory for"),
    ],
)
@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_what_cannot_be_saved(tmp_path, monkeypatch, suffix, values, error, message):
    file = tmp_path / f"state{suffix}"
    lodkit.save(file, {"old": 1})
    monkeypatch.setattr(lodkit.models.storage, "replacing", lambda path: pytest.fail("a file was opened"))
    with pytest.raises(error, match=message):
        lodkit.save(file, values)
    assert lodkit.load(file) == {"old": 1}


def test_long_keys(tmp_path):
    for key in ("k" * 70_000, "é" * 40_000):
        with pytest.raises(ValueError, match=r"is a name of (70|80)004 bytes .*; give shorter keys, or save a \.saf"):
            lodkit.save(tmp_path / "x.npz", {"a": 1, key: np.ones(1)})
        lodkit.save(tmp_path / "x.safetensors", {key: np.ones(1)})
        assert [*lodkit.load(tmp_path / "x.safetensors")] == [key]
    assert [x.name for x in tmp_path.iterdir()] == ["x.safetensors"]
    longest = {"k" * (2**16 - 5): np.ones(1)}
    lodkit.save(tmp_path / "x.npz", longest)
    assert same(lodkit.load(tmp_path / "x.npz"), longest)


class Name(str, enum.Enum):  # noqa: UP042  whose members print as theirs
    TABLE = "table"


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_keys_are_their_texts(tmp_path, suffix):
    """Names in an Enum print as another text than they are, which may be another key."""
    lodkit.save(tmp_path / f"x{suffix}", {Name.TABLE: np.zeros(1), "Name.TABLE": np.ones(1)})
    assert same(lodkit.load(tmp_path / f"x{suffix}"), {"table": np.zeros(1), "Name.TABLE": np.ones(1)})


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_memory_that_ends_while_a_file_is_written(tmp_path, monkeypatch, suffix):
    file = tmp_path / f"x{suffix}"
    lodkit.save(file, {"old": 1})
    monkeypatch.setattr(getattr(lodkit.models.storage, suffix[1:]), "check", lambda arrays: None)
    with pytest.raises(SizeError, match="'a': there is no memory for a copy in order"):
        lodkit.save(file, {"a": HUGE})
    assert lodkit.load(file) == {"old": 1}
    assert len([*tmp_path.iterdir()]) == 1


def test_paths(tmp_path):
    for call in (lambda path: lodkit.save(path, {}), lodkit.load):
        with pytest.raises(ValueError, match=r"must end in \.npz or \.safetensors"):
            call(tmp_path / "state.pt")
    with pytest.raises(FileNotFoundError):
        lodkit.load(tmp_path / "none.npz")


def test_an_interrupt_leaves_the_old_file(tmp_path, monkeypatch):
    for suffix in (".npz", ".safetensors"):
        file = tmp_path / f"x{suffix}"
        lodkit.save(file, {"old": 1})
        with monkeypatch.context() as patch:
            patch.setattr(lodkit.models.storage.os, "fsync", lambda _: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                lodkit.save(file, VALUES)
        assert lodkit.load(file) == {"old": 1}
    assert len([*tmp_path.iterdir()]) == 2


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no /proc")
def test_files_and_maps_are_closed(tmp_path, frozen_heap):
    file = tmp_path / "x.safetensors"
    lodkit.save(file, LoDTensor(np.arange(1000.0), [[999, 1]]))

    def held():
        gc.collect()
        with open("/proc/self/maps") as maps:
            return len(os.listdir("/proc/self/fd")), sum(str(file) in line for line in maps)

    before = held()
    for _ in range(100):
        lodkit.load(file, mmap=True)
        lodkit.load(file)
    assert held() == before
    kept = lodkit.load(file, mmap=True)
    assert held()[1] == 1
    assert kept.values[-1] == 999
    del kept
    assert held() == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_what_is_no_regular_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    os.symlink(tmp_path / "pipe", tmp_path / "x.npz")
    with pytest.raises(OSError, match="no regular file"):
        lodkit.save(tmp_path / "x.npz", np.ones(3))
    assert sorted(os.listdir(tmp_path)) == ["pipe", "x.npz"]


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_what_is_no_regular_file_is_not_read(tmp_path, suffix):
    """A device may have no end, and a pipe waits for a writer."""
    file = tmp_path / f"x{suffix}"
    os.symlink(os.devnull, file)
    for mapped in (False, True):
        with pytest.raises(OSError, match=rf"x\{suffix}' is no regular file, and is not read"):
            lodkit.load(file, mmap=mapped)


@pytest.mark.parametrize("kind", ["npz", "safetensors"])
def test_what_was_resized_since_replaces_no_file(tmp_path, kind):
    file = tmp_path / f"state.{kind}"
    lodkit.save(file, {"x": np.arange(3)})
    values, rows = np.arange(4.0), np.ones((2, 1))
    cut, listed = lodkit.LoDTensor(values, [[2, 2]]), lodkit.SelectedRows([0, 1], rows, 3)
    values.resize(3, refcheck=False)
    rows.resize((1, 1), refcheck=False)
    for name, value in (("cut", cut), ("listed", listed)):
        with pytest.raises(lodkit.LoDError, match=f"^save: a/{name} (was cut into 4|lists 2) rows, its value"):
            lodkit.save(file, {"a": {name: value}})
    assert lodkit.load(file)["x"].tolist() == [0, 1, 2]
