"""Modules: imports on first use, between which a process may fork, and the modules that public classes name.

A child that is forked while another thread imports a module would wait for that module's lock for ever.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
import threading
from collections.abc import Callable

from .garbage import uncollected
from .signals import uninterrupted


def public(cls=None, /, *, home="lodkit"):
    """Set ``home`` as the module of a class, so that pickles, reprs and tracebacks name ``lodkit.LoDTensor``.

    Pickles then survive moved files. ``__test__`` tells doctest, which finds classes by module, about the class.
    """
    if cls is None:
        return functools.partial(public, home=home)
    vars(sys.modules[cls.__module__]).setdefault("__test__", {})[cls.__name__] = cls
    cls.__module__ = home
    return cls


lock = threading.RLock()
#: What a fork holds, in this order; what it calls then; and what a child calls. Modules add theirs as they are
#: imported, even while a fork waits for that, which would pass by a hook of their own.
locks: list = [lock]
waits: list[Callable[[], None]] = []
renewals: list[Callable[[], None]] = []
_forking = threading.local()  # the locks taken for a fork: what another signal's handler raises may leave some out


def load(name, package=None):
    """``importlib.import_module``, for which a fork waits.

    What is imported uses ``logging``, whose lock a fork takes before it waits here, unless these hooks are newer: then
    neither would get on. So they are registered again, since to import ``logging`` with lodkit took 2.7 ms.

    Garbage waits: modules stay, and to look for it among those of Numba took 50 of a first call's 420 ms.
    """
    global _knows_logging
    with lock:
        if not _knows_logging:
            import logging  # noqa: F401

            _register()
            _knows_logging = True
        with uncollected():
            return importlib.import_module(name, package)


@functools.cache  # an import statement in a function takes 2 us per call
def module_above(name):
    """Return a module of a room above the caller's, by its name in the package, on first use.

    Rooms import only from rooms below them, and some methods of values are there for users whose work is done above:
    ``LoDTensor.to_arrow`` in ``interop``, ``SelectedRows.merge`` in ``ops``. Such a method forwards to this module.
    """
    return load(f"..{name}", __package__)


def _take_locks():
    """Wait until no thread imports or compiles. Ctrl-C waits: Python would fork in spite of it."""
    taken = _taken_locks()
    with uninterrupted():
        for each in locks:
            each.acquire()
            taken.append(each)
        for wait in waits:
            wait()


def _taken_locks():
    """Locks that this thread has taken for a fork; none if that began before these hooks were registered."""
    return vars(_forking).setdefault("taken", [])


def _return_locks():
    taken = _taken_locks()
    while taken:
        taken.pop().release()


def _start_child():
    for renew in renewals:
        renew()
    _return_locks()


def _register():
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_take_locks, after_in_parent=_return_locks, after_in_child=_start_child)


_knows_logging = "logging" in sys.modules
_register()


def check_interpreter():
    """Raise an ImportError in any interpreter but the main one.

    Numba keeps one state for a process, and a kernel that is called in a sub-interpreter hangs.
    """
    for name in ("_interpreters", "_xxsubinterpreters"):  # of Python 3.13 and later; of those before
        try:
            interpreters = importlib.import_module(name)
        except ImportError:
            continue
        here, main = interpreters.get_current(), interpreters.get_main()
        if here != main:
            raise ImportError(
                "lodkit runs in the main interpreter alone, as Numba does; use a thread or a process in place "
                "of a sub-interpreter"
            )
        return
