"""Meaning of every operator: signature, documentation, definition, infer rule, gradient. One module per family.

Importing this package imports every family and exports its operators; of an operator and a family of one name, the
operator. Type checkers read ``__init__.pyi``, which an installation makes.
"""

import importlib
import os

from .. import tape
from ..registry import OPS

# pkgutil takes 3 ms to import.
for _file in sorted(os.listdir(__path__[0])):
    if _file.endswith(".py") and not _file.startswith("_"):
        importlib.import_module(f"{__name__}.{_file[:-3]}")

__all__ = sorted(name for name, op in OPS.items() if op.definition.__module__.startswith(f"{__name__}."))
globals().update((name, OPS[name]) for name in __all__)
