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
from lodkit.arrays.cuda import launcher, memory
from lodkit.arrays.cuda.kernels import _copy
from lodkit.kernels.cuda.primitives import cub, offsets, sorted_runs, update_kernels

pytestmark = [
    pytest.mark.jit,
    pytest.mark.skipif(importlib.util.find_spec("nvidia") is None, reason="the CUDA compiler is not installed"),
    pytest.mark.timeout(1500),
]


@pytest.fixture
def names(request):
    """The operators that ``python -m tests.check`` is asked for; all in the gate."""
    asked = request.config.getoption("--names", default="").split(",")
    return [name for name in asked if name in SAMPLES] or [*SAMPLES]


@pytest.fixture
def launched(names):
    """Every kernel with the types that it is launched with, for the samples of the operators."""
    found, emulate = {}, emulated.Launcher(None)

    def note(kernel, blocks, block, args, exact):
        found[kernel, tuple(map(launcher.type_name, args))] = None
        emulate(kernel, blocks, block, args, exact)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(memory.LIBRARIES, "emulated", emulated.Library)
        patch.setattr(launcher, "runner", note)
        run_samples(names)
        known = {kernel.py_func.__code__ for kernel, _ in found}
        usual, noted = len(found), {kernel for kernel, _ in found}
        # Families with kernels of their own that no uncut sample launches.
        unreached = {name.split(".")[-2] for name, kernel in kernels_by_name().items() if kernel not in noted}
        patch.setattr(offsets.settings, "tile_rows", 3)
        patch.setattr(offsets.settings, "warp_rows", 3)
        for rows in (3, 1):  # tiles, and groups of them
            patch.setattr(offsets.settings, "run_rows", rows)
            run_samples(name for name in names if name.startswith(CUT) or lodkit.OPS[name].family in unreached)
    by_name = set(kernels_by_name().values())
    others = [
        key
        for key in list(found)[usual:]
        if key[0] in by_name or key[0].py_func.__code__ not in known or key[0].py_func.__module__ in TILED
    ]
    assert others or len(names) < len(SAMPLES), "segments that are cut have kernels of their own"
    return list(found)[:usual] + others


#: Operators whose segments, and runs of equal rows, templates cut where they are long; families with kernels of their
#: own for cut segments are found. Modules all of whose variants count.
CUT = (
    *("segment_reduce", "sequence_pool", "sequence_softmax", "sequence_log_softmax", "merge", "sgd", "adam"),
    *("rowwise_adagrad", "embedding_bag_adagrad", "selected_rows_to_dense"),
)
TILED = sorted_runs.__name__, update_kernels.__name__


def run_samples(names):
    for name in names:
        op = lodkit.OPS[name]
        for inputs, attrs in SAMPLES[name]:
            op(*map(emulated.to_gpu, op._accept(tuple(map(copy, inputs)))), **attrs)


def test_machine_code(launched, names):
    """One test, as what the samples launch takes long to find out."""
    wide = {}
    for kernel, names in launched:
        wide_loads = max(check_code(kernel, names, capability) for capability in GENERATIONS)
        place = kernel.py_func.__module__.rpartition(".")[2], kernel.py_func.__qualname__.partition(".")[0]
        wide[place] = max(wide.get(place, 0), wide_loads)
    if len(names) < len(SAMPLES):
        return
    assert len(launched) > 200
    assert all(wide[place] for place in WIDE), "rows are loaded 16 bytes at a time"
    noted = {kernel for kernel, _ in launched}
    assert not [name for name, kernel in kernels_by_name().items() if kernel not in noted and kernel not in SORTING]


GENERATIONS = (8, 0), (9, 0)
#: Kernels that move rows: those of 64 float32 are in the samples of their families.
WIDE = (
    ("reduce_kernels", "reduce_kernel"),
    ("row_kernels", "row_kernel"),
    ("gather", "_copy_kernel"),
    ("gather", "_put_kernel"),
    ("copy_runs", "_run_kernel"),
    ("update_kernels", "rows_kernel"),
    ("update_kernels", "dense_kernel"),
    ("copy_runs", "_copy_kernel"),
)
SORTING = (cub._keys.kernel,)  # of test_cuda_sort.py


def check_code(kernel, names, capability):
    """No registers are spilled, nothing lies on a stack, no float64 is computed where there is none.

    Nor is a row's product with its factor part of a multiply-add: a gradient's rows are rounded, of which a step makes
    the same bits.
    """
    code, entry, report = launcher.machine_code(kernel, names, capability)
    where = kernel.py_func.__qualname__, kernel.py_func.__module__, names, report
    assert code[:4] == b"\x7fELF" and entry
    assert report["stack"] == report["spills"] == 0, where
    assert report["registers"] <= 128, where
    has_reason = not report["doubles"] or any("float64" in name for name in names)
    assert has_reason, f"float64 is computed where no argument is: an integer beside a float32 makes one; {where}"
    assert not report["fused"] or kernel.py_func.__module__ != sorted_runs.__name__, where
    return report["wide_loads"]


def kernels_by_name():
    """Kernels that a module has by name; templates make the others when an operator asks for them."""
    found = {}
    for name, module in list(sys.modules.items()):
        if name.startswith(("lodkit.arrays.cuda.", "lodkit.kernels.cuda.")):
            for own, x in vars(module).items():
                x = getattr(x, "kernel", x)
                if isinstance(x, type(_copy)) and not x.targetoptions.get("device"):
                    found[f"{name}.{own}"] = x
    return found
