"""Operators, modules and optimizers for PyTorch: what lodkit computes, differentiated by torch.autograd.

``lodkit.interop.torch.<operator>`` is there for every operator with a gradient; see ``autograd``. PyTorch is imported
with this package, each module on first use. Where PyTorch is there already, ``torch.load`` takes files with LoDTensors,
SelectedRows and PackedRows of tensors from here on.
"""

from __future__ import annotations

import importlib
import sys

#: Name -> module of this package that defines it; None for modules themselves. The registry lists the operators.
_HOMES = {
    "autograd": None,
    "library": None,
    "optim": None,
    "BagGradient": "bag_gradient",
    "EmbeddingBag": "modules",
    "SequencePool": "modules",
    "collate": "batches",
    "differentiable": "autograd",
    "embedding_bags": "many_tables",
    "keyed": "nested",
    "ragged": "nested",
}


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import torch
    except ImportError as error:
        raise ImportError("lodkit.interop.torch needs PyTorch: pip install lodkit[torch]") from error
    allow_loading(torch)
    if name in _HOMES:
        module = importlib.import_module(f".{_HOMES[name] or name}", __name__)
        value = getattr(module, name) if _HOMES[name] else module
        globals()[name] = value
        return value
    found = importlib.import_module(".autograd", __name__).operator(name)
    if found.differentiates.definition.__module__.startswith("lodkit."):  # no other module can define it anew
        globals()[name] = found
    return found


def __dir__():
    from ... import ops
    from ...registry import OPS

    return sorted({*globals(), *_HOMES, *(name for name, op in OPS.items() if op.gradient_rule)})


def allow_loading(torch):
    """Let ``torch.load(weights_only=True)`` make lodkit's values: their parts are checked, and nothing else runs."""
    from ...lod.lod_tensor import _restore_lod_tensor
    from ...lod.packed_rows import PackedRows
    from ...lod.selected_rows import _restore_selected_rows

    torch.serialization.add_safe_globals([_restore_lod_tensor, _restore_selected_rows, PackedRows])


if "torch" in sys.modules and hasattr(sys.modules["torch"], "serialization"):
    allow_loading(sys.modules["torch"])
