"""Public module names of classes."""

from __future__ import annotations

import functools
import sys


def public(cls=None, /, *, home="lodkit"):
    """Set ``home`` as the module of a class, so that pickles, reprs and tracebacks name ``lodkit.LoDTensor``.

    Pickles then survive moved files. ``__test__`` tells doctest, which finds classes by module, about the class.
    """
    if cls is None:
        return functools.partial(public, home=home)
    vars(sys.modules[cls.__module__]).setdefault("__test__", {})[cls.__name__] = cls
    cls.__module__ = home
    return cls
