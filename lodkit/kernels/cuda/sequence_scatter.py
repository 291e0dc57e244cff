"""CUDA kernels of lodkit/ops/sequence_scatter.py: updates are rows of a SelectedRows over all elements."""

from __future__ import annotations

import numpy as np

from ...arrays import check_gradient, check_values
from ...arrays.cuda import vector
from ...arrays.cuda.elementwise import convert
from ...arrays.cuda.ids import checked_ids
from ...arrays.cuda.launch import cuda, launch
from ...arrays.cuda.memory import view
from ...lod.lod_tensor import LoDTensor
from ...lod.selected_rows import SelectedRows
from ...ops.sequence_scatter import bad_id, check_target, check_updates, sequence_scatter, sequence_scatter_grad
from ...registry import Dense
from ..common.selected_rows import sum_mixed
from .primitives import device
from .primitives.gather import gather
from .primitives.offsets import offsets_like
from .primitives.row_kernels import segment_of


@cuda.jit
def _find_places(ids, offsets, segments, width, n, places):
    i = cuda.grid(1)
    while i < n:
        places[i] = segment_of(offsets, segments, i) * width + vector.number(ids, i)
        i += cuda.gridsize(1)


def _places(x, ids):
    """Which of all elements of x each id points to."""
    width = x.shape[1]
    # In every mode of bounds_check: an id of another row's element would be taken for that.
    numbers = checked_ids(ids.values, width, "ids", lambda found, at: bad_id(found, width, at), always=True)
    offsets, places = offsets_like(numbers, ids.row_offsets()).offsets, numbers.like(numbers.shape, np.int64)
    launch(_find_places, len(numbers), numbers, offsets, len(offsets) - 1, width, len(numbers), places)
    return places


def _elements(x):
    return x.reshape(x.shape[0] * x.shape[1], *x.shape[2:])


@sequence_scatter.kernel("cuda")
def scatter(x: Dense, ids: LoDTensor, updates: LoDTensor, /):
    x = view(x)
    check_target(x, ids)
    check_updates(x, ids, updates, view(updates.values).dtype)
    flat, places = _elements(x), _places(x, ids)
    value = view(updates.values).reshape(len(places), *x.shape[2:])
    out = sum_mixed(device, flat, SelectedRows._wrap(places, value, len(flat)))
    return out.reshape(*x.shape).array


@sequence_scatter_grad.kernel("cuda")
def gather_updates(x: Dense, ids: LoDTensor, updates: LoDTensor, grad: Dense, /):
    x, grad = view(x), view(grad)
    check_target(x, ids)
    check_updates(x, ids, updates, view(updates.values).dtype)
    check_values(x.dtype, "the gradient", floating=True)
    flow, places = convert(check_gradient(grad, x.shape), x.dtype), _places(x, ids)
    out = x.like(updates.shape)
    gather(_elements(flow), places, None, out)
    return out.array
