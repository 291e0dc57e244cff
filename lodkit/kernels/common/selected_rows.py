"""Kernels of lodkit/ops/selected_rows.py: sort, then reduce each run of equal rows."""

from __future__ import annotations

import numpy as np

from ...arrays import compute_dtype
from ...lod import LoDTensor, SelectedRows
from ...ops import selected_rows as ops
from ...registry import Dense
from .optimizer_rules import sgd_rule
from .updates import update

_ADD = sgd_rule(lr=-1.0)


@ops.merge_selected_rows.kernel("cpu", "cuda")
def merge_selected_rows(on, x: SelectedRows, /):
    return on.merge_rows(x)


@ops.selected_rows_to_dense.kernel("cpu", "cuda")
def selected_rows_to_dense(on, x: SelectedRows, /):
    return on.dense_rows(x)


@ops.get_tensor_from_selected_rows.kernel("cpu")
@ops.get_tensor_from_selected_rows.kernel("cuda")
def get_tensor_from_selected_rows(x: SelectedRows, /):
    return x.value


@ops.shape.kernel("cpu")
@ops.shape.kernel("cuda")
def shape(x: Dense | LoDTensor | SelectedRows, /):
    return ops.shape_of(x)


def _append_rows(on, xs):
    return SelectedRows._wrap(on.join_rows([x._rows for x in xs]), on.join_rows([x.value for x in xs]), xs[0].height)


@ops.sum.kernel("cpu", "cuda")
def sum_selected(on, *xs: SelectedRows):
    ops.check_alike(xs)
    return _append_rows(on, xs)


@ops.sum.kernel("cpu", "cuda")
def sum_dense(on, *xs: Dense):
    dtype = ops.check_alike(xs)
    total = on.total(xs, compute_dtype(dtype))
    return total if total.dtype == dtype else on.convert(total, dtype)


@ops.sum.kernel("cpu", "cuda")
def sum_mixed(on, *xs: Dense | SelectedRows):
    dtype = ops.check_alike(xs)
    # Halves are rounded once, at the end.
    total = on.total([x for x in xs if not isinstance(x, SelectedRows)], compute_dtype(dtype))
    sparse = _append_rows(on, [x for x in xs if isinstance(x, SelectedRows)])
    value = on.convert(sparse.value, total.dtype)
    merged = on.merge_rows(SelectedRows._wrap(sparse._rows, value, sparse.height))
    on.add_rows(merged._rows, merged.value, total)
    if total.dtype == dtype:
        return total
    with np.errstate(over="ignore"):
        return on.convert(total, dtype)


@ops.gather_selected_rows.kernel("cpu", "cuda")
def gather_selected_rows(on, x, ids, /, *, absent, padding_idx):
    ids = ops.prepare_rows(on, x, ids, padding_idx)
    merged, flat = on.merge_rows(x), ids.reshape(-1)
    at = on.selected_rows.find(flat, merged._rows)
    if absent == "raise":
        bad = on.selected_rows.find_between(at, -1, 0)
        ops.refuse_absent(on.read(on.take_rows(flat, bad)), on.read(bad), padding_idx)
    place = -1
    if padding_idx is not None:
        place = on.read(on.selected_rows.find(on.send(x.value, np.array([padding_idx])), merged._rows)).item()
    found = on.take_rows(merged.value, at) if place < 0 else on.gather(merged.value, at, place)
    return found.reshape(*ids.shape, *x.shape[1:])


@ops.add_selected_rows.kernel("cpu", "cuda")
def add_selected_rows(on, dense, x, /):
    ops.check_sum(dense, x)
    update(on, "add_selected_rows", _ADD, dense, x)
    return dense
