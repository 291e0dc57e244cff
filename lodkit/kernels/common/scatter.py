"""Kernels of lodkit/ops/scatter.py: of several updates for one place, the last one stays."""

from __future__ import annotations

from ... import ops
from ...ops.scatter import prepare_assign, prepare_scatter, prepare_scatter_grad


@ops.scatter_assign.kernel("cpu", "cuda")
def scatter_assign(on, data, ids, slices, /):
    given, ids = ids, prepare_assign(on, data, ids, slices)
    on.refuse_overlap("data", data, (given, slices))
    if ids.ndim != 1:
        ids, slices = ids.reshape(-1), slices.reshape(ids.size, *data.shape[1:])
    on.scatter.put_last(ids, slices, data)
    return data


@ops.scatter.kernel("cpu", "cuda")
def scatter(on, data, ids, updates, /, *, axis, out=None):
    dtype, ids, axis = prepare_scatter(on, data, ids, updates, axis)
    out = on.copy_elements(data, on.output(data.shape, dtype, out, data))
    on.scatter.put_last(on.scatter.places(ids, data.shape, axis), updates.reshape(-1), out.reshape(-1))
    return out


@ops.scatter_grad.kernel("cpu", "cuda")
def scatter_grad(on, data, ids, grad, /, *, axis):
    dtype, ids, axis = prepare_scatter_grad(on, data, ids, grad, axis)
    by_data = on.convert(grad, dtype, new=True)
    by_updates = on.scatter.take_last(by_data.reshape(-1), on.scatter.places(ids, data.shape, axis))
    return by_data, by_updates.reshape(*ids.shape)
