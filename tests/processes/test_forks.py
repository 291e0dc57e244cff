"""Locks of threads that are not in a forked child."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from kernel_package import ROOT

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here"),
    pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="no hook to wait in"),
]


def test_a_child_forked_while_another_thread_compiles(run_threads, tmp_path):
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
    assert run_threads(code, LODKIT_CACHE_DIR=str(tmp_path)) == ["True"]


@pytest.mark.parametrize("late", [False, True])
def test_a_child_forked_while_another_thread_is_in_llvm(run_threads, late):
    """Which happens without Numba's lock: LLVM frees what a compilation leaves. Late: since the fork has waited."""
    code = f"""
    import signal, time
    import llvmlite.binding as llvm
    from lodkit import loading
    call()
    if {late}:
        loading.waits.clear()
    inside, slow, left = threading.Event(), threading.Thread(target=llvm.parse_assembly, args=("",)), []

    def linger():
        if threading.current_thread() is slow:
            inside.set()
            time.sleep(0.5)
            left.append(True)

    llvm.ffi.register_lock_callback(linger, lambda: None)
    slow.start()
    inside.wait()
    print(in_child(lambda: signal.alarm(20) or llvm.parse_assembly("").name == "<string>"), not left)
    slow.join()
    """
    assert run_threads(code) == ["True", str(late)]


def test_locks_of_a_fork_are_returned_after_an_interrupt(run_threads):
    """By a signal whose handler raises: Python forks in spite of it."""
    code = """
    import signal, sys
    from lodkit import loading
    from lodkit.jit.private_numba import compiler_lock
    call()

    def interrupted():
        signal.raise_signal(signal.SIGALRM)

    def handler(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, handler)
    sys.unraisablehook = lambda *_: None
    loading.waits.append(interrupted)
    print(in_child(call))
    got = []
    thread = threading.Thread(target=lambda: got.append(compiler_lock.acquire()), daemon=True)
    thread.start()
    thread.join(20)
    print(len(got))
    """
    assert run_threads(code) == ["True", "1"]


def test_a_child_forked_while_another_thread_imports_kernels(run_threads):
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
    assert run_threads(code) == ["True"]


FIRST = """
import os, signal, sys, threading, time
import numpy as np
import lodkit

def first():
    return lodkit.embedding_bag(np.ones((4, 8), np.float32), lodkit.LoDTensor([1, 2], [[2]])).shape == (1, 8)

thread = threading.Thread(target=first)
thread.start()
time.sleep(float(sys.argv[1]))
child = os.fork()
if not child:
    signal.alarm(60)
    os._exit(0 if first() else 2)
print(os.waitpid(child, 0)[1])
thread.join()
"""


@pytest.mark.parametrize("delay", [0, 0.02, 0.05, 0.08, 0.12])
def test_a_child_forked_during_the_first_call_of_another_thread(cache_of_threads, delay):
    """Which imports lodkit's modules and Numba, and what that imports as it looks at the first array."""
    env = {**os.environ, "LODKIT_CACHE_DIR": str(cache_of_threads), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "ignore", "-c", FIRST, str(delay)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.split() == ["0"], done.stderr


def test_an_initializer_waits_for_a_fork(run_threads):
    """Which takes the lock of all tables, so that keys and rows of a child's tables are whole."""
    code = """
    import faulthandler
    import lodkit
    import numpy as np
    faulthandler.dump_traceback_later(60, exit=True)

    def initializer(count, item, dtype):
        if count > 2:
            thread = threading.Thread(target=lambda: found.append(in_child(lambda: len(table) == 1)))
            thread.start()
            thread.join()
        return np.zeros((count, *item), dtype)

    found, table = [], lodkit.GrowingTable(2, capacity=2, initializer=initializer)
    table.slots([1])
    print(table.slots([1, 2, 3]).tolist(), *found)
    """
    assert run_threads(code) == ["[0,", "1,", "2]", "True"]


def test_a_child_forked_during_an_update_by_an_operator_of_the_users_own(run_threads):
    code = """
    import faulthandler
    import lodkit
    import numpy as np
    faulthandler.dump_traceback_later(60, exit=True)
    inside, leave = threading.Event(), threading.Event()

    @lodkit.op
    def own(param: lodkit.Dense, grad: lodkit.SelectedRows, /) -> lodkit.Dense:
        return param

    @own.kernel("cpu")
    def _(param: lodkit.Dense, grad: lodkit.SelectedRows, /):
        inside.set()
        leave.wait()
        return param

    table = lodkit.GrowingTable(1, capacity=2)
    grad = lodkit.SelectedRows(table.slots([1]), np.ones((1, 1), np.float32), 2)
    thread = threading.Thread(target=table.update, args=(own, grad))
    thread.start()
    inside.wait()

    def in_the_child():
        table.update(lodkit.sgd, grad, lr=1.0)
        return table.lookup([1, 2, 3]).tolist() == [[-1], [0], [0]]

    print(in_child(in_the_child))
    leave.set()
    thread.join()
    """
    assert run_threads(code) == ["True"]
