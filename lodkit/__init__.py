"""Ragged batches without padding (LoDTensor), sparse table gradients (SelectedRows), and kernels for both."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOMES = {
    "lod_tensor": ("LoDTensor",),
    "selected_rows": ("SelectedRows",),
    "minibatches": ("batches", "concat"),
    "arrays": ("empty",),
    "desc": ("DescError", "LodTensorDesc", "TensorDesc", "VarDesc", "VarType"),
    "registry": ("Dense", "op", "run"),
    "tape": ("Tape",),
    "jit": ("get_num_threads", "set_num_threads", "warmup"),
    "errors": (
        "DTypeError",
        "DeviceError",
        "LoDError",
        "LoDLevelError",
        "LoDMismatchError",
        "LodkitError",
        "NoKernelError",
        "RowIndexError",
        "SegmentIdError",
        "UnknownOperatorError",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = ("caffe2", "paddle")

if TYPE_CHECKING:
    from . import caffe2, paddle
    from .arrays import empty
    from .desc import DescError, LodTensorDesc, TensorDesc, VarDesc, VarType
    from .errors import (
        DeviceError,
        DTypeError,
        LoDError,
        LodkitError,
        LoDLevelError,
        LoDMismatchError,
        NoKernelError,
        RowIndexError,
        SegmentIdError,
        UnknownOperatorError,
    )
    from .jit import get_num_threads, set_num_threads, warmup
    from .lod_tensor import LoDTensor
    from .minibatches import batches, concat
    from .ops import *  # noqa: F403
    from .registry import OPS, Dense, op, run
    from .selected_rows import SelectedRows
    from .tape import Tape


if not TYPE_CHECKING:  # a type checker takes a module with __getattr__ to have every name

    def __getattr__(name):
        if name in _MODULES:
            return importlib.import_module(f".{name}", __name__)
        if name in _HOME_OF:
            if name == "run":
                importlib.import_module(".ops", __name__)
            value = getattr(importlib.import_module(f".{_HOME_OF[name]}", __name__), name)
        elif name.startswith("_"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        else:
            ops = importlib.import_module(".ops", __name__)
            registry = importlib.import_module(".registry", __name__)
            if name == "OPS":
                value = registry.OPS
            elif name in ops.__all__:
                value = getattr(ops, name)
            else:
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__():
        ops = importlib.import_module(".ops", __name__)
        return sorted({*globals(), *_HOME_OF, *_MODULES, *ops.__all__, "OPS"})
