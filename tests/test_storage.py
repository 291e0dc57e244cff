"""lodkit.save and lodkit.load: what is written comes back, and what is damaged raises."""

from __future__ import annotations

import enum
import io
import json
import mmap
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

import lodkit
from lodkit import Features, LoDTensor, SelectedRows, StorageError

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
    grad = SelectedRows([3, 1], rng.normal(size=(2, 4)).astype(np.float32), 6)
    for cls in lodkit.optim.Optimizer.__subclasses__():
        for suffix, mapped in ((".npz", False), (".safetensors", True)):
            params = {"table": np.ones((6, 4), np.float32)}
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
        ({"a": {1: 2}}, TypeError, "a: keys are strings"),
        ({"a/b": 2}, TypeError, "keys are strings without '/'"),
        ({"a.npy": 2}, TypeError, "keys are strings without '/', NUL and '.npy'"),
        ({"__lodkit__": np.ones(1)}, ValueError, "'__lodkit__' is no key of the outermost dictionary"),
        ({"words": np.array(["x"])}, TypeError, r"save words as ids: lodkit\.vocabulary"),
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


def test_an_interrupt_leaves_the_old_file(tmp_path, monkeypatch):
    for suffix in (".npz", ".safetensors"):
        file = tmp_path / f"x{suffix}"
        lodkit.save(file, {"old": 1})
        with monkeypatch.context() as patch:
            patch.setattr(lodkit.storage.os, "fsync", lambda _: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                lodkit.save(file, VALUES)
        assert lodkit.load(file) == {"old": 1}
    assert len([*tmp_path.iterdir()]) == 2


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_a_file_cut_anywhere_raises(tmp_path, suffix, mapped):
    file = tmp_path / f"state{suffix}"
    lodkit.save(file, {"t": LoDTensor(np.arange(9.0), [[4, 5]]), "g": VALUES["grad"], "n": 1})
    whole = file.read_bytes()
    for end in range(0, len(whole), 7):
        file.write_bytes(whole[:end])
        with pytest.raises(StorageError, match=rf"state\{suffix}: cannot be read"):
            lodkit.load(file, mmap=mapped)


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_a_changed_byte_raises_or_gives_values_of_the_same_structure(tmp_path, suffix, mapped):
    file = tmp_path / f"state{suffix}"
    lodkit.save(file, LoDTensor(np.arange(9.0), [[4, 5]]))
    whole, rng = file.read_bytes(), np.random.default_rng(0)
    for at in range(len(whole)):
        changed = bytearray(whole)
        changed[at] ^= int(rng.integers(1, 256))
        file.write_bytes(changed)
        try:
            found = lodkit.load(file, mmap=mapped)
        except StorageError as error:
            assert str(file) in str(error)
            continue
        if isinstance(found, LoDTensor) and found.values is not None:
            assert found.offsets()[-1] == len(found.values)
            found.values.sum()


def npz_of(shape, dtype="<f8", data=b"", declared=None):
    """An archive with one array whose header says what it likes."""
    header = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape}}}".encode()
    header += b" " * (-(11 + len(header)) % 64) + b"\n"
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("x.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)
    whole = file.getvalue()
    if declared is not None:  # in the central directory and in the header before the data
        size = struct.pack("<I", len(data) + 10 + len(header))
        assert whole.count(size) >= 4
        whole = whole.replace(size, struct.pack("<I", declared))
    return whole


def safetensors_of(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(shape=(2,), offsets=(0, 16), dtype="F64"):
    return {"x": {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}}


META_OF = {"__metadata__": {"__lodkit__": json.dumps({"dict": {"a": {"array": "b"}}})}}
FORGED = {
    "npz: shape beyond the data": ("npz", npz_of((1 << 40,)), "declares shape"),
    "npz: negative shape": ("npz", npz_of((-1, -1), data=bytes(8)), "declares shape"),
    "npz: shape below the data": ("npz", npz_of((1,), data=bytes(16)), "declares shape"),
    "npz: sizes": ("npz", npz_of((1 << 28,), data=bytes(8), declared=1 << 31), "more than the file has"),
    "npz: objects": ("npz", npz_of((1,), "|O", bytes(8)), "pickled; load never unpickles"),
    "no header": ("safetensors", b"", "ends after 0 bytes"),
    "header beyond the file": ("safetensors", b"\xff" * 8 + b"{}", "are expected"),
    "header is no JSON": ("safetensors", safetensors_of(b"{"), "cannot be read"),
    "header nested too deep": ("safetensors", safetensors_of(b"[" * 100_000), "cannot be read"),
    "header is a list": ("safetensors", safetensors_of([]), "no JSON object"),
    "shape beyond the file": ("safetensors", safetensors_of(entry((1 << 40,), (0, 1 << 43))), "takes? .* bytes"),
    "shape beyond the offsets": ("safetensors", safetensors_of(entry((1 << 40,)), bytes(16)), "has 16 bytes"),
    "negative": ("safetensors", safetensors_of(entry((-2,), (16, 0)), bytes(16)), "must be integers"),
    "fractional": ("safetensors", safetensors_of(entry((2.0,)), bytes(16)), "must be integers"),
    "hole": ("safetensors", safetensors_of(entry((2,), (8, 24)), bytes(24)), "starts at 8"),
    "overlap": (
        "safetensors",
        safetensors_of({**entry(), "y": {"dtype": "F64", "shape": [1], "data_offsets": [8, 16]}}, bytes(16)),
        "ends at 16",
    ),
    "surplus": ("safetensors", safetensors_of(entry(), bytes(17)), "arrays take 16 bytes"),
    "dtype": ("safetensors", safetensors_of(entry((16,), dtype="F8_E4M3"), bytes(16)), "NumPy lacks"),
    "missing array": ("safetensors", safetensors_of(META_OF), "b is missing"),
}


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("name", FORGED)
def test_forged_files_take_no_memory(tmp_path, name, mapped):
    suffix, data, message = FORGED[name]
    file = tmp_path / f"forged.{suffix}"
    file.write_bytes(data)
    tracemalloc.start()
    try:
        with pytest.raises(StorageError, match=message) as caught:
            lodkit.load(file, mmap=mapped)
        assert tracemalloc.get_traced_memory()[1] < 3 << 20
    finally:
        tracemalloc.stop()
    assert str(file) in str(caught.value)


def test_a_compressed_array_that_would_fill_the_memory(tmp_path):
    file = tmp_path / "x.npz"
    np.savez_compressed(file, x=np.zeros(1 << 16))
    assert lodkit.load(file)["x"].shape == (1 << 16,)
    whole, size = file.read_bytes(), (1 << 19) + 128
    forged = whole.replace(struct.pack("<Q", size), struct.pack("<Q", 1 << 40)).replace(
        struct.pack("<I", size), struct.pack("<I", 1 << 31)
    )
    assert forged != whole
    file.write_bytes(forged)
    with pytest.raises(StorageError, match="more than the file has"):
        lodkit.load(file)


def test_damaged_metadata(tmp_path):
    file = tmp_path / "state.npz"
    for meta in (
        "{",
        '{"dict": {"a": {"array": "b"}}}',
        '{"dict": {"a": {"lod_tensor": null, "lod": [3]}}}',
        '{"lod_tensor": {"array": "x"}, "lod": [{"array": "offsets"}]}',
        '{"selected_rows": {"array": "offsets"}, "value": {"array": "offsets"}, "height": 2}',
        '{"features": {}, "names": null}',
    ):
        np.savez(file, __lodkit__=np.array(meta), x=np.ones(2), offsets=np.array([0, 3]))
        with pytest.raises(StorageError, match="cannot be read"):
            lodkit.load(file)
    np.savez(file, x=np.array([object()], dtype=object))
    with pytest.raises(StorageError, match="never unpickles"):
        lodkit.load(file)
