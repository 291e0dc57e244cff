"""lodkit in PyTorch programs: modules, and optimizers for the gradients of their parameters.

Names are imported when they are first used, so that ``import lodkit`` does not import PyTorch.
"""

from __future__ import annotations

import importlib
import typing

#: Name -> the module of this package that has it.
_HOMES = {"EmbeddingBag": "modules", "SequencePool": "modules", "BagGradient": "bag_gradient"}
_MODULES = ("optim",)

if typing.TYPE_CHECKING:
    from . import optim as optim
    from .bag_gradient import BagGradient as BagGradient
    from .modules import EmbeddingBag as EmbeddingBag
    from .modules import SequencePool as SequencePool


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = found
    return found


def __dir__():
    return sorted({*globals(), *_HOMES, *_MODULES})
