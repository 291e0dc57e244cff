"""Ragged batches without padding (LoDTensor), sparse table gradients (SelectedRows), and kernels for both."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOMES = {
    "lod.lod_tensor": ("LoDTensor",),
    "lod.rank_table": ("RankTable",),
    "lod.selected_rows": ("SelectedRows",),
    "lod.batching": ("batches", "concat", "split"),
    "lod.levels": ("check_lod",),
    "features.features": ("Features",),
    "recurrent.dynamic_rnn": ("dynamic_rnn",),
    "recurrent.layers": ("bidirectional", "stacked"),
    "tables.growing": ("GrowingTable",),
    "arrays": ("empty",),
    "arrays.bounds": ("bounds_check",),
    "registry": ("Dense", "OPS", "op", "run"),
    "registry.desc": ("DescError", "LodTensorDesc", "TensorDesc", "VarDesc", "VarType"),
    "registry.tape": ("Tape",),
    "registry.recording": ("stop_gradient",),
    "registry.warmup": ("warmup",),
    "storage": ("StorageError", "load", "save"),
    "jit": ("get_num_threads", "set_num_threads"),
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
_MODULES = ("caffe2", "interop", "optim", "paddle", "testing")

if TYPE_CHECKING:
    from . import caffe2 as caffe2
    from . import interop as interop
    from . import optim as optim
    from . import paddle as paddle
    from . import testing as testing
    from .arrays import empty as empty
    from .arrays.bounds import bounds_check as bounds_check
    from .errors import *  # noqa: F403
    from .features.features import Features as Features
    from .jit import get_num_threads as get_num_threads
    from .jit import set_num_threads as set_num_threads
    from .lod import LoDTensor as LoDTensor
    from .lod import RankTable as RankTable
    from .lod import SelectedRows as SelectedRows
    from .lod import check_lod as check_lod
    from .lod.batching import batches as batches
    from .lod.batching import concat as concat
    from .lod.batching import split as split
    from .ops import *  # noqa: F403
    from .recurrent.dynamic_rnn import dynamic_rnn as dynamic_rnn
    from .recurrent.layers import bidirectional as bidirectional
    from .recurrent.layers import stacked as stacked
    from .registry import OPS as OPS
    from .registry import Dense as Dense
    from .registry import DescError as DescError
    from .registry import LodTensorDesc as LodTensorDesc
    from .registry import TensorDesc as TensorDesc
    from .registry import VarDesc as VarDesc
    from .registry import VarType as VarType
    from .registry import op as op
    from .registry import run as run
    from .registry.recording import stop_gradient as stop_gradient
    from .registry.tape import Tape as Tape
    from .registry.warmup import warmup as warmup
    from .storage import StorageError as StorageError
    from .storage import load as load
    from .storage import save as save
    from .tables.growing import GrowingTable as GrowingTable


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
        if name not in _HOME_OF or name in ("OPS", "op", "run", "warmup"):
            importlib.import_module(".ops", __name__)
        value = getattr(importlib.import_module(f".{_HOME_OF.get(name, 'ops')}", __name__), name)
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *_public()})

    def _public():
        return sorted({*_HOME_OF, *_MODULES, *importlib.import_module(".ops", __name__).__all__})
