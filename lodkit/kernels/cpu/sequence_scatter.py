"""CPU kernels of lodkit/ops/sequence_scatter.py: updates are rows of a SelectedRows over all elements."""

from __future__ import annotations

from ... import arrays
from ...arrays import check_gradient, check_values, matrix
from ...arrays.ids import checked_ids
from ...jit import settings
from ...lod.lod_tensor import LoDTensor
from ...lod.selected_rows import SelectedRows
from ...ops.sequence_scatter import bad_id, check_target, check_updates, sequence_scatter, sequence_scatter_grad
from ...registry import Dense
from ..common.selected_rows import sum_mixed
from .primitives import device
from .primitives.gather import gather_kernel


def _places(x, ids):
    """Which of all elements of x each id points to."""
    n = x.shape[1]
    return ids.segment_ids() * n + checked_ids(ids.values, n, "ids", lambda numbers, at: bad_id(numbers, n, at))


def _elements(x):
    return x.reshape(x.shape[0] * x.shape[1], *x.shape[2:])


@sequence_scatter.kernel("cpu")
def scatter(x: Dense, ids: LoDTensor, updates: LoDTensor, /):
    check_target(x, ids)
    check_updates(x, ids, updates, updates.dtype)
    flat, places = _elements(x), _places(x, ids)
    value = updates.values.reshape(len(places), *x.shape[2:])
    return sum_mixed(device, flat, SelectedRows._wrap(places, value, len(flat))).reshape(x.shape)


@sequence_scatter_grad.kernel("cpu")
def gather_updates(x: Dense, ids: LoDTensor, updates: LoDTensor, grad: Dense, /):
    check_target(x, ids)
    check_updates(x, ids, updates, updates.dtype)
    dtype = check_values(x.dtype, "the gradient", floating=True)
    flow, places = _elements(check_gradient(grad, x.shape).astype(dtype, copy=False)), _places(x, ids)
    out = arrays.output(updates.shape, dtype)
    gather_kernel(out.size, matrix(flow), places, -1, settings.chunk_rows, matrix(out))
    return out
