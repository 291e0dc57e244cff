"""The autograd function of ``SequencePool``."""

from __future__ import annotations

import typing

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from ...errors import LoDError
from ...lod import LoDTensor, values_of
from ...lod.levels import from_offsets
from ...ops.sequence_pool import Pool as _Pool
from ...ops.sequence_pool import above, sequence_pool, sequence_pool_grad

POOLS = typing.get_args(_Pool)


class Pool(torch.autograd.Function):
    """``apply(values, levels, attrs)``: a row for each sequence."""

    @staticmethod
    def forward(ctx, values, levels, attrs):
        out = _numbers(values_of(sequence_pool(LoDTensor._wrap(_array(values), levels), **attrs)))
        ctx.constants = levels, attrs
        out = out.to(values.dtype)
        ctx.save_for_backward(values, out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        values, out = ctx.saved_tensors
        levels, attrs = ctx.constants
        kept = {name: attrs[name] for name in ("pool", "level")}
        x = LoDTensor._wrap(_array(values), levels)
        by_values = sequence_pool_grad(x, _array(out), _array(grad), **kept)
        return _numbers(by_values.values).to(values.dtype), None, None


_numbers = torch.from_numpy


def _array(x):
    """The values for kernels; of bfloat16, which they lack, in float32."""
    x = x.detach()
    return (x.float() if x.dtype is torch.bfloat16 else x).numpy()


def pooled(x, offsets, pool, level, pad_value):
    """``sequence_pool`` of what ``SequencePool.forward`` takes."""
    values, levels = _parts(x, offsets)
    shape = LoDTensor._wrap(values, levels)
    number = shape._level(level)
    out = Pool.apply(values, levels, {"pool": pool, "level": level, "pad_value": pad_value})
    return above(shape, number, out)


def _parts(x, offsets):
    """Values as a tensor, and checked levels."""
    structured = isinstance(x, LoDTensor) or (isinstance(x, torch.Tensor) and x.is_nested)
    if structured and offsets is not None:
        raise ValueError(f"x, a {type(x).__name__}, has offsets of its own; leave out offsets")
    if isinstance(x, LoDTensor):
        if x.values is None:
            raise ValueError("x is structure without values; set them with set_values")
        return torch.as_tensor(x.values), x._lod
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"x must be a LoDTensor, a nested tensor, or a tensor with offsets, got {type(x).__name__}")
    if x.is_nested:
        if x.layout is not torch.jagged or x.lengths() is not None or x._ragged_idx != 1:
            raise LoDError("x must be a jagged nested tensor without holes, ragged along dimension 1")
        x, offsets = x.values(), x.offsets()
    if offsets is None:
        raise ValueError("a tensor of rows needs offsets: where each sequence starts, and where the last one ends")
    levels = from_offsets([np.asarray(torch.as_tensor(offsets))])
    if levels[-1][-1] != len(x):
        raise LoDError(f"offsets end at {levels[-1][-1]}, and x has {len(x)} rows; the last offset is their number")
    return x, levels
