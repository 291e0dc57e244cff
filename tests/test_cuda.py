"""CUDA kernels without a GPU: every sample in the emulator, beside the operator's definition."""

from __future__ import annotations

import pytest

pytest.importorskip("greenlet")
pytest.importorskip("numba_cuda")
pytest.importorskip("array_api_compat")

import emulated
from calls import calling
from conftest import copy
from gpus import install
from samples import SAMPLES, defined
from test_every_op import same

import lodkit
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
    return install(monkeypatch, "emulated", getattr(request, "param", None))


@pytest.mark.parametrize(("name", "inputs", "attrs", "gpu"), CASES, indirect=["gpu"])
def test_kernel_equals_definition(name, inputs, attrs, gpu):
    check(name, inputs, attrs, gpu)


@pytest.mark.parametrize(("name", "inputs", "attrs", "gpu"), CASES[::5], indirect=["gpu"])
def test_long_segments_are_cut(name, inputs, attrs, gpu, monkeypatch):
    """The same in tiles of 3 rows."""
    monkeypatch.setattr(offsets.settings, "tile_rows", 3)
    monkeypatch.setattr(offsets.settings, "run_rows", 3)
    monkeypatch.setattr(offsets.settings, "warp_rows", 3)
    check(name, inputs, attrs, gpu)


def check(name, inputs, attrs, gpu):
    op = lodkit.OPS[name]
    on_gpu = [gpu(x) for x in op._accept(tuple(map(copy, inputs)))]
    with calling(name, inputs, attrs, "cuda"):
        same(emulated.to_numpy(op.full(*on_gpu, **attrs)), defined(op, map(copy, inputs), attrs))


@pytest.mark.parametrize("name", lodkit.OPS)
def test_the_loops_that_templates_choose_are_those_of_a_gpu(name, gpu):
    op = lodkit.OPS[name]
    for inputs, attrs in SAMPLES[name]:
        said = op.explain(*(gpu(x) for x in op._accept(tuple(map(copy, inputs)))), **attrs)
        if said.kernel.chooses_loops:
            assert said.loops and not any(loop.place.startswith(("cpu/", "kernels/cpu/")) for loop in said.loops)
