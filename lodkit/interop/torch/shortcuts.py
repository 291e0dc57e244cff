"""Gradients of bags in fewer steps, to the same bits.

A call of 10 bags is done before a kernel is looked up; a large one is written into memory of PyTorch's, which reuses
what the last step has freed.
"""

from __future__ import annotations

import numpy as np
import torch

from ...jit import settings
from ...kernels.cpu.primitives.gradient_kernels import factors, spread
from .operands import PLAIN, RAGGED, array

#: Numbers of a gradient up to which NumPy copies rows faster than a kernel is started.
FEW = 1 << 14
_KINDS = (torch.float32, torch.float64)
_ATTRS = {"pool", "pad_value"}  # others change more than the factor of a bag


def bags(step, saved, grad):
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
    if table.dtype not in _KINDS or table.is_cuda:
        return None
    rows = array(grad)
    if ids.numel() * rows.size >= FEW * len(offsets):
        values = _many(rows, pool, offsets, ids.numel(), table)
        return torch.sparse_coo_tensor(ids.clone().unsqueeze(0), values, table.shape, check_invariants=False)
    if pool == "mean":
        rows = rows * factors(pool, offsets, None, rows.dtype).reshape(-1, *[1] * (rows.ndim - 1))
    values = torch.from_numpy(np.repeat(rows, offsets[1:] - offsets[:-1], axis=0))
    return torch.sparse_coo_tensor(ids.clone().unsqueeze(0), values, table.shape, check_invariants=False)


def _many(rows, pool, offsets, count, table):
    """A row for each id by the kernel, in a tensor."""
    values = torch.empty((count, *table.shape[1:]), dtype=table.dtype)
    made = values.numpy().reshape(count, -1)
    rows = np.ascontiguousarray(rows).reshape(len(rows), -1)
    scale = factors(pool, offsets, None, rows.dtype)
    spread(made.size, rows, scale, rows[:0, 0], offsets, settings.chunk_rows, made)
    return values


SHORTCUTS = {"embedding_bag": bags}
