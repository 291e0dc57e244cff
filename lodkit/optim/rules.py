"""The optimizers: a class for each operator of ``lodkit.ops`` that has a record.

Type checkers read ``rules.pyi``, which docs/generate_stubs.py writes.
"""

from __future__ import annotations

import types

from .. import ops
from ..registry import OPS
from .optimizer import Optimizer


def _make_class(op):
    """The class of an operator."""
    record = op.definition.optimizer
    settings = {"op": op.name, "flags": dict(record.flags), **record.class_defaults}
    return types.new_class(record.title, (Optimizer,), settings, lambda body: body.update(__doc__=record.summary))


_CLASSES = [_make_class(OPS[name]) for name in ops.__all__ if hasattr(OPS[name].definition, "optimizer")]
__all__ = sorted(made.__name__ for made in _CLASSES)
globals().update((made.__name__, made) for made in _CLASSES)
