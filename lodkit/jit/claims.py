"""One process compiles a function; others that ask for it meanwhile wait for its entry in the cache.

Processes that start together, as the workers of a data loader or of pytest do, compile the same functions, each on a
core of its own. Who compiles holds a lock, which the system takes away with the process: nobody waits for the dead.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time

try:
    import fcntl
except ImportError:  # Windows: every process compiles for itself
    fcntl = None  # type: ignore[assignment]

MOST_SECONDS, STEP = 30.0, 0.01  # of a wait, after which a process compiles for itself; between two looks
_thread = threading.local()
_here: set[str] = set()  # paths claimed by this process


@contextlib.contextmanager
def claims():
    """Context at whose end the claims that were made in it are given up."""
    before, _thread.held = getattr(_thread, "held", None), []
    try:
        yield
    finally:
        for path, handle in _thread.held:
            _here.discard(path)
            with contextlib.suppress(OSError):
                os.unlink(path)
            _release(handle)
        _thread.held = before


def _release(handle):
    with contextlib.suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_UN)  # a fork may have the file open, too
    os.close(handle)


def claim(path):
    """Claim an entry, to be compiled. True if another process had claimed it, which may have made it meanwhile."""
    path += ".lock"
    if fcntl is None or getattr(_thread, "held", None) is None or path in _here:
        return False
    handle = None
    with contextlib.suppress(OSError):  # no directory to write to, or a file system without locks
        handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        waited = not _lock(handle)
        if waited and not _wait(handle):
            os.close(handle)
            return True
        _here.add(path)
        _thread.held.append((path, handle))
        return waited
    if handle is not None:
        os.close(handle)
    return False


def _lock(handle):
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait(handle):
    """Wait for a lock. False if it takes too long."""
    end = time.monotonic() + MOST_SECONDS
    while time.monotonic() < end:
        time.sleep(STEP)
        if _lock(handle):
            return True
    return False
