"""Ragged batches without padding (LoDTensor), sparse table gradients (SelectedRows), and kernels for both."""

from __future__ import annotations

import builtins

from .base import loading
from .base.loading import check_interpreter

__version__ = "0.2.0rc1"
check_interpreter()

_HOMES = {
    "lod.lod_tensor": ("LoDTensor",),
    "lod.rank_table": ("RankTable",),
    "lod.selected_rows": ("SelectedRows",),
    "lod.packed_rows": ("PackedRows",),
    "lod.batching": ("batches", "concat", "split"),
    "lod.levels": ("check_lod",),
    "lod.vocabulary": ("UnknownWordError", "Vocabulary", "vocabulary"),
    "models.features": ("Features",),
    "models.embedding_bags": ("embedding_bags", "update_embedding_bags"),
    "models.dynamic_rnn": ("dynamic_rnn",),
    "models.recurrent_layers": ("bidirectional", "stacked"),
    "models.growing_table": ("GrowingTable",),
    "arrays.numpy_arrays": ("empty",),
    "arrays.bounds": ("bounds_check",),
    "registry": ("Dense", "OPS", "op", "run"),
    "registry.searching": ("search",),
    "registry.wire": ("DescError",),
    "registry.desc": ("LodTensorDesc", "TensorDesc", "VarDesc", "VarType"),
    "tape": ("Tape", "parameter", "stop_gradient"),
    "registry.warmup": ("warmup",),
    "models.storage": ("StorageError", "load", "save"),
    "jit.threading_layer": ("get_num_threads", "set_num_threads"),
    "base.errors": (
        "DTypeError",
        "DeviceError",
        "LoDError",
        "LoDLevelError",
        "LoDMismatchError",
        "LodkitError",
        "NoKernelError",
        "OutputError",
        "RowIndexError",
        "SegmentIdError",
        "ShapeMismatchError",
        "SizeError",
        "UnknownOperatorError",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
#: What pickles call, by its name here.
_RESTORERS = {"_restore_lod_tensor": "lod.lod_tensor", "_restore_selected_rows": "lod.selected_rows"}
_MODULES = ("caffe2", "distributed", "interop", "optim", "paddle", "plot", "testing", "typing")


def __getattr__(name):
    if name == "__all__":
        # Not the names of Python's functions, abs and sum, and of its module typing: lodkit.sum is there.
        return [name for name in _public() if not hasattr(builtins, name) and name != "typing"]
    if name in _MODULES:
        return loading.load(f".{name}", __name__)
    if name in _RESTORERS:
        return getattr(loading.load(f".{_RESTORERS[name]}", __name__), name)
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name not in _HOME_OF and name not in _public():
        hint = loading.load(".registry.searching", __name__).suggest_names(name, _public())
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    if name not in _HOME_OF or name in ("OPS", "Tape", "op", "run", "search", "warmup"):
        loading.load(".ops", __name__)
    value = getattr(loading.load(f".{_HOME_OF.get(name, 'ops')}", __name__), name)
    globals()[name] = value
    return value


def __dir__():
    """List every name: those of operators too, which are imported for it."""
    own = {name for name in globals() if name.startswith("__")}  # not what this module imports
    return sorted({*own, *_public()})


def _public():
    return sorted({*_HOME_OF, *_MODULES, *loading.load(".ops", __name__).__all__})
