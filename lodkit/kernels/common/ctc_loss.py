"""Kernels of lodkit/ops/ctc_loss.py: the logarithm of the softmax, then the paths of each sequence."""

from __future__ import annotations

import numpy as np

from ... import ops
from ...arrays import native
from ...lod import LoDTensor
from ...ops.ctc_loss import prepare
from ...ops.sequence_pool import with_outer_levels


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
