"""Kernels: ``cpu`` and ``cuda`` have the file names of ``lodkit/ops``; ``common`` serves both."""

from __future__ import annotations

import importlib.util
import sys

from ..base.loading import load, lock


def importing(module, homes):
    """Make the ``__getattr__`` of a device's module: names are imported when they are first used.

    ``homes`` lists names by the module of ``primitives`` that they stand in (of a family with a leading dot); other
    names are modules of families.
    """
    home_of = {name: home for home, names in homes.items() for name in names}
    package = module.rpartition(".")[0]

    def get(name):
        with lock:  # to look for a module imports its package
            if name in home_of:
                value = getattr(load(f".{home_of[name]}", package), name)
            elif not name.startswith("_") and importlib.util.find_spec(f"..{name}", package):
                value = load(f"..{name}", package)
            else:
                raise AttributeError(f"module {module!r} has no attribute {name!r}")
            setattr(sys.modules[module], name, value)
        return value

    return get
