"""DLPack of LoDTensors: without levels they are arrays."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor


def test_numpy_takes_a_tensor_without_levels():
    values = np.arange(6.0).reshape(3, 2)
    made = np.from_dlpack(LoDTensor(values))
    assert np.shares_memory(made, values) and LoDTensor(values).__dlpack_device__() == (1, 0)


def test_pytorch_takes_a_tensor_without_levels():
    torch = pytest.importorskip("torch")
    values = np.arange(6.0)
    made = torch.from_dlpack(LoDTensor(values))
    values[0] = 7
    assert made.tolist() == [7, 1, 2, 3, 4, 5]
    tensor = torch.arange(3)
    assert torch.from_dlpack(LoDTensor(tensor)).data_ptr() == tensor.data_ptr()
    assert np.from_dlpack(LoDTensor(tensor)).tolist() == [0, 1, 2]
    view = torch.from_dlpack(LoDTensor(np.full(100_000, 3.0)))
    gc.collect()
    assert (view == 3).all()


def test_read_only_values_are_told_or_refused():
    values = np.arange(3.0)
    values.flags.writeable = False
    with pytest.raises(BufferError, match=r"read-only.*DLPack 1\.0.*pass t\.values\.copy\(\)"):
        LoDTensor(values).__dlpack__()
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        made = np.from_dlpack(LoDTensor(values))
        assert not made.flags.writeable and np.shares_memory(made, values)
        assert np.from_dlpack(LoDTensor(values), copy=True).flags.writeable
        assert LoDTensor(values).__dlpack__(copy=True)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_structure_is_not_dropped(library):
    take = pytest.importorskip(library).from_dlpack
    with pytest.raises(BufferError, match=r"lod_level 1; pass t\.values \(all rows\) or t\.to_padded\(\)"):
        take(LoDTensor(np.arange(3.0), [[1, 2]]))
    with pytest.raises(BufferError, match="lod_level 2"):
        take(LoDTensor(None, [[1], [2]]))


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_rows_are_not_dropped(library):
    take = pytest.importorskip(library).from_dlpack
    with pytest.raises(BufferError, match=r"SelectedRows are two; pass s\.to_dense\(\), or s\.rows and s\.value"):
        take(lodkit.SelectedRows([1], [[1.0]], 3))


def test_history_is_not_dropped():
    x = np.ones(3)
    with lodkit.Tape():
        made = LoDTensor(lodkit.relu(x))
        with pytest.raises(TypeError, match="not recorded"):
            np.from_dlpack(made)
