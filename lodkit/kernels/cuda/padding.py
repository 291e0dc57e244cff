"""CUDA part of lodkit/ops/padding.py."""

from __future__ import annotations

from ...arrays.cuda import elementwise, vector


@elementwise
def _mark(i, offsets, width, mask):
    s = i // width
    length = vector.number(offsets, s + 1) - vector.number(offsets, s)
    mask[i] = 1 if i - s * width < length else 0


def presence_mask(offsets, width):
    """Mask of the rows of padded segments that are data."""
    return _mark.into(offsets.like((len(offsets) - 1, width), bool), offsets, width)
