"""CPU part of lodkit/ops/sequence_structure.py."""

from __future__ import annotations

import itertools

import numpy as np

from ...lod.offsets import reversed_numbers
from .primitives.gather import repeat_rows as repeat_rows


def reversed_rows(values, offsets):
    """The numbers of all rows, those of each sequence from its last to its first."""
    return reversed_numbers(offsets)


def join(xs, axis, out):
    """Put arrays side by side along an axis."""
    np.concatenate(xs, axis, out=out)


def split(grad, xs, axis, dtype):
    """Cut a gradient along an axis into new arrays like these."""
    ends = [*itertools.accumulate(x.shape[axis] for x in xs)]
    return tuple(part.astype(dtype, order="C") for part in np.split(grad, ends[:-1], axis))
