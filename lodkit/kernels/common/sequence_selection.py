"""Kernels of lodkit/ops/sequence_selection.py: plans in front of the shared copies of rows.

Numbers that select rows are structure: plans need them on the CPU.
"""

from __future__ import annotations

from ...lod.lod_tensor import LoDTensor
from ...ops import sequence_selection as ops
from ...registry import Dense
from .sequence_plans import plan_select, plan_slice, plan_sort


@ops.sequence_slice.kernel("cpu", "cuda")
def sequence_slice(
    on,
    x: LoDTensor,
    starts: Dense | LoDTensor | None = None,
    stops: Dense | LoDTensor | None = None,
    /,
    *,
    by,
    wrap,
    clip,
    level,
    out=None,
):
    plan = plan_slice(x, on.structure(starts), on.structure(stops), by, wrap, clip, level)
    return on.moved(plan, out)


@ops.sequence_slice_grad.kernel("cpu", "cuda")
def sequence_slice_grad(
    on,
    x: LoDTensor,
    grad: Dense,
    starts: Dense | LoDTensor | None = None,
    stops: Dense | LoDTensor | None = None,
    /,
    *,
    by,
    wrap,
    clip,
    level,
):
    plan = plan_slice(x, on.structure(starts), on.structure(stops), by, wrap, clip, level)
    return on.moved_back(plan, grad)


@ops.sequence_select.kernel("cpu", "cuda")
def sequence_select(on, x: LoDTensor, selected: LoDTensor, /, *, level, out=None):
    return on.moved(plan_select(x, on.structure(selected), level), out)


@ops.sequence_select_grad.kernel("cpu", "cuda")
def sequence_select_grad(on, x: LoDTensor, selected: LoDTensor, grad: Dense, /, *, level):
    return on.moved_back(plan_select(x, on.structure(selected), level), grad)


@ops.sequence_sort.kernel("cpu", "cuda")
def sequence_sort(on, x: LoDTensor, keys: Dense | LoDTensor, /, *, descending, level, out=None):
    return on.moved(plan_sort(x, on.structure(keys), descending, level), out)


@ops.sequence_sort_grad.kernel("cpu", "cuda")
def sequence_sort_grad(on, x: LoDTensor, keys: Dense | LoDTensor, grad: Dense, /, *, descending, level):
    return on.moved_back(plan_sort(x, on.structure(keys), descending, level), grad)
