"""lodkit in PyTorch programs: modules, and optimizers for the gradients of their parameters.

Names are imported when they are first used, so that ``import lodkit`` does not import PyTorch.
"""

from __future__ import annotations

import importlib

#: Name -> the module of this package that defines it; None for modules.
_HOMES = {"optim": None, "BagGradient": "bag_gradient", "EmbeddingBag": "modules", "SequencePool": "modules"}


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import torch
    except ImportError as error:
        raise ImportError("lodkit.interop.torch needs PyTorch: pip install torch") from error
    module = importlib.import_module(f".{_HOMES[name] or name}", __name__)
    value = getattr(module, name) if _HOMES[name] else module
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_HOMES})
