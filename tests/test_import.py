"""Importing stays light, and every public name is there for people and for type checkers."""

from __future__ import annotations

import builtins
import re
import subprocess
import sys

import pytest

import lodkit


def loaded_by(code):
    out = subprocess.run(
        [sys.executable, "-c", code + "; import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(out.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import lodkit",
        "import lodkit; lodkit.LoDTensor, lodkit.SelectedRows, lodkit.VarDesc, lodkit.Tape, lodkit.OPS, lodkit.sgd",
        "import lodkit; dir(lodkit); lodkit.caffe2.LengthsSum; lodkit.paddle.run_op",
    ],
)
def test_import_loads_neither_numba_nor_cuda(code):
    assert not {"numba", "numba.cuda", "cupy", "torch"} & loaded_by(code)


@pytest.mark.jit
def test_a_cpu_call_does_not_load_cuda():
    code = "import lodkit, numpy as np; lodkit.sgd(np.ones(2), np.ones(2), lr=1.0)"
    assert "numba.cuda" not in loaded_by(code)


@pytest.mark.parametrize(
    "first", ["registry", "tape.tape", "jit", "ops", "caffe2", "paddle", "kernels.common.embedding", "lod.batching"]
)
def test_any_module_may_be_imported_first(first):
    subprocess.run([sys.executable, "-c", f"import lodkit.{first}"], check=True)


def test_dir_lists_every_name():
    names = dir(lodkit)
    for name in ("LoDTensor", "SelectedRows", "VarDesc", "Tape", "OPS", "run", "op", "empty", "batches", "concat"):
        assert name in names
        assert getattr(lodkit, name) is not None
    assert set(lodkit.OPS) <= set(names)
    assert callable(lodkit.batches)
    assert re.fullmatch(r"\d+\.\d+\.\d+(rc\d+)?", lodkit.__version__)


def test_dir_is_complete_before_operators_are_used():
    code = "import lodkit; early = dir(lodkit); print({*lodkit.OPS, *lodkit.__all__} <= {*early}, lodkit.sgd.name)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"True sgd\n"


def test_star_import_gives_every_name():
    code = "from lodkit import *; print(LoDTensor, SelectedRows, OPS['sgd'] is sgd, caffe2, RowIndexError, VarDesc)"
    assert "True" in subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not [name for name in lodkit.__all__ if name.startswith("_")]


def test_star_import_hides_no_name_of_python():
    code = "import typing; t = typing; from lodkit import *; assert sum([1, 2]) == 3 and abs(-1) == 1 and typing is t"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert not {*lodkit.__all__} & {*dir(builtins), *sys.stdlib_module_names}
    for name in ("abs", "sum", "typing"):
        assert getattr(lodkit, name) is not None
        assert name in dir(lodkit)


@pytest.mark.parametrize(
    "code",
    [
        "import lodkit.ops",
        "import lodkit.ops.sequence_pool",
        "from lodkit.ops.sequence_pool import sequence_pool_grad",
        "from lodkit.ops import sequence_mask, shared; import lodkit.ops.sequence_mask",
        "import lodkit; lodkit.sequence_pool; from lodkit.ops.scatter import scatter_grad",
    ],
)
def test_a_family_named_as_an_operator_gives_the_operator(code):
    check = "import lodkit.ops as ops, lodkit; assert all(getattr(ops, n) is lodkit.OPS[n] for n in lodkit.OPS)"
    subprocess.run([sys.executable, "-c", f"{code}; {check}"], check=True)
