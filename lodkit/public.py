"""The public home of a class, whichever file it stands in."""

from __future__ import annotations

import functools
import sys


def public(cls=None, /, *, home="lodkit"):
    """Make ``home`` the module of a class: pickles, reprs and tracebacks say ``lodkit.LoDTensor``.

    Files may move then, and pickles stay readable. doctest looks for classes by their module, so it is told where this
    one stands (``__test__``).
    """
    if cls is None:
        return functools.partial(public, home=home)
    vars(sys.modules[cls.__module__]).setdefault("__test__", {})[cls.__name__] = cls
    cls.__module__ = home
    return cls
