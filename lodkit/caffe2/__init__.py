"""Caffe2's operators under their own names: ``lodkit.caffe2.SparseLengthsSum(data, indices, lengths)``.

Argument order and names, defaults and output order are Caffe2's; so are its conventions: optimizers add
(``w += lr * ...``, so lr is negative), duplicates are updated sequentially, float16 tables give float32.
Nothing is computed here: inputs are renamed, reordered and converted, then operators of ``lodkit.OPS`` run.
One module per family. docs/differences.md lists Caffe2's bugs, which lodkit does not repeat.
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
