"""Kernels of lodkit/ops/ctc_loss.py: the logarithm of the softmax, then the paths of each sequence.

A frame of the paths is a step over vectors, for both devices: logarithms of probabilities, in float64. A sequence of n
labels has n + 1 blanks around them. State j of the blanks, and state j + 1 of the labels, which label j has, are
computed together: both are reached from blank j and label j - 1.
"""

from __future__ import annotations

import numpy as np

from ... import ops
from ...arrays import native
from ...jit import jitable, simd
from ...lod import LoDTensor
from ...ops.ctc_loss import prepare
from ...ops.sequence_pool import with_outer_levels

# Above -inf, and below any sum of logarithms that a batch has room for.
LOWEST_LOG = -1e300


@jitable(inline=True)
def log_add(a, b):
    """``log(exp(a) + exp(b))``; -inf of two -inf, NaN propagates."""
    top = simd.maximum(a, b)
    less = simd.sub(simd.minimum(a, b), simd.maximum(top, simd.like(top, LOWEST_LOG)))
    return simd.add(top, simd.log(simd.add(simd.exp(less), simd.like(top, 1.0))))


@jitable(inline=True)
def step(blank, label_before, label, skip):
    """The paths to a blank and to the label behind it, before the frame's own logarithms are added.

    ``skip`` is 0 where the label may follow the one before without a blank, -inf where they are equal.
    """
    reached = log_add(blank, label_before)
    return reached, log_add(label, simd.maximum(blank, simd.add(reached, skip)))


def _log_softmax(on, logits):
    """Of each frame, in float32 at least."""
    x = on.to_contiguous(on.convert(logits, np.promote_types(native(logits.dtype), np.float32)))
    logs, (frames, classes) = on.output(x.shape, x.dtype, None, x), x.shape
    on.softmax_rows(x.reshape(x.size), np.arange(frames + 1) * classes, True, logs.reshape(x.size))
    return logs


@ops.ctc_loss.kernel("cpu", "cuda")
def ctc_loss(on, logits: LoDTensor, labels: LoDTensor, /, *, blank, norm_by_times, zero_infinity, level, out=None):
    offsets, bounds, numbers = prepare(on, logits, labels, blank, level)
    out = on.output((len(offsets) - 1,), native(logits.values.dtype), out, logits.values)
    if len(out):
        logs = _log_softmax(on, logits.values)
        losses = on.ctc_loss.losses(logs, offsets, numbers, bounds, blank, norm_by_times is True, zero_infinity)
        with np.errstate(over="ignore"):
            on.copy_elements(losses, out)
    return with_outer_levels(logits, level, out)


@ops.ctc_loss_grad.kernel("cpu", "cuda")
def ctc_loss_grad(on, logits: LoDTensor, labels: LoDTensor, grad, /, *, blank, norm_by_times, level):
    offsets, bounds, numbers = prepare(on, logits, labels, blank, level, grad)
    if not logits.values.size:
        return logits.with_values(on.output(logits.values.shape, native(logits.values.dtype), None, logits.values))
    logs = _log_softmax(on, logits.values)
    grad = on.to_contiguous(on.convert(grad, logs.dtype))
    result = on.ctc_loss.gradient(logs, offsets, numbers, bounds, blank, grad, bool(norm_by_times))
    return logits.with_values(on.convert(result, native(logits.values.dtype)))
