"""A frame of the paths of CTC, as a step over vectors, for both devices: logarithms of probabilities, in float64.

A sequence of n labels has n + 1 blanks around them. State j of the blanks, and state j + 1 of the labels, which label j
has, are computed together: both are reached from blank j and label j - 1.
"""

from __future__ import annotations

from ...jit import jitable, simd

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
