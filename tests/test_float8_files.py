"""float8 in files: a .safetensors file has it, an .npz has not, and no error comes only when a file is read."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor

CODES = {"float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2"}


@pytest.fixture(params=CODES)
def table(request):
    return np.linspace(-3, 3, 8).reshape(4, 2).astype(getattr(pytest.importorskip("ml_dtypes"), request.param))


def same_bytes(x, y):
    return x.dtype == y.dtype and np.array_equal(x.view(np.uint8), y.view(np.uint8))


@pytest.mark.parametrize("mmap", [False, True])
def test_safetensors_keep_the_bytes(tmp_path, table, mmap):
    path = tmp_path / "x.safetensors"
    values = {"w": table, "columns": table.T, "one": np.array(table[0, 0]), "odd": np.ones(3, np.int16)}
    lodkit.save(path, {**values, "t": LoDTensor(table, [[1, 3]])})
    found = lodkit.load(path, mmap=mmap)
    for name, array in values.items():
        assert same_bytes(found[name], np.ascontiguousarray(array).reshape(array.shape))
    assert same_bytes(found["t"].values, table)


def test_files_of_pytorch_are_read_and_written(tmp_path, table):
    torch, library = pytest.importorskip("torch"), pytest.importorskip("safetensors.torch")
    kind = getattr(torch, table.dtype.name)
    library.save_file({"w": torch.arange(6.0).to(kind), "bias": torch.ones(3)}, tmp_path / "x.safetensors")
    found = lodkit.load(tmp_path / "x.safetensors")
    assert same_bytes(found["w"], np.arange(6.0).astype(table.dtype))
    assert found["bias"].tolist() == [1, 1, 1]
    lodkit.save(tmp_path / "y.safetensors", found)
    again = library.load_file(tmp_path / "y.safetensors")["w"]
    assert again.dtype == kind
    assert again.float().tolist() == [0, 1, 2, 3, 4, 5]


def test_without_the_package_the_tensor_is_named(tmp_path, table, monkeypatch):
    lodkit.save(tmp_path / "x.safetensors", {"layer": {"w": table}})
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    code = CODES[table.dtype.name]
    with pytest.raises(lodkit.StorageError, match=f"layer/w has dtype {code}, .*; pip install ml_dtypes"):
        lodkit.load(tmp_path / "x.safetensors")


def test_unknown_types_are_named(tmp_path):
    header = json.dumps({"w": {"dtype": "F4", "shape": [2], "data_offsets": [0, 1]}}).encode()
    (tmp_path / "x.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"\0")
    with pytest.raises(lodkit.StorageError, match="w has dtype F4, which NumPy lacks"):
        lodkit.load(tmp_path / "x.safetensors")


def test_npz_has_no_float8_and_says_what_it_has(tmp_path, table):
    path = tmp_path / "x.npz"
    with pytest.raises(lodkit.DTypeError, match=rf"a/b: an \.npz has no {table.dtype.name}; .*PackedRows\(x\)") as told:
        lodkit.save(path, {"a": {"b": table}})
    assert not path.exists()
    assert "save a .safetensors, or x.astype(np.float32), or of a table lodkit.PackedRows(x)" in str(told.value)
    lodkit.save(path, {"a": table.astype(np.float32), "b": lodkit.PackedRows(table)})
    found = lodkit.load(path)
    np.testing.assert_array_equal(found["a"], lodkit.dequantize_rows(found["b"]))


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
@pytest.mark.parametrize("name", ["int4", "float8_e4m3", "float8_e8m0fnu", "float4_e2m1fn"])
def test_other_types_of_few_bits_are_refused(tmp_path, name, suffix):
    x = np.ones((4, 2)).astype(getattr(pytest.importorskip("ml_dtypes"), name))
    with pytest.raises(lodkit.DTypeError, match=r"a: .* save numbers, x\.astype\(np\.float32\), or the bytes, x\.view"):
        lodkit.save(tmp_path / f"x{suffix}", {"a": x})
    lodkit.save(tmp_path / f"x{suffix}", {"a": x.astype(np.float32), "b": x.view(np.uint8)})
    found = lodkit.load(tmp_path / f"x{suffix}")
    assert (found["a"] == found["b"].view(x.dtype).astype(np.float32)).all()


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_a_number_alone_is_refused(tmp_path, table, suffix):
    with pytest.raises(TypeError, match=f"a: save takes no {table.dtype.name}; pass arrays, numbers"):
        lodkit.save(tmp_path / f"x{suffix}", {"a": table[0, 0]})
