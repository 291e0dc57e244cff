"""Kernels of lodkit/ops/crf.py."""

from __future__ import annotations

import numpy as np

from ... import ops
from ...arrays import native
from ...lod import LoDTensor
from ...ops.crf import prepare
from ...ops.sequence_pool import with_outer_levels


@ops.linear_chain_crf.kernel("cpu", "cuda")
def linear_chain_crf(on, emission: LoDTensor, transition, label: LoDTensor, /, *, level):
    values = emission.values
    offsets, labels = prepare(on, "linear_chain_crf", emission, transition, label, level)
    losses = on.zeros((len(offsets) - 1,), native(values.dtype), values)
    if values.size:
        on.crf.losses(values, transition, labels, offsets, losses)
    return with_outer_levels(emission, level, losses)


@ops.linear_chain_crf_grad.kernel("cpu", "cuda")
def linear_chain_crf_grad(on, emission: LoDTensor, transition, label: LoDTensor, grad, /, *, level):
    values = emission.values
    offsets, labels = prepare(on, "linear_chain_crf", emission, transition, label, level, grad)
    by_emission, by_transition = (on.zeros(x.shape, native(values.dtype), values) for x in (values, transition))
    if values.size:
        on.crf.gradients(values, transition, labels, grad, offsets, by_emission, by_transition)
    return by_emission, by_transition


@ops.crf_decoding.kernel("cpu", "cuda")
def crf_decoding(on, emission: LoDTensor, transition, label: LoDTensor | None, /, *, level):
    values = emission.values
    offsets, labels = prepare(on, "crf_decoding", emission, transition, label, level)
    path = on.output((len(values),), np.int64, None, values)
    if values.size:
        on.crf.decode(values, transition, labels, offsets, path)
    return emission.with_values(path)
