"""Kernels of lodkit/ops/sequence_attention.py."""

from __future__ import annotations

from ... import ops
from ...arrays import native
from ...lod import LoDTensor
from ...ops.sequence_attention import prepare


@ops.sequence_attention.kernel("cpu", "cuda")
def sequence_attention(
    on, query: LoDTensor, key: LoDTensor, value: LoDTensor, /, *, num_heads, causal, scale, level, out=None
):
    offsets, heads, scale = prepare(query, key, value, num_heads, scale, level)
    out = on.output(value.values.shape, native(value.values.dtype), out, value.values)
    if out.size:
        inputs = query.values, key.values, value.values
        on.sequence_attention.attend(*inputs, offsets, heads, scale, causal, out)
    return value.with_values(out)


@ops.sequence_attention_grad.kernel("cpu", "cuda")
def sequence_attention_grad(
    on, query: LoDTensor, key: LoDTensor, value: LoDTensor, grad, /, *, num_heads, causal, scale, level
):
    offsets, heads, scale = prepare(query, key, value, num_heads, scale, level, grad)
    inputs = query.values, key.values, value.values
    outputs = tuple(on.output(x.shape, native(x.dtype), None, x) for x in inputs)
    if any(out.size for out in outputs):
        on.sequence_attention.attend_grad(*inputs, grad, offsets, heads, scale, causal, outputs)
    return outputs
