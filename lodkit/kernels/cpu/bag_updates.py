"""The bag of each id, and its factor in the gradient of ``embedding_bag``."""

from __future__ import annotations

import numpy as np

from ...arrays import compute_dtype
from ...lod.offsets import segment_numbers
from .primitives.gradients import values_grad


def bag_rows(offsets, weights, pool, order, grad):
    """The bag of each id, in this order, and the factor of its gradient; None where all are 1."""
    bag = segment_numbers(offsets)[order]
    if weights is None and pool == "sum":
        return bag, None
    ones = np.ones(len(offsets) - 1, compute_dtype(grad.dtype))
    values = np.empty(len(order), ones.dtype)
    return bag, values_grad(values, None, None, offsets, weights, None, ones, pool)[order]
