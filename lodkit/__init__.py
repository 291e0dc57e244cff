"""Ragged batches without padding (LoDTensor), sparse table gradients (SelectedRows), and kernels for both."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOMES = {
    "lod_tensor": ("LoDTensor",),
    "selected_rows": ("SelectedRows",),
    "features": ("Features",),
    "minibatches": ("batches", "concat", "split"),
    "_levels": ("check_lod",),
    "arrays": ("empty",),
    "bounds": ("bounds_check",),
    "desc": ("DescError", "LodTensorDesc", "TensorDesc", "VarDesc", "VarType"),
    "kinds": ("Dense",),
    "registry": ("OPS", "op", "run"),
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
        "ShapeMismatchError",
        "UnknownOperatorError",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = ("caffe2", "paddle", "testing")

if TYPE_CHECKING:
    from . import caffe2 as caffe2
    from . import paddle as paddle
    from . import testing as testing
    from ._levels import check_lod as check_lod
    from .arrays import empty as empty
    from .bounds import bounds_check as bounds_check
    from .desc import DescError as DescError
    from .desc import LodTensorDesc as LodTensorDesc
    from .desc import TensorDesc as TensorDesc
    from .desc import VarDesc as VarDesc
    from .desc import VarType as VarType
    from .errors import *  # noqa: F403
    from .features import Features as Features
    from .jit import get_num_threads as get_num_threads
    from .jit import set_num_threads as set_num_threads
    from .jit import warmup as warmup
    from .kinds import Dense as Dense
    from .lod_tensor import LoDTensor as LoDTensor
    from .minibatches import batches as batches
    from .minibatches import concat as concat
    from .minibatches import split as split
    from .ops import *  # noqa: F403
    from .registry import OPS as OPS
    from .registry import op as op
    from .registry import run as run
    from .selected_rows import SelectedRows as SelectedRows
    from .tape import Tape as Tape


if not TYPE_CHECKING:  # a type checker takes a module with __getattr__ to have every name

    def __getattr__(name):
        if name == "__all__":
            return _public()
        if name in _MODULES:
            return importlib.import_module(f".{name}", __name__)
        if name.startswith("_"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name not in _HOME_OF and name not in _public():
            import difflib

            near = difflib.get_close_matches(name, _public(), n=3)
            hint = f"; did you mean {', '.join(near)}?" if near else ""
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
        if name not in _HOME_OF or name in ("OPS", "op", "run"):
            importlib.import_module(".ops", __name__)
        value = getattr(importlib.import_module(f".{_HOME_OF.get(name, 'ops')}", __name__), name)
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *_public()})

    def _public():
        return sorted({*_HOME_OF, *_MODULES, *importlib.import_module(".ops", __name__).__all__})
