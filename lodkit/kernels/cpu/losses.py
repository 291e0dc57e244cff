"""CPU part of lodkit/ops/losses.py: binary cross entropy in one pass."""

from __future__ import annotations

from ...arrays import native
from ...jit import jitable, simd
from .primitives.map_numbers import map_numbers


@jitable(inline=True)
def _log1p(x):
    """``log(1 + x)`` of numbers that are not negative: what 1 + x rounds off, its logarithm gets back."""
    one = simd.add(x, simd.like(x, 1.0))
    added = simd.sub(one, simd.like(x, 1.0))
    large = simd.zero_unless_positive(simd.mul(simd.log(one), simd.div(x, added)), added)
    return simd.add(large, simd.sub(x, simd.zero_unless_positive(x, added)))


@jitable
def _cross_entropy(x, label):
    less = simd.minimum(x, simd.sub(simd.like(x, 0.0), x))
    loss = simd.sub(simd.zero_unless_positive(x, x), simd.mul(x, label))
    return simd.add(loss, _log1p(simd.exp(less)))


@jitable
def _logit_grad(x, label, grad):
    return simd.mul(grad, simd.sub(simd.sigmoid(x), label))


def _like(logits, labels):
    """Labels, of which 0 and 1 may be integers, in the type of the logits."""
    return labels if labels.dtype.kind == "f" else labels.astype(native(logits.dtype))


def binary_cross_entropy(logits, labels):
    return map_numbers(_cross_entropy, logits, _like(logits, labels))


def binary_cross_entropy_grad(logits, labels, grad):
    """The gradient by the logits."""
    return map_numbers(_logit_grad, logits, _like(logits, labels), grad)


@jitable
def _label_grad(x, grad):
    return simd.mul(simd.mul(simd.like(x, -1.0), x), grad)


def labels_grad(logits, grad):
    """The gradient of binary cross entropy by the labels."""
    return map_numbers(_label_grad, logits, grad)
