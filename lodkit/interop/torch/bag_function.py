"""The autograd function of ``EmbeddingBag``: lodkit's kernels forward and backward, a table's gradient of three kinds.

Its overhead matters: ten bags take 3 us in the kernel. What backward reads of the table is saved only where it is read.
"""

from __future__ import annotations

import functools

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from ...arrays.ids import checked_ids
from ...arrays.tensors import check_storage, plain_array_of
from ...kernels.cpu.primitives import device as cpu
from ...lod import SelectedRows
from ...ops.embedding import embedding_bag_weights_grad
from .bag_gradient import BagGradient
from .operands import array

_numbers = torch.from_numpy


def _table(weight, ids):
    """The table and the ids for kernels: of bfloat16, which they lack, a float32 table of the rows that are read."""
    if weight.dtype is not torch.bfloat16:
        found = plain_array_of(weight.detach())
        return array(weight, "the table") if found is None else found, ids
    check_storage(weight, "the table")
    rows = weight.detach()[_numbers(np.array(checked_ids(ids, len(weight))))]
    return array(rows), np.arange(len(rows))


def factors_of(weights):
    """Weights of the ids for kernels."""
    return None if weights is None else array(weights, "per_sample_weights")


def reduce_bags(weight, weights, bags, mode):
    """The bags of a table, as a tensor that records nothing.

    By the kernel's function, as the operator would call it: ten bags are to take no microsecond more.
    """
    table, ids = _table(weight, bags._values)
    ids = cpu.integers(ids, "ids")
    out = cpu.reduce_into(table, ids, factors_of(weights), None, bags._lod[-1], mode, 0.0, unchecked=True)
    out = _numbers(out)
    return out if out.dtype is weight.dtype else out.to(weight.dtype)


class Bag(torch.autograd.Function):
    """``apply(weight, weights, (bags, mode, kind))``; the bags' ids are nobody else's.

    ``kind`` of the table's gradient: "dense", "frequency" (dense, divided by how often an id occurs), "sparse" (COO,
    not coalesced: accumulating drops the flag, and optimizers coalesce again) or "fused" (a ``BagGradient``).
    """

    @staticmethod
    def forward(ctx, weight, weights, call):
        bags, mode, _ = call
        out, ctx.call, ctx.shape = reduce_bags(weight, weights, bags, mode), call, weight.shape
        ctx.saved = weights is not None or mode == "max"
        if ctx.saved:
            ctx.save_for_backward(weights, weight if mode == "max" or ctx.needs_input_grad[1] else None)
        return out

    @staticmethod
    def backward(ctx, grad):
        return (_backward_once if torch.is_grad_enabled() else _backward)(ctx, grad)


def _backward(ctx, grad):
    (bags, mode, kind), shape = ctx.call, ctx.shape
    # Raises if one was written since.
    weights, weight = ctx.saved_tensors if ctx.saved else (None, None)
    factors, by_weights = factors_of(weights), None
    plain = grad.detach() if grad.requires_grad else grad
    wanted = ctx.needs_input_grad
    if wanted[1]:
        by_weights = differentiate_weights(weight, bags, factors, plain, mode)
    if not wanted[0]:
        return None, by_weights, None
    if kind == "fused":
        return BagGradient.of(shape, bags, plain, factors, mode), by_weights, None
    rows = differentiate_rows(weight, shape, bags, factors, plain, mode)
    if kind != "sparse":
        return rows_to_dense(bags._values, rows, shape, kind == "frequency"), by_weights, None
    ids = _numbers(bags._values.reshape(1, -1))
    return torch.sparse_coo_tensor(ids, rows, shape, check_invariants=False), by_weights, None


_backward_once = once_differentiable(_backward)


def differentiate_weights(weight, bags, factors, grad, mode):
    """The gradient of the weights of ids, a tensor of one dimension."""
    table, ids = _table(weight, bags._values)
    found = embedding_bag_weights_grad(table, bags._like(ids), array(grad, "the gradient"), factors, pool=mode)
    return _numbers(found).to(weight.dtype)


def differentiate_rows(weight, shape, bags, factors, grad, mode):
    """The gradient of a table of that shape, as a tensor of a row for each id; ``weight`` is read with mode max."""
    given = array(grad, "the gradient")
    table, ids = (_nothing(shape, given.dtype), bags._values) if weight is None else _table(weight, bags._values)
    rows = _numbers(cpu.values_grad(table, ids, None, bags._lod[-1], factors, None, given, mode))
    return rows if rows.dtype is grad.dtype else rows.to(grad.dtype)


@functools.lru_cache(64)
def _nothing(shape, dtype):
    """An array like the table without memory: sums and means read none of its values backward."""
    return np.broadcast_to(np.zeros((), dtype), shape)


def rows_to_dense(ids, rows, shape, by_frequency):
    """The gradient as a dense tensor: of halves summed in float32; each row divided by how often its id occurs."""
    exact = torch.float32 if rows.dtype.itemsize == 2 else rows.dtype
    found = SelectedRows._wrap(ids.view(), array(rows.to(exact)), shape[0]).to_dense()
    if by_frequency:
        kept, counts = np.unique(ids, return_counts=True)
        found[kept] /= counts.reshape(-1, 1).astype(found.dtype)
    return _numbers(found).to(rows.dtype)
