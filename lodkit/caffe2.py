"""Caffe2's operators under their own names: ``lodkit.caffe2.SparseLengthsSum(data, indices, lengths)``.

Argument order, argument names, defaults and output order are Caffe2's; so are its conventions: the
optimizers add (``w += lr * ...``, so lr is negative), duplicates are updated one after another, float16
tables give float32. Nothing is computed here: inputs are renamed, reordered and converted, then operators
of ``lodkit.OPS`` run. Where Caffe2 is wrong lodkit is right; docs/differences.md lists each case.
"""

from __future__ import annotations

import difflib

import numpy as np

from . import ops
from .arrays import native
from .lod_tensor import LoDTensor
from .selected_rows import SelectedRows

REDUCTIONS = {"Sum": ("sum", False), "Mean": ("mean", False), "Max": ("max", False), "WeightedSum": ("sum", True)}
FUSED = ("Sum", "Mean", "WeightedSum")


def _only(name, **fixed):
    """Refuse arguments that this operator of Caffe2 has, and whose effect is not there yet."""
    for argument, (value, neutral) in fixed.items():
        if value != neutral:
            raise ValueError(f"{name}: {argument}={value!r} is not supported, only {neutral!r}")


def _lengths(reduce, weighted):
    def run_weighted(data, weights, lengths, *, grad_on_weights=0):
        return ops.segment_reduce(data, lengths, weights, reduce=reduce, dtype=_float32(data))

    def run(data, lengths):
        return ops.segment_reduce(data, lengths, reduce=reduce, dtype=_float32(data))

    return run_weighted if weighted else run


def _sparse_lengths(reduce, weighted):
    def run_weighted(data, weights, indices, lengths, *, grad_on_weights=0):
        return ops.embedding_bag(data, LoDTensor(indices, [lengths]), weights, pool=reduce, dtype=_float32(data))

    def run(data, indices, lengths):
        return ops.embedding_bag(data, LoDTensor(indices, [lengths]), pool=reduce, dtype=_float32(data))

    return run_weighted if weighted else run


def _float32(data):
    return "float32" if hasattr(data, "dtype") and native(data.dtype) == np.float16 else None


def gather(data, indices, *, axis=0, wrap_indices=None):
    return ops.gather(data, indices, axis=axis, wrap=wrap_indices is None or bool(wrap_indices))


def lengths_to_segment_ids(lengths):
    return ops.lengths_to_segment_ids(lengths).astype(np.int32)


def segment_ids_to_lengths(segment_ids, like=None):
    ids = np.asarray(segment_ids).reshape(-1)
    return ops.segment_ids_to_lengths(ids, num_segments=None if like is None else len(like)).astype(np.int32)


def adagrad(param, moment, grad, lr, *, epsilon=1e-5, decay=1.0, weight_decay=0.0):
    _only("Adagrad", decay=(decay, 1.0), weight_decay=(weight_decay, 0.0))
    return ops.adagrad(param, grad, moment, lr=_negative(lr), epsilon=float(epsilon))


def sparse_adagrad(param, moment, indices, grad, lr, *, epsilon=1e-5, decay=1.0, weight_decay=0.0):
    _only("SparseAdagrad", decay=(decay, 1.0), weight_decay=(weight_decay, 0.0))
    rows = SelectedRows(np.asarray(indices).reshape(-1), grad, len(param))
    return ops.adagrad(param, rows, moment, lr=_negative(lr), epsilon=float(epsilon), duplicates="sequential")


def _negative(lr):
    return np.negative(np.asarray(lr, np.float64))


OPERATORS = {
    **{f"Lengths{name}": _lengths(*reduction) for name, reduction in REDUCTIONS.items()},
    **{f"SparseLengths{name}": _sparse_lengths(*REDUCTIONS[name]) for name in FUSED},
    "Gather": gather,
    "LengthsToSegmentIds": lengths_to_segment_ids,
    "SegmentIdsToLengths": segment_ids_to_lengths,
    "Adagrad": adagrad,
    "SparseAdagrad": sparse_adagrad,
}
for _name, _run in OPERATORS.items():
    _run.__name__ = _run.__qualname__ = _name
    _run.__doc__ = _run.__doc__ or f"Caffe2's {_name}; arguments in Caffe2's order, under Caffe2's names."


def __getattr__(name):
    if name in OPERATORS:
        return OPERATORS[name]
    near = difflib.get_close_matches(name, OPERATORS, n=3)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    raise AttributeError(f"lodkit.caffe2 has no operator {name!r}{hint}")


def __dir__():
    return sorted({*globals(), *OPERATORS})
