"""What every operator means: signature, documentation, definition, infer rule, gradient. One module per family.

Importing this package imports every family and exports its operators; of an operator and a family of one name, the
operator. Type checkers read ``__init__.pyi``, which docs/generate_operators.py writes.
"""

import importlib
import pkgutil

from ..registry import OPS

for _family in pkgutil.iter_modules(__path__, f"{__name__}."):
    importlib.import_module(_family.name)

__all__ = sorted(name for name, op in OPS.items() if op.definition.__module__.startswith(f"{__name__}."))
globals().update((name, OPS[name]) for name in __all__)
