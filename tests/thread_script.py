"""A process with threads, which runs code that calls a parallel kernel."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest
from kernel_package import ROOT

PRELUDE = """
import os, threading, warnings
import numba, numpy as np
from lodkit import get_num_threads, jit, set_num_threads
from lodkit.jit import prange, parallel_kernel

warnings.filterwarnings('ignore', 'This process .* is multi-threaded', DeprecationWarning)

@parallel_kernel
def root(x, out):
    for i in prange(x.size):
        out[i] = np.sqrt(x[i])

x = np.arange(1 << 14, dtype=np.float64)
expected = np.sqrt(x)

def call():
    out = np.empty_like(x)
    root(1 << 40, x, out)
    return bool((out == expected).all())

def together(count=4, times=50):
    good = []
    def work():
        good.append(all(call() for _ in range(times)))
    threads = [threading.Thread(target=work) for _ in range(count)]
    for t in threads: t.start()
    return threads, good

def joined(threads, good):
    for t in threads: t.join()
    return good == [True] * len(threads)

def in_child(function):
    pid = os.fork()
    if not pid:
        code = 1
        try:
            code = 0 if function() else 2
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1] == 0

@parallel_kernel
def tell_shares(firsts):
    first = -1
    for i in prange(len(firsts)):
        first = i if first < 0 else first
        firsts[i] = first

def shares():
    firsts = np.zeros(64, np.int64)
    tell_shares(1 << 40, firsts)
    return len(set(firsts))
"""


@pytest.fixture(scope="module")
def cache_of_threads(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def run_threads(cache_of_threads, tmp_path):
    """Run code after the prelude in a process with four threads, and return what it prints."""
    script = tmp_path / "script.py"

    def run(code, layer="default", **env):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "LODKIT_", "OMP_"))}
        kept |= {"NUMBA_THREADING_LAYER": layer, "NUMBA_NUM_THREADS": "4", "OMP_WAIT_POLICY": "passive"}
        kept |= {"PYTHONPATH": str(ROOT), "LODKIT_CACHE_DIR": str(cache_of_threads)} | env
        script.write_text(PRELUDE + textwrap.dedent(code))
        done = subprocess.run(
            [sys.executable, "-W", "error", script], env=kept, capture_output=True, text=True, timeout=120
        )
        if "No threading layer could be loaded" in done.stderr:
            pytest.skip(f"{layer} is not installed")
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    return run
