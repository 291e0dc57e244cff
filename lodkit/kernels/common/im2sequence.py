"""Kernels of lodkit/ops/im2sequence.py."""

from __future__ import annotations

from ... import ops
from ...ops.im2sequence import prepare, sequences_of


@ops.im2sequence.kernel("cpu", "cuda")
def im2sequence(on, x, /, *, kernels, strides, paddings, out=None):
    dtype, grid, shape = prepare(x, kernels, strides, paddings)
    out = on.output(shape, dtype, out, x)
    if out.size:
        on.im2sequence.cut(x, grid, out)
    return sequences_of(out, len(x), grid.windows)


@ops.im2sequence_grad.kernel("cpu", "cuda")
def im2sequence_grad(on, x, grad, /, *, kernels, strides, paddings):
    dtype, grid, _ = prepare(x, kernels, strides, paddings, grad)
    return on.im2sequence.put_back(on.convert(grad, dtype), grid, x)
