"""Gather rows by index (Caffe2's Gather on axis 0)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..arrays import integers
from ..lod_tensor import values_of
from ..registry import Dense, op
from ..selected_rows import SelectedRows
from .embedding import lookup_table, lookup_table_grad


@op(rowwise=("ids",))
def gather(data: Dense, ids: Dense, /, *, axis: Literal[0] = 0, wrap: bool = False) -> Dense:
    """Return ``data[ids]``: a row for every id, in the shape (or the structure) of the ids.

    Negative ids count from the end with ``wrap``, and are refused without.

    >>> gather(np.array([10, 20, 30]), [[2, 0]])
    array([[30, 10]])
    """
    return lookup_table.definition(data, wrapped(ids, len(data), wrap))


def wrapped(ids, height, wrap):
    """Ids that count from the end, counted from the start; those before the start stay as they are."""
    ids = integers(ids, "ids")
    return np.where((ids < 0) & (ids >= -height), ids + height, ids) if wrap else ids


@gather.infer_rule
def _(data, ids, *, axis=0, wrap=False):
    return lookup_table.infer_function(data, ids)


@gather.gradient
def _(call, grad):
    data, ids = call.inputs
    return gather_grad(data, values_of(ids), grad, wrap=call.attrs["wrap"])


@op
def gather_grad(data: Dense, ids: Dense, grad: Dense, /, *, wrap: bool = False) -> SelectedRows:
    """Return the gradient of ``gather``: SelectedRows with a row for every id, duplicates kept.

    >>> gather_grad(np.zeros((3, 1)), np.array([2, 2]), np.array([[1.], [5.]]))
    SelectedRows(rows=[2, 2], value=[[1.], [5.]], height=3)
    """
    return lookup_table_grad.definition(data, wrapped(ids, len(data), wrap), grad)


@gather_grad.infer_rule
def _(data, ids, grad, *, wrap=False):
    return lookup_table_grad.infer_function(data, ids, grad)


@gather.example
def _(dtype):
    return lookup_table.example_function(dtype)


@gather_grad.example
def _(dtype):
    return [(inputs, {}) for inputs, attrs in lookup_table_grad.example_function(dtype) if attrs["is_sparse"]]
