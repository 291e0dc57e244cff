"""Files for and from other programs: the safetensors library, and tensors of PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor, SelectedRows

VALUES = {
    "t": LoDTensor(np.arange(6, dtype=np.float16).reshape(3, 2), [[2, 1], [1, 0, 2]]),
    "g": SelectedRows([5, 1], np.ones((2, 3), np.float32), 9),
    "flags": np.array([True, False, True]),
    "bytes": np.arange(5, dtype=np.uint8),
    "empty": np.zeros((0, 4), np.int32),
    "number": np.array(2.5),
}


def test_safetensors_reads_what_lodkit_writes(tmp_path):
    library = pytest.importorskip("safetensors.numpy")
    lodkit.save(tmp_path / "x.safetensors", VALUES)
    found = library.load_file(tmp_path / "x.safetensors")
    np.testing.assert_array_equal(found["t/values"], VALUES["t"].values)
    assert found["t/lod0"].tolist() == [0, 2, 3]
    assert found["t/lod1"].tolist() == [0, 1, 1, 3]
    assert (found["g/rows"].tolist(), found["g/value"].tolist()) == ([5, 1], np.ones((2, 3)).tolist())
    for name in ("flags", "bytes", "empty", "number"):
        assert found[name].dtype == VALUES[name].dtype
        np.testing.assert_array_equal(found[name], VALUES[name])


@pytest.mark.parametrize("mmap", [False, True])
def test_lodkit_reads_what_safetensors_writes(tmp_path, mmap):
    library = pytest.importorskip("safetensors.numpy")
    arrays = {
        name: np.arange(i + 1).astype(name) for i, name in enumerate(("int8", "float64", "float16", "bool", "u4"))
    }
    library.save_file(arrays, tmp_path / "x.safetensors", {"format": "np"})
    found = lodkit.load(tmp_path / "x.safetensors", mmap=mmap)
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_tensors_of_pytorch_are_saved_as_arrays(tmp_path, suffix, mmap):
    torch = pytest.importorskip("torch")
    values = torch.arange(6.0).reshape(3, 2)
    half = torch.tensor([1.0, -2.5, 3.0e38, float("inf")]).bfloat16()
    tensors = {
        "w": values.clone().requires_grad_(),
        "t": values.T,
        "half": half,
        "scalar": half[1],
        "i": [values.long()],
    }
    lodkit.save(tmp_path / f"x{suffix}", tensors)
    found = lodkit.load(tmp_path / f"x{suffix}", mmap=mmap)
    np.testing.assert_array_equal(found["w"], values.numpy())
    np.testing.assert_array_equal(found["t"], values.numpy().T)
    assert found["i"][0].dtype == np.int64
    assert found["half"].dtype == np.float32 or suffix == ".safetensors"  # and ml_dtypes is installed
    assert torch.equal(torch.from_numpy(np.array(found["half"], np.float32)).bfloat16(), half)
    assert found["scalar"].shape == ()
    sparse = torch.sparse_coo_tensor([[0]], [1.0], (2,), check_invariants=True)
    with pytest.raises(TypeError, match=r"SelectedRows\.from_torch"):
        lodkit.save(tmp_path / f"x{suffix}", {"g": sparse})


def test_bfloat16_stays_bfloat16_for_pytorch(tmp_path):
    torch = pytest.importorskip("torch")
    library = pytest.importorskip("safetensors.torch")
    values = torch.randn(5, 3).bfloat16()
    lodkit.save(tmp_path / "x.safetensors", {"odd": np.ones(3, np.int8), "w": values})
    assert torch.equal(library.load_file(tmp_path / "x.safetensors")["w"], values)
    library.save_file({"w": values}, tmp_path / "y.safetensors")
    np.testing.assert_array_equal(lodkit.load(tmp_path / "y.safetensors")["w"], values.float().numpy())


def test_a_state_of_a_pytorch_module(tmp_path):
    torch = pytest.importorskip("torch")
    module = torch.nn.Linear(3, 2)
    lodkit.save(tmp_path / "x.safetensors", dict(module.state_dict()))
    again = torch.nn.Linear(3, 2)
    again.load_state_dict({k: torch.from_numpy(v) for k, v in lodkit.load(tmp_path / "x.safetensors").items()})
    assert torch.equal(again.weight, module.weight)


def test_a_lod_tensor_over_a_tensor(tmp_path):
    torch = pytest.importorskip("torch")
    try:
        t = LoDTensor(torch.arange(3.0), [[2, 1]])
    except TypeError:
        pytest.skip("LoDTensors hold no tensors here")
    lodkit.save(tmp_path / "x.npz", {"t": t})
    assert lodkit.load(tmp_path / "x.npz")["t"].to_list() == [[0.0, 1.0], [2.0]]
