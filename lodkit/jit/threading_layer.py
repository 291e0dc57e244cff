"""Let threads share a kernel's call where the threading layer allows it.

Numba's workqueue layer aborts the process if two threads enter it at once, GNU OpenMP kills a child forked after it
started, and TBB hangs in a child forked out of a parallel region. Parallel regions of other Numba code in the same
process are not covered.
"""

from __future__ import annotations

import contextlib
import ctypes
import operator
import os
import sys
import threading
import types

import numba
from numba import config

from ..base import loading
from .prange import share_next_call, share_no_call
from .private_numba import compiler_lock, renew_llvm_lock, set_thread_count, thread_count, wait_for_llvm

#: The most threads that a kernel may use: what ``set_num_threads`` sets. A thread may have a lower bound of its own.
limits = types.SimpleNamespace(threads=config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
SPINS = "GOMP_SPINCOUNT"


def _layer():
    """Name of the threading layer; None before it has started."""
    try:
        return numba.threading_layer()
    except ValueError:
        return None


class _Process:
    """State of the threads of one process; a forked child creates its own, with a free lock."""

    def __init__(self, forked):
        self.lock = threading.Lock()
        self.layer = None
        self.inside = []  # one item per thread in parallel code
        left_inside = any(parent.inside for parent in _processes.values())
        self.serial_only = forked and (_layer() == "omp" or (_layer() == "tbb" and left_inside))

    def launch(self):
        """Start the layer, once. A thread that calls meanwhile does not wait, and gets None."""
        if not self.lock.acquire(blocking=False):
            return None
        try:
            if self.layer is None:
                _preload_tbb()
                with compiler_lock, _short_spins():
                    numba.get_num_threads()
                self.layer = _layer()
        finally:
            self.lock.release()
        return self.layer


_processes = {}
_processes[os.getpid()] = _Process(forked=False)


def _process():
    pid = os.getpid()
    return _processes.get(pid) or _processes.setdefault(pid, _Process(forked=True))


def run(function, args):
    """Call a function, whose kernel threads share if that is safe and there are any."""
    if limits.threads < 2 or config.DISABLE_JIT:
        return function(*args)
    process = _processes.get(os.getpid()) or _process()
    if process.serial_only or not (process.layer or process.launch()):
        return function(*args)
    here = thread_count()
    threads = min(here, limits.threads)
    if threads < 2:
        return function(*args)
    alone = process.layer == "workqueue"
    if alone and not process.lock.acquire(blocking=False):
        return function(*args)
    process.inside.append(None)
    try:
        share_next_call(threads)
        # A signal's handler has forked: the child has no threads.
        if _processes.get(os.getpid()) is not process:
            share_no_call()
        return function(*args)
    finally:
        process.inside.pop()
        if alone:
            process.lock.release()
        share_no_call()
        if threads < here:
            # OpenMP and TBB tell each thread of a team how many threads there are.
            set_thread_count(here)


def set_num_threads(n: int) -> None:
    """Let every parallel kernel, and every matrix product of an operator or a gradient, use at most ``n`` threads.

    ``numba.set_num_threads`` in the calling thread is a further bound. Products are NumPy's: where its BLAS is
    OpenBLAS, each takes the threads that it is worth, one for less than 8 million multiplications. NumPy's products
    elsewhere keep theirs.
    """
    if not hasattr(n, "__index__"):
        raise TypeError(f"the number of threads must be an integer, got {n!r:.200}")
    n = operator.index(n)
    most: int = config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    if not 1 <= n <= most:
        raise ValueError(f"the number of threads must be from 1 to {most} (NUMBA_NUM_THREADS), got {n}")
    limits.threads = n


def get_num_threads() -> int:
    """Return the number of threads that a parallel kernel would use if called from this thread now."""
    process = _process()
    if process.serial_only:
        return 1
    here = thread_count() if process.layer else limits.threads
    return max(1, min(limits.threads, here))


def start() -> str | None:
    """Start the threading layer unless it runs, and return its name; None where kernels run serially."""
    process = _process()
    return None if limits.threads < 2 or process.serial_only else process.layer or process.launch()


@contextlib.contextmanager
def _short_spins():
    """Let threads of GNU OpenMP spin for 0.1 ms until they sleep, which it reads from the environment as it is loaded.

    By default they spin for 7 ms, in which another process, or OpenBLAS, waits for their cores. Those that sleep at
    once take 1.3 to 1.6 times as long for kernels of 10 to 60 us (znver4).
    """
    if os.environ.keys() & {"OMP_WAIT_POLICY", SPINS}:
        yield
        return
    os.environ[SPINS] = "4000"
    try:
        yield
    finally:
        os.environ.pop(SPINS, None)


def _preload_tbb():
    """Load TBB from where pip installs it, where Numba does not search."""
    for prefix in (sys.prefix, sys.base_prefix):
        for name in ("libtbb.so.12", "libtbb.12.dylib"):
            path = os.path.join(prefix, "lib", name)
            if os.path.exists(path):
                with contextlib.suppress(OSError):
                    ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
                    return


# A child would wait for ever for the lock of a thread that compiles. One that a signal's handler forks as a call begins
# has not got the threads to share it.
loading.locks.append(compiler_lock)
loading.waits.append(wait_for_llvm)
loading.renewals.extend((share_no_call, renew_llvm_lock))
