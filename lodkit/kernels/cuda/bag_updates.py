"""The bag of each id, and its factor in the gradient of ``embedding_bag``."""

from __future__ import annotations

from ...arrays import compute_dtype
from ...arrays.cuda import convert, fill
from .conversions import segment_numbers
from .primitives.gather import take
from .primitives.gradients import values_grad
from .primitives.offsets import offsets_like


def bag_rows(offsets, weights, pool, order, grad):
    """The bag of each id, in this order, and the factor of its gradient; None where all are 1."""
    offsets = offsets_like(grad, offsets)
    bag = take(segment_numbers(offsets), order)
    if weights is None and pool == "sum":
        return bag, None
    dtype = compute_dtype(grad.dtype)
    ones, values = fill(grad.like((len(offsets),), dtype), 1), grad.like((offsets.rows,), dtype)
    weights = None if weights is None else convert(weights, dtype)
    return bag, take(values_grad(values, None, None, offsets, weights, None, ones, pool), order)
