"""Sub-interpreters are refused: Numba keeps one state for a process, and a kernel called in another one hangs."""

from __future__ import annotations

import importlib


def check_interpreter():
    """Raise an ImportError in any interpreter but the main one."""
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
