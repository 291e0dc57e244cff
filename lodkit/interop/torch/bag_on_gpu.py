"""``EmbeddingBag`` of a table on a GPU: the operator and its gradient, and what the module does around them."""

from __future__ import annotations

import numpy as np
import torch

from ...arrays.tensors import numbers_of
from ...lod import LoDTensor
from ...lod.levels import freeze
from ...lod.offsets import lengths_to_offsets
from ...ops.embedding import embedding_bag
from .autograd import differentiable
from .bag_inputs import bags_of, renorm, weights_of

_bags = differentiable(embedding_bag)


def call_on_gpu(module, kind, x, offsets, weights):
    """What ``module(x, offsets, weights)`` gives; ``kind`` is that of the table's gradient, as of ``Bag``.

    Offsets are copied to the CPU, where structure is; ids stay where they are.
    """
    table = module.weight
    if kind == "fused":
        raise TypeError(f"the table is on {table.device}; fused=True runs on the CPU, make the module with sparse=True")
    bags = bags_of(x, offsets, module.include_last_offset, like=table)
    if weights is not None:
        weights = weights_of(weights, x, bags, table.dtype)
    if module.max_norm is not None and len(bags._values):
        renorm(table, bags._values.long(), module.max_norm, module.norm_type)
    if module.padding_idx is not None:
        bags, weights = _without(bags, weights, module.padding_idx)
    if kind != "sparse":
        table = _DenseGradient.apply(table, bags._values if kind == "frequency" else None)
    out = _bags(table, LoDTensor._wrap(bags._values, bags._lod[-1:]), weights, pool=module.mode)
    return out if len(bags._lod) == 1 else LoDTensor._wrap(out, bags._lod[:-1])


def _without(bags, weights, padding_idx):
    """Bags and weights without the ids that are ``padding_idx``."""
    kept = bags._values != padding_idx
    before = lengths_to_offsets(numbers_of(kept).astype(np.int64))
    levels = (*bags._lod[:-1], freeze(before[bags._lod[-1]]))
    return LoDTensor._wrap(bags._values[kept], levels), None if weights is None else weights[kept]


class _DenseGradient(torch.autograd.Function):
    """The table itself, whose gradient becomes dense; with ids, each row divided by how often its id occurs."""

    @staticmethod
    def forward(ctx, table, ids):
        ctx.ids = None if ids is None else ids.clone()
        return table.view_as(table)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.to_dense()
        if ctx.ids is not None:
            counts = torch.bincount(ctx.ids, minlength=len(grad)).clamp_(min=1)
            grad = grad / counts.to(grad.dtype).unsqueeze(1)
        return grad, None
