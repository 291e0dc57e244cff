"""CUDA kernels without a GPU: every sample in the emulator, beside the operator's definition."""

from __future__ import annotations

import pytest

pytest.importorskip("greenlet")
pytest.importorskip("numba_cuda")
pytest.importorskip("array_api_compat")

import emulated
from conftest import DEVICES, copy
from samples import SAMPLES, defined
from test_every_op import same

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.arrays.cuda import launcher, memory
from lodkit.arrays.generic import is_array
from lodkit.arrays.transfer import to_device
from lodkit.kernels.cuda.primitives import offsets

SEEDS = (None, 1, 2)


CASES = [
    pytest.param(name, *case, seed, id=f"{name}-{i}-{seed}")
    for name, cases in SAMPLES.items()
    for i, case in enumerate(cases)
    for seed in (SEEDS if len(cases) < 9 else (SEEDS[i % 3],))  # every operator in every order, three times at least
]


@pytest.fixture
def gpu(monkeypatch, request):
    """The emulated GPU; returns what moves a value there."""
    monkeypatch.setitem(memory.LIBRARIES, "emulated", emulated.Library)
    monkeypatch.setattr(launcher, "runner", emulated.Launcher(getattr(request, "param", None)))
    return emulated.to_gpu


@pytest.mark.parametrize(("name", "inputs", "attrs", "gpu"), CASES, indirect=["gpu"])
def test_kernel_equals_definition(name, inputs, attrs, gpu):
    check(name, inputs, attrs, gpu)


@pytest.mark.parametrize(("name", "inputs", "attrs", "gpu"), CASES[::5], indirect=["gpu"])
def test_long_segments_are_cut(name, inputs, attrs, gpu, monkeypatch):
    """The same in tiles of 3 rows."""
    monkeypatch.setattr(offsets.settings, "tile_rows", 3)
    check(name, inputs, attrs, gpu)


def on_device(device):
    """What moves a value to a device, and back."""

    def move(x):
        if isinstance(x, tuple):
            return tuple(map(move, x))
        if isinstance(x, LoDTensor | SelectedRows):
            return x.to(device)
        return to_device(x, device) if is_array(x) else x

    return move


@pytest.mark.skipif("cuda" not in DEVICES, reason="LODKIT_TEST_DEVICES names no cuda")
@pytest.mark.parametrize(
    ("name", "inputs", "attrs"), [(name, *case) for name, cases in SAMPLES.items() for case in cases]
)
def test_on_a_gpu(name, inputs, attrs):
    """The same where there is one, in whichever array library is there."""
    check(name, inputs, attrs, on_device("cuda"), on_device("cpu"))


def check(name, inputs, attrs, gpu, home=emulated.to_numpy):
    op = lodkit.OPS[name]
    on_gpu = [gpu(x) for x in op._accept(tuple(map(copy, inputs)))]
    same(home(op(*on_gpu, **attrs)), defined(op, inputs, attrs))
