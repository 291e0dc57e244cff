"""Every CUDA kernel that the samples need compiles to machine code that is as it should be. No GPU, no driver."""

from __future__ import annotations

import importlib.util
import sys

import pytest

pytest.importorskip("greenlet")
pytest.importorskip("numba_cuda")
pytest.importorskip("array_api_compat")

import emulated
from conftest import copy
from samples import SAMPLES

import lodkit
from lodkit.cuda import _cub, _offsets, launch, memory
from lodkit.cuda._elements import _copy

pytestmark = [
    pytest.mark.jit,
    pytest.mark.skipif(importlib.util.find_spec("nvidia") is None, reason="the CUDA compiler is not installed"),
    pytest.mark.timeout(900),
]


@pytest.fixture(scope="module")
def launched():
    """Every kernel with the types that it is launched with, for all samples."""
    found, emulate = {}, emulated.Launcher(None)

    def note(kernel, blocks, block, args, exact):
        found[kernel, tuple(map(launch.type_name, args))] = None
        emulate(kernel, blocks, block, args, exact)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(memory.LIBRARIES, "emulated", emulated.Library)
        patch.setattr(launch, "runner", note)
        run_samples()
        known = {kernel.py_func.__code__ for kernel, _ in found}
        usual = len(found)
        patch.setattr(_offsets.settings, "piece_rows", 3)
        run_samples()
    others = [key for key in list(found)[usual:] if key[0].py_func.__code__ not in known]
    assert others, "segments that are cut have kernels of their own"
    return list(found)[:usual] + others


def run_samples():
    for name, cases in SAMPLES.items():
        op = lodkit.OPS[name]
        for inputs, attrs in cases:
            op(*map(emulated.to_gpu, op._accept(tuple(map(copy, inputs)))), **attrs)


def test_no_kernel_is_left_out(launched):
    """Those that a module has by name; the others are made by the kernels' templates when an operator asks for them."""
    noted = {kernel for kernel, _ in launched}
    for name, module in list(sys.modules.items()):
        if name.startswith("lodkit.cuda."):
            for x in vars(module).values():
                if isinstance(x, type(_copy)) and not x.targetoptions.get("device"):
                    assert x in noted or x in SORTING, f"{name}.{x.py_func.__name__}"


SORTING = (_cub._keys,)  # of test_cuda_sort.py


@pytest.mark.parametrize("capability", [(8, 0), (9, 0)])
def test_machine_code(launched, capability):
    """No registers are spilled, nothing lies on a stack, no float64 is computed where there is none."""
    assert len(launched) > 200
    for kernel, names in launched:
        code, entry, report = launch.machine_code(kernel, names, capability)
        where = kernel.py_func.__qualname__, kernel.py_func.__module__, names, report
        assert code[:4] == b"\x7fELF" and entry
        assert report["stack"] == report["spills"] == 0, where
        assert report["registers"] <= 128, where
        assert not report["doubles"] or any("float64" in name for name in names), where


def test_rows_are_loaded_16_bytes_at_a_time(launched):
    """Rows of 64 float32 are in the samples of every family that moves rows."""
    wide = {}
    for kernel, names in launched:
        report = launch.machine_code(kernel, names, (9, 0))[2]
        place = kernel.py_func.__module__, kernel.py_func.__qualname__
        wide[place] = max(wide.get(place, 0), report["wide_loads"])
    for module, name in (
        ("_reduce_kernels", "reduce_kernel.<locals>.kernel"),
        ("_row_kernels", "_kernel.<locals>.kernel"),
        ("_rows", "_copy_kernel.<locals>.kernel"),
        ("_rows", "_put_kernel.<locals>.kernel"),
        ("_ranges", "_range_kernel.<locals>.kernel"),
        ("_update_kernels", "rows_kernel.<locals>.kernel"),
        ("_update_kernels", "dense_kernel.<locals>.kernel"),
        ("_row_maps", "_copy_kernel.<locals>.kernel"),
    ):
        assert wide[f"lodkit.cuda.{module}", name] >= 1, name
