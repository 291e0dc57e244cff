"""Kernels that are a plan for a device's copies of rows: the same on every device, so they are written once.

``rows`` is the device's module ``primitives.copy_by_plan``. Numbers that select rows are structure: plans need them on
the CPU.
"""

from __future__ import annotations

from ...lod.lod_tensor import LoDTensor
from ...ops import sequence_selection as ops
from ...registry import Dense
from .sequence_plans import plan_select, plan_slice, plan_sort


def selection_kernels(device, rows):
    """Register sequence_slice, sequence_select and sequence_sort, and their gradients."""

    @ops.sequence_slice.kernel(device)
    def slice_sequences(
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
        plan = plan_slice(x, rows.structure(starts), rows.structure(stops), by, wrap, clip, level, rows.array)
        return rows.moved(plan, out)

    @ops.sequence_slice_grad.kernel(device)
    def slice_grad(
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
        plan = plan_slice(x, rows.structure(starts), rows.structure(stops), by, wrap, clip, level, rows.array)
        return rows.moved_back(plan, grad)

    @ops.sequence_select.kernel(device)
    def select(x: LoDTensor, selected: LoDTensor, /, *, level, out=None):
        return rows.moved(plan_select(x, rows.structure(selected), level, rows.array), out)

    @ops.sequence_select_grad.kernel(device)
    def select_grad(x: LoDTensor, selected: LoDTensor, grad: Dense, /, *, level):
        return rows.moved_back(plan_select(x, rows.structure(selected), level, rows.array), grad)

    @ops.sequence_sort.kernel(device)
    def sort(x: LoDTensor, keys: Dense | LoDTensor, /, *, descending, level, out=None):
        return rows.moved(plan_sort(x, rows.structure(keys), descending, level, rows.array), out)

    @ops.sequence_sort_grad.kernel(device)
    def sort_grad(x: LoDTensor, keys: Dense | LoDTensor, grad: Dense, /, *, descending, level):
        return rows.moved_back(plan_sort(x, rows.structure(keys), descending, level, rows.array), grad)
