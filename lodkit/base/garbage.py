"""Work during which Python looks for no cycles of garbage."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
from collections.abc import Iterator

_lock = threading.Lock()
_inside, _thresholds = 0, gc.get_threshold()


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Context without automatic garbage collection, for work that makes many objects which live until its end.

    By the threshold of the youngest generation, which is 0 until the last thread leaves: ``gc.isenabled``, and what
    other threads make of it, stays as it is.
    """
    global _inside, _thresholds
    with _lock:
        if not _inside:
            _thresholds = gc.get_threshold()
            gc.set_threshold(0)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside = max(_inside - 1, 0)
            if not _inside:
                _restore()


def _restore():
    if gc.get_threshold()[0] == 0:  # nobody else has set it meanwhile
        gc.set_threshold(*_thresholds)


def _renew_in_child():
    """Collect again in a process that was forked while another thread was inside, which it does not have."""
    global _inside, _lock
    _lock = threading.Lock()
    if _inside:
        _inside = 0
        _restore()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_in_child)
