"""Where tests of GPU kernels run: in the emulator, and on a GPU, where LODKIT_TEST_DEVICES names cuda."""

from __future__ import annotations

import importlib.util

import emulated
import numpy as np
import pytest
from conftest import DEVICES

import lodkit
from lodkit.arrays import transfer
from lodkit.arrays.cuda import launcher, memory

TO_CUDA = dict(transfer._TO_CUDA)

#: Array libraries on a GPU; Numba's arrays have no arithmetic, which dense operators need.
LIBRARIES = [name for name in TO_CUDA if "cuda" in DEVICES and importlib.util.find_spec(name.partition(".")[0])]
PLACES = ["emulated", *(name for name in LIBRARIES if name != "numba.cuda")]

#: For tests that look into the emulator.
emulator_only = pytest.mark.parametrize("gpu", ["emulated"], indirect=True)


def install(monkeypatch, place, seed=None):
    """Make a place the GPU of a test. Returns what moves a value there."""
    if place == "emulated":
        monkeypatch.setitem(memory.LIBRARIES, "emulated", emulated.Library)
        monkeypatch.setattr(launcher, "runner", emulated.Launcher(seed))
        monkeypatch.setattr(transfer, "_TO_CUDA", {"emulated": lambda module, array: module.to_gpu(array)})
        return emulated.to_gpu
    monkeypatch.setattr(transfer, "_TO_CUDA", {place: TO_CUDA[place]})
    return lambda x: to_gpu(x, place)


def to_gpu(x, library):
    """Move a value to a GPU, as arrays of a library."""
    if isinstance(x, tuple):
        return tuple(to_gpu(part, library) for part in x)
    if isinstance(x, lodkit.LoDTensor):
        return x.with_values(to_gpu(x.values, library))
    if isinstance(x, lodkit.SelectedRows):
        rows, value = to_gpu(x.rows, library), to_gpu(x.value, library)
        return lodkit.SelectedRows._wrap(rows, value, x.height, x.is_merged)
    if not isinstance(x, np.ndarray):
        return x
    native = np.array(x, x.dtype.newbyteorder("="), order="C")
    return TO_CUDA[library](importlib.import_module(library), native)
