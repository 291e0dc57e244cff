"""Parallel code is entered only where the threading layer survives it; elsewhere its serial twin runs.

Numba's workqueue layer aborts the process when two threads enter it at once, GNU OpenMP kills a child that
was forked after it started, and TBB is of no use in one that was forked out of a parallel region. Not seen
from here: parallel regions of other Numba code in the same process.
"""

from __future__ import annotations

import contextlib
import ctypes
import operator
import os
import sys
import threading

import numba
from numba import config

from .private_numba import compiler_lock, set_thread_count, thread_count

_limit: int = config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]


def _layer():
    """Return the threading layer that has started here, if one has."""
    try:
        return numba.threading_layer()
    except ValueError:
        return None


class _Process:
    """What one process knows of its threads; a forked child makes one afresh, with a free lock."""

    def __init__(self, forked):
        self.lock = threading.Lock()
        self.layer = None
        self.inside = []  # an item for each thread that runs parallel code
        left_inside = any(parent.inside for parent in _processes.values())
        self.serial_only = forked and (_layer() == "omp" or (_layer() == "tbb" and left_inside))

    def launch(self):
        """Start the layer, once; a thread that comes meanwhile does not wait, and gets None."""
        if not self.lock.acquire(blocking=False):
            return None
        try:
            if self.layer is None:
                _preload_tbb()
                with compiler_lock:
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


def run(serial, parallel, args):
    """Call the parallel twin where that is safe and there are threads for it, else the serial one."""
    if _limit < 2 or parallel is serial:
        return serial(*args)
    process = _process()
    if process.serial_only or not (process.layer or process.launch()):
        return serial(*args)
    here, limit = thread_count(), _limit
    if here < 2:
        return serial(*args)
    alone = process.layer == "workqueue"
    if alone and not process.lock.acquire(blocking=False):
        return serial(*args)
    process.inside.append(None)
    try:
        if limit < here:
            set_thread_count(limit)
        return parallel(*args)
    finally:
        if limit < here:
            set_thread_count(here)
        process.inside.pop()
        if alone:
            process.lock.release()


def set_num_threads(n):
    """Let every parallel kernel of this process use at most ``n`` threads; with 1 the serial twins run.

    What ``numba.set_num_threads`` allows the calling thread bounds it as well.
    """
    global _limit
    n = operator.index(n)
    if not 1 <= n <= config.NUMBA_NUM_THREADS:
        raise ValueError(
            f"the number of threads must be from 1 to {config.NUMBA_NUM_THREADS} (NUMBA_NUM_THREADS), got {n}"
        )
    _limit = n


def get_num_threads():
    """Return how many threads a parallel kernel would use if this thread called it now."""
    process = _process()
    if process.serial_only:
        return 1
    here = thread_count() if process.layer else _limit
    return max(1, min(_limit, here))


def _preload_tbb():
    """Load TBB from where pip puts it, which is no place that Numba's own search knows."""
    for prefix in (sys.prefix, sys.base_prefix):
        for name in ("libtbb.so.12", "libtbb.12.dylib"):
            path = os.path.join(prefix, "lib", name)
            if os.path.exists(path):
                with contextlib.suppress(OSError):
                    ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
                    return


# A child forked while another thread compiles would wait for ever for that thread's lock.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=compiler_lock.acquire,
        after_in_parent=compiler_lock.release,
        after_in_child=compiler_lock.release,
    )
