"""Imports on first use, between which a process may fork.

A child that is forked while another thread imports a module would wait for that module's lock for ever.
"""

from __future__ import annotations

import importlib
import os
import threading

lock = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)


def load(name, package=None):
    """``importlib.import_module``, for which a fork waits."""
    with lock:
        return importlib.import_module(name, package)
