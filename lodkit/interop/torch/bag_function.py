"""The autograd function of ``EmbeddingBag``: lodkit's kernels forward and backward, a table's gradient of three kinds.

Its overhead matters: ten bags take 3 us in the kernel. What backward reads of the table is saved only where it is read.
"""

from __future__ import annotations

import functools

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from ...arrays import upcast
from ...arrays.tensors import plain_array_of
from ...kernels.cpu.primitives import device as cpu
from ...lod import SelectedRows
from ...ops.embedding import embedding_bag_weights_grad
from .bag_gradient import BagGradient
from .operands import array, bits, tensor

_numbers = torch.from_numpy


def _table(weight):
    """The table for kernels."""
    found = plain_array_of(weight.detach())
    return bits(weight, "the table") if found is None else found


def factors_of(weights):
    """Weights of the ids for kernels."""
    return None if weights is None else bits(weights, "per_sample_weights")


def reduce_bags(weight, weights, bags, mode):
    """The bags of a table, as a tensor that records nothing.

    By the kernel's function, as the operator would call it: ten bags are to take no microsecond more.
    """
    table, ids = _table(weight), cpu.integers(bags._values, "ids")
    out = cpu.reduce_into(table, ids, factors_of(weights), None, bags._lod[-1], mode, 0.0, unchecked=True)
    return tensor(out)


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
    rows = differentiate_rows(weight, shape, bags, factors, plain, mode, kind == "sparse")
    if kind != "sparse":
        return rows_to_dense(bags._values, rows, shape, kind == "frequency", grad.dtype), by_weights, None
    ids = _numbers(bags._values.reshape(1, -1))
    return torch.sparse_coo_tensor(ids, rows, shape, check_invariants=False), by_weights, None


_backward_once = once_differentiable(_backward)


def differentiate_weights(weight, bags, factors, grad, mode):
    """The gradient of the weights of ids, a tensor of one dimension."""
    found = embedding_bag_weights_grad(_table(weight), bags, bits(grad, "the gradient"), factors, pool=mode)
    return tensor(found).to(weight.dtype)


def differentiate_rows(weight, shape, bags, factors, grad, mode, rounds=True):
    """The gradient of a table of that shape, as a tensor of a row for each id; ``weight`` is read with mode max.

    Unless it ``rounds``, sums and means of halves are in float32: those are added up first.
    """
    given = bits(grad, "the gradient")
    if weight is None:
        given = given if rounds else upcast(given)
    table = _nothing(shape, given.dtype) if weight is None else _table(weight)
    return tensor(cpu.values_grad(table, bags._values, None, bags._lod[-1], factors, None, given, mode))


@functools.lru_cache(64)
def _nothing(shape, dtype):
    """An array like the table without memory: sums and means read none of its values backward."""
    return np.broadcast_to(np.zeros((), dtype), shape)


def rows_to_dense(ids, rows, shape, by_frequency, dtype):
    """The gradient as a dense tensor: of halves summed in float32; each row divided by how often its id occurs."""
    exact = torch.float32 if rows.dtype.itemsize == 2 else rows.dtype
    found = SelectedRows._wrap(ids.view(), array(rows.to(exact)), shape[0]).to_dense()
    if by_frequency:
        kept, counts = np.unique(ids, return_counts=True)
        found[kept] /= counts.reshape(-1, 1).astype(found.dtype)
    return _numbers(found).to(dtype)
