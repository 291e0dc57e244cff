"""Kernels of lodkit/ops/sequence_conv.py."""

from __future__ import annotations

from ... import ops
from ...arrays import check_gradient, native
from ...lod import LoDTensor
from ...ops.sequence_conv import check_conv, check_row_conv


@ops.sequence_conv.kernel("cpu", "cuda")
def sequence_conv(on, x: LoDTensor, filter, padding, /, *, context_start, context_length, out=None):
    values = x.values
    start = check_conv(values, filter, padding, context_start, context_length)
    out = on.output((len(values), filter.shape[1]), native(values.dtype), out, values)
    on.sequence_conv.convolve(values, filter, padding, x._row_offsets(), start, context_length, out)
    return x.with_values(out)


@ops.sequence_conv_grad.kernel("cpu", "cuda")
def sequence_conv_grad(on, x: LoDTensor, filter, grad, padding, /, *, context_start, context_length):
    start = check_conv(x.values, filter, padding, context_start, context_length)
    check_gradient(grad, (len(x.values), filter.shape[1]))
    return on.sequence_conv.convolve_grad(x.values, filter, padding, x._row_offsets(), start, context_length, grad)


@ops.row_conv.kernel("cpu", "cuda")
def row_conv(on, x: LoDTensor, filter, /, *, out=None):
    values = x.values
    check_row_conv(values, filter)
    out = on.output(values.shape, native(values.dtype), out, values)
    on.sequence_conv.look_ahead(values, filter, x._row_offsets(), out)
    return x.with_values(out)


@ops.row_conv_grad.kernel("cpu", "cuda")
def row_conv_grad(on, x: LoDTensor, filter, grad, /):
    check_row_conv(x.values, filter)
    check_gradient(grad, x.values.shape)
    return on.sequence_conv.look_back(x.values, filter, x._row_offsets(), grad)
