"""Gradients of small calls in fewer steps, to the same bits: a call of 10 bags is done before a kernel is looked up."""

from __future__ import annotations

import numpy as np
import torch

from ...kernels.cpu.primitives.gradient_kernels import factors
from .operands import PLAIN, RAGGED, array

#: Numbers of a gradient up to which NumPy copies rows faster than a kernel is started.
FEW = 1 << 14
_KINDS = (torch.float32, torch.float64)
_ATTRS = {"pool", "pad_value"}  # others change more than the factor of a bag


def few_bags(step, saved, grad):
    """The sparse gradient of a table by ``embedding_bag`` of sums and means, or None for other calls.

    Each id's row is that of its bag, times 1 or 1/n, as the kernel multiplies.
    """
    frames, attrs = step.frames, step.attrs
    if len(frames) != 2 or frames[0][0] != PLAIN or frames[1][0] != RAGGED or not attrs.keys() <= _ATTRS:
        return None
    table, ids = saved
    pool, levels = attrs.get("pool", "sum"), frames[1][1][0]
    if pool not in ("sum", "mean") or len(levels) != 1 or ids.ndim != 1 or ids.dtype is not torch.int64:
        return None
    offsets = levels[0]
    if table.dtype not in _KINDS or table.is_cuda or ids.numel() * grad.numel() >= FEW * len(offsets):
        return None
    rows = array(grad)
    if pool == "mean":
        rows = rows * factors(pool, offsets, None, rows.dtype).reshape(-1, *[1] * (rows.ndim - 1))
    values = torch.from_numpy(np.repeat(rows, offsets[1:] - offsets[:-1], axis=0))
    return torch.sparse_coo_tensor(ids.clone().unsqueeze(0), values, table.shape, check_invariants=False)


SHORTCUTS = {"embedding_bag": few_bags}
