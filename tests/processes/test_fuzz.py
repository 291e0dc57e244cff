"""The fuzzer itself: it finds what is planted, and nothing in an operator without a defect."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="guards memory by Linux's mprotect")
ROOT = pathlib.Path(__file__).parents[2]

PLANTED = """
import ctypes, time
import numpy as np
import lodkit
from lodkit import LodkitError
from lodkit.registry import Dense
from tests.samples import SAMPLES

def correct(x):
    if x.dtype != np.float32 or not x.ndim or x.size > 1000:
        raise LodkitError(f"x must be a vector of float32, got {x.dtype}")
    return np.array(x)

def overrun(x):
    out = correct(x)
    ctypes.memset(out.ctypes.data + out.nbytes, 1, 1)  # the byte behind the result
    return out

def underread(x):
    correct(x)
    ctypes.string_at(x.ctypes.data - 1, 1 if x.flags.c_contiguous else 0)  # the byte before the input
    return correct(x)

def unwritten(x):
    out = np.empty_like(correct(x))
    out[1:] = x[1:]
    return out

def changing(x):
    out = correct(x)
    if x.flags.writeable:
        x[...] = 7
    return out

def late(x):
    if x.size and x.flags.writeable and x.dtype.kind == "f":
        x[...] = 7
        raise LodkitError("x was written to")
    return correct(x)

def obscure(x):
    return correct(x) if x.ndim == 1 else x[np.ones(3, bool), "a"]

def endless(x):
    while x.ndim == 2 and not x.size:
        time.sleep(0.1)
    return correct(x)

def wrong(x):
    return correct(x) + np.float32(1)

for function in (correct, overrun, underread, unwritten, changing, late, obscure, endless, wrong):
    name = f"planted_{function.__name__}"
    def definition(x: Dense, /) -> Dense:
        return np.array(x)
    definition.__name__ = name
    definition.__module__ = __name__
    operator = lodkit.op(definition)
    def kernel(x: Dense, /, *, run=function):
        return run(x)
    operator.kernel("cpu")(kernel)
    SAMPLES[name] = [((np.arange(5, dtype=np.float32),), {})]
"""
FINDS = {
    "crash by SIGSEGV": {"overrun", "underread"},
    "unwritten": {"unwritten"},
    "changed": {"changing"},
    "changed on error": {"late"},
    "obscure error": {"obscure"},
    "hang": {"endless"},
}


def found(tmp_path, lane, cases, *more):
    """What a lane finds in planted operators: pairs of kind and name."""
    (tmp_path / "planted.py").write_text(PLANTED)
    path = os.pathsep.join([str(tmp_path), str(ROOT), os.environ.get("PYTHONPATH", "")])
    args = ["--lane", lane, "--load", "planted", "--only", "planted", "--seconds", "100", "--limit", "1", "--jobs", "1"]
    command = [sys.executable, "-m", "tests.fuzz", *args, "--cases", str(cases), *more]
    env = {**os.environ, "PYTHONPATH": path}
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=env, cwd=ROOT)
    assert run.returncode in (0, 1) and not run.stderr, run.stderr + run.stdout
    return run.stdout, {tuple(pair) for pair in re.findall(r"^([\w ]+): planted_(\w+): ", run.stdout, re.M)}


@pytest.mark.jit
def test_finds_what_is_planted(tmp_path):
    text, pairs = found(tmp_path, "compiled", 170, "--messages", str(tmp_path / "messages"))
    for kind, names in FINDS.items():
        assert {(kind, name) for name in names} <= pairs, text
    assert not {name for _, name in pairs} & {"correct", "wrong"}, text
    assert "x must be a vector of float32, got" in (tmp_path / "messages").read_text()
    case = re.search(r"crash by SIGSEGV: planted_overrun.*?--replay (\S+)", text, re.S)[1]
    text, pairs = found(tmp_path, "compiled", 1, "--replay", case)
    assert ("crash by SIGSEGV", "overrun") in pairs, text
    assert "planted_overrun(np.array(" in text


def test_holds_results_against_the_definition(tmp_path):
    text, pairs = found(tmp_path, "uncompiled", 60, "--only", "planted_(wrong|correct)")
    assert pairs == {("mismatch", "wrong")}, text
