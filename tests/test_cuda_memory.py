"""Memory of arrays on a GPU: what a captured graph reads stays, what kernels cannot read is refused."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

pytest.importorskip("greenlet")
pytest.importorskip("numba_cuda")
pytest.importorskip("array_api_compat")

import emulated
from emulated import Array, to_gpu, to_numpy
from gpus import emulator_only
from test_cuda_laws import TABLE, any_gpu  # noqa: F401

import lodkit
from lodkit import LoDTensor
from lodkit.kernels.cuda.primitives import offsets

pytestmark = emulator_only


def sent_for(x):
    """Weak references to the memory that the offsets of a LoDTensor were sent into."""
    found = [sent for key, (_, sent) in offsets._sent.items() if key[1] == id(x._row_offsets())]
    return [weakref.ref((sent.offsets if isinstance(sent, offsets.Offsets) else sent).array) for sent in found]


@pytest.mark.parametrize("lengths", [[2, 4], [1, 5, 0]])
def test_what_a_graph_reads_outlives_its_tensor(gpu, monkeypatch, lengths):
    monkeypatch.setattr(offsets.settings, "tile_rows", 3)
    monkeypatch.setattr(offsets, "_captured", {})
    for captured in (False, True):
        x = gpu(LoDTensor(TABLE, [lengths]))
        expected = to_numpy(lodkit.sequence_pool(x))
        with monkeypatch.context() as capture:
            capture.setattr(emulated.Library, "captures", lambda library: captured)
            np.testing.assert_array_equal(to_numpy(lodkit.sequence_pool(x)), expected)
        memory = sent_for(x)
        assert memory
        del x
        gc.collect()
        assert all(ref() is not None for ref in memory) == captured


def test_offsets_of_a_graph_are_sent_before(gpu, monkeypatch):
    x = gpu(LoDTensor(TABLE, [[2, 4]]))
    with monkeypatch.context() as capture:
        capture.setattr(emulated.Library, "captures", lambda library: True)
        with pytest.raises(lodkit.DeviceError, match="make this call once before, on the same stream"):
            lodkit.sequence_pool(x)
    expected = to_numpy(lodkit.sequence_pool(x))
    with monkeypatch.context() as capture:
        capture.setattr(emulated.Library, "captures", lambda library: True)
        np.testing.assert_array_equal(to_numpy(lodkit.sequence_pool(x)), expected)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32, np.int64])
def test_memory_between_elements_is_refused(gpu, dtype):
    """A GPU that reads there loses its context."""
    numbers = np.arange(6).astype(dtype)
    memory = np.zeros(numbers.nbytes + 16, np.uint8)
    odd = memory[1 : 1 + numbers.nbytes].view(dtype)
    odd[:] = numbers
    ids = np.array([1, 2])
    with pytest.raises(lodkit.DTypeError, match=r"no multiple of \d bytes.*copy\(\)"):
        lodkit.gather(Array(odd), gpu(ids))
    np.testing.assert_array_equal(to_numpy(lodkit.gather(to_gpu(odd), gpu(ids))), numbers[ids])
    with pytest.raises((lodkit.DTypeError, lodkit.OutputError), match="no multiple of"):
        lodkit.gather(gpu(numbers), gpu(ids), out=Array(odd[:2]))
