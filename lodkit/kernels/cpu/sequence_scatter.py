"""CPU part of lodkit/ops/sequence_scatter.py."""

from __future__ import annotations

from ...arrays.ids import checked_ids
from ...lod.offsets import segment_numbers
from ...ops.sequence_scatter import bad_element


def places(ids, width):
    """Number, among all elements of x, of the element that each id selects."""
    numbers = checked_ids(ids.values, width, "ids", bad_element(width))
    return segment_numbers(ids._row_offsets()) * width + numbers
