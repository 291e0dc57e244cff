"""``EmbeddingBag`` while torch.export traces: PyTorch's own functions around the custom operator ``embedding_bag``."""

from __future__ import annotations

import torch

from ...ops.embedding import embedding_bag
from .autograd import differentiable
from .bag_inputs import check_pool
from .library import write_call

_IDS = (torch.int64, torch.int32)
# Defines torch.ops.lodkit.embedding_bag.
differentiable(embedding_bag)


def call_in_graph(module, kind, x, offsets, weights):
    """What ``module(x, offsets, weights)`` gives, in a graph; ``kind`` is that of the table's gradient, as of ``Bag``.

    Ids and offsets are checked where the graph runs.
    """
    table = module.weight
    check_pool(weights, module.mode)
    for name, value in (("max_norm", module.max_norm), ("scale_grad_by_freq", module.scale_grad_by_freq or None)):
        if value is not None:
            raise ValueError(f"torch.export takes no {name}={value}; set module.{name} to its default before")
    if not isinstance(x, torch.Tensor) or x.is_nested or x.ndim not in (1, 2) or x.dtype not in _IDS:
        raise TypeError("torch.export takes tensors of int32 or int64 with one or two dimensions as input")
    if x.ndim == 2:
        if offsets is not None:
            raise ValueError("input has two dimensions, one bag a row: offsets must be None then")
        offsets = torch.arange(x.shape[0] + 1, device=x.device) * x.shape[1]
    elif offsets is None:
        raise ValueError("offsets must be a tensor of one dimension where input has one")
    elif not module.include_last_offset:
        offsets = torch.cat([offsets.long(), torch.full((1,), x.shape[0], device=offsets.device)])
    ids, weights = x.reshape(-1), None if weights is None else weights.reshape(-1)
    if module.padding_idx is not None:
        kept = ids != module.padding_idx
        torch._assert_async((offsets.diff() >= 0).all(), "offsets fall, and they never do")
        offsets = torch.nn.functional.pad(kept.cumsum(0), (1, 0)).index_select(0, offsets.long())
        ids, weights = ids[kept], None if weights is None else weights[kept]
    attrs = {"pool": module.mode, "is_sparse": kind in ("sparse", "fused")}
    tensors, call = write_call((table, ids, weights), attrs, {1: offsets.long()})
    return torch.ops.lodkit.embedding_bag(tensors, call)[0]
