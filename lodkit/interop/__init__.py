"""Values of other libraries: Arrow, JAX, SciPy, PyTorch. A module is imported on first use, and its library with it."""

import importlib
from typing import TYPE_CHECKING

_MODULES = ("arrow", "coo", "jax", "scipy", "torch")


if TYPE_CHECKING:
    from . import arrow, coo, jax, scipy, torch
else:
    # A type checker would take it for a definition of any name.

    def __getattr__(name):
        if name in _MODULES:
            return importlib.import_module(f".{name}", __name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
