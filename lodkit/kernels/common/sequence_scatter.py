"""Kernels of lodkit/ops/sequence_scatter.py: updates are rows of a SelectedRows over all elements."""

from __future__ import annotations

from ... import ops
from ...lod import LoDTensor, SelectedRows
from ...ops.sequence_scatter import prepare, prepare_grad
from .padded_runs import flat
from .selected_rows import sum_mixed


@ops.sequence_scatter.kernel("cpu", "cuda")
def sequence_scatter(on, x, ids: LoDTensor, updates: LoDTensor, /):
    prepare(x, ids, updates)
    elements, places = flat(x), on.sequence_scatter.places(ids, x.shape[1])
    value = updates.values.reshape(len(places), *x.shape[2:])
    rows = SelectedRows._wrap(places, value, len(elements))
    return sum_mixed(on, elements, rows).reshape(*x.shape)


@ops.sequence_scatter_grad.kernel("cpu", "cuda")
def sequence_scatter_grad(on, x, ids: LoDTensor, updates: LoDTensor, grad, /):
    dtype = prepare_grad(x, ids, updates, grad)
    places = on.sequence_scatter.places(ids, x.shape[1])
    return on.gather(flat(on.convert(grad, dtype)), places, None).reshape(updates.shape)
