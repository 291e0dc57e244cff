"""Caffe2's operators under their own names: ``lodkit.caffe2.SparseLengthsSum(data, indices, lengths)``.

Argument order, argument names, defaults and output order are Caffe2's; so are its conventions: the
optimizers add (``w += lr * ...``, so lr is negative), duplicates are updated one after another, float16
tables give float32. Nothing is computed here: inputs are renamed, reordered and converted, then operators
of ``lodkit.OPS`` run. A module a family. Where Caffe2 is wrong lodkit is right; docs/differences.md lists each case.
"""

from __future__ import annotations

import difflib

from . import (
    _conversions,
    _features,
    _gather_scatter,
    _id_lists,
    _optimizers,
    _padding,
    _quantized,
    _reduce_dims,
    _reductions,
    _sparse_dense,
    _updates,
)
from ._published import published

OPERATORS: dict = {}
for _family in (
    _conversions,
    _features,
    _gather_scatter,
    _id_lists,
    _optimizers,
    _padding,
    _quantized,
    _reduce_dims,
    _reductions,
    _sparse_dense,
    _updates,
):
    OPERATORS |= {name: published(name, run) for name, run in _family.OPERATORS.items()}


def __getattr__(name):
    if name in OPERATORS:
        return OPERATORS[name]
    near = difflib.get_close_matches(name, OPERATORS, n=3)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    raise AttributeError(f"lodkit.caffe2 has no operator {name!r}{hint}")


def __dir__():
    return sorted({*globals(), *OPERATORS})
