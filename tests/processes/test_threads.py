"""Parallel kernels called from several threads and from forked children, under every threading layer."""

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

layers = pytest.mark.parametrize("layer", ["workqueue", "omp", "tbb"])
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def run(cache, tmp_path):
    """Run code after the prelude in a process with four threads, and return what it prints."""
    script = tmp_path / "script.py"

    def run(code, layer="default", **env):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "LODKIT_", "OMP_"))}
        kept |= {"NUMBA_THREADING_LAYER": layer, "NUMBA_NUM_THREADS": "4", "OMP_WAIT_POLICY": "passive"}
        kept |= {"PYTHONPATH": str(ROOT), "LODKIT_CACHE_DIR": str(cache)} | env
        script.write_text(PRELUDE + textwrap.dedent(code))
        done = subprocess.run(
            [sys.executable, "-W", "error", script], env=kept, capture_output=True, text=True, timeout=120
        )
        if "No threading layer could be loaded" in done.stderr:
            pytest.skip(f"{layer} is not installed")
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    return run


@layers
def test_the_first_calls_come_from_four_threads_at_once(run, layer):
    assert run("print(joined(*together()), numba.threading_layer())", layer) == ["True", layer]


@layers
def test_first_calls_with_a_number_of_threads_meet(run, layer):
    code = """
    numba.get_num_threads()
    def work():
        for n in range(2, 33):
            barrier.wait()
            set_num_threads(n)
            good.append(call())
    barrier, good = threading.Barrier(8), []
    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads: t.start()
    for t in threads: t.join()
    print(len(good), all(good))
    """
    assert run(code, layer, NUMBA_NUM_THREADS="32")[-2:] == ["248", "True"]


@needs_fork
@layers
def test_children_forked_before_and_after_the_first_call(run, layer):
    code = """
    child = in_child(call)
    here = call()
    print(child, here, in_child(call), in_child(lambda: in_child(call)), call())
    """
    assert run(code, layer) == ["True"] * 5


@needs_fork
@layers
def test_children_forked_while_four_threads_call(run, layer):
    code = """
    call()
    running = together(times=200)
    children = [in_child(call) for _ in range(5)]
    print(all(children), joined(*running), call())
    """
    # Numba's TBB layer says on stdout that it could not stop its threads before the fork.
    assert run(code, layer)[-3:] == ["True"] * 3


@needs_fork
@layers
def test_children_forked_by_another_thread(run, layer):
    code = """
    call()
    results = []
    thread = threading.Thread(target=lambda: results.append(in_child(call)))
    thread.start()
    thread.join()
    print(*results, call())
    """
    assert run(code, layer)[-2:] == ["True"] * 2


@needs_fork
@layers
def test_four_threads_in_a_forked_child(run, layer):
    assert run("call(); print(in_child(lambda: joined(*together())))", layer) == ["True"]


@needs_fork
@pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="no hook to wait in")
def test_a_child_forked_while_another_thread_compiles(run, tmp_path):
    code = """
    import time
    from numba.core.compiler_lock import global_compiler_lock
    thread = threading.Thread(target=root.compiled, args=(x, x.copy()))
    thread.start()
    while thread.is_alive() and not global_compiler_lock.is_locked():
        time.sleep(0.001)
    time.sleep(0.03)
    print(in_child(call))
    thread.join()
    """
    assert run(code, LODKIT_CACHE_DIR=str(tmp_path)) == ["True"]


@needs_fork
@pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="no hook to wait in")
def test_a_child_forked_while_another_thread_is_in_llvm(run):
    """Which happens without Numba's lock: what is dropped after compilation is freed by LLVM."""
    code = """
    import signal, time
    import llvmlite.binding as llvm
    call()
    inside, slow = threading.Event(), threading.Thread(target=llvm.parse_assembly, args=("",))

    def linger():
        if threading.current_thread() is slow:
            inside.set()
            time.sleep(0.5)

    llvm.ffi.register_lock_callback(linger, lambda: None)
    slow.start()
    inside.wait()
    print(in_child(lambda: signal.alarm(20) or llvm.parse_assembly("").name == "<string>"))
    slow.join()
    """
    assert run(code) == ["True"]


def test_as_many_threads_as_were_allowed_share_a_call(run):
    code = """
    print(shares(), get_num_threads())
    for n in (1, 3, 2, 4):
        set_num_threads(n)
        print(shares(), get_num_threads())
    """
    assert run(code) == ["4", "4", "1", "1", "3", "3", "2", "2", "4", "4"]
    assert run("print(shares(), get_num_threads())", NUMBA_NUM_THREADS="1") == ["1", "1"]


def test_a_limit_leaves_what_numba_was_told_as_it_was(run):
    code = """
    call()
    set_num_threads(3)
    print(call(), numba.get_num_threads())
    numba.set_num_threads(2)
    print(get_num_threads(), shares())
    numba.set_num_threads(1)
    print(get_num_threads(), shares())
    """
    assert run(code) == ["True", "4", "2", "2", "1", "1"]


def test_numbers_of_threads_that_there_are_not(run):
    code = """
    for n in (0, 5, -1, 1.5):
        try:
            set_num_threads(n)
        except (TypeError, ValueError) as error:
            print(type(error).__name__)
    """
    assert run(code) == ["ValueError", "ValueError", "ValueError", "TypeError"]


def test_a_call_from_inside_a_parallel_call_runs_serially_under_workqueue(run):
    code = """
    from lodkit.jit.threading_layer import run
    seen = []
    run(lambda: seen.extend([shares(), shares()]), ())
    print(*seen, shares())
    """
    assert run(code, "workqueue") == ["4", "1", "4"]


def test_work_decides(run):
    code = """
    for size in (jit.settings.parallel_from - 1, jit.settings.parallel_from):
        firsts = np.zeros(64, np.int64)
        tell_shares(size, firsts)
        print(len(set(firsts)))
    """
    assert run(code) == ["1", "4"]


def test_where_only_workqueue_can_be_loaded(run, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nfor layer in ('omp', 'tbb'): sys.modules[f'numba.np.ufunc.{layer}pool'] = None\n"
    )
    path = os.pathsep.join([str(ROOT), str(tmp_path)])
    code = "print(joined(*together()), numba.threading_layer())"
    assert run(code, PYTHONPATH=path) == ["True", "workqueue"]


@needs_fork
@layers
def test_where_fork_has_no_hooks(run, layer, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import os, random\ndel os.register_at_fork\n")
    path = os.pathsep.join([str(ROOT), str(tmp_path)])
    code = "print(call(), in_child(call), joined(*together(times=5)), hasattr(os, 'register_at_fork'))"
    assert run(code, layer, PYTHONPATH=path) == ["True", "True", "True", "False"]


@needs_fork
def test_a_child_forked_while_another_thread_imports_kernels(run):
    code = """
import importlib.machinery, signal, time
import lodkit
here, execute = threading.Event(), importlib.machinery.SourceFileLoader.exec_module

def slow(self, module):
    if module.__name__ == "lodkit.kernels.common.one_hot":
        here.set()
        time.sleep(0.5)
    execute(self, module)

importlib.machinery.SourceFileLoader.exec_module = slow
op = lodkit.OPS["one_hot"]
thread = threading.Thread(target=op._load, args=("cpu",))
thread.start()
here.wait()

def child():
    signal.alarm(20)
    op._load("cpu")
    return True

print(in_child(child))
thread.join()
"""
    assert run(code) == ["True"]
