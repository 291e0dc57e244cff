"""CUDA part of lodkit/ops/sequence_scatter.py."""

from __future__ import annotations

from ...arrays.cuda import checked_ids
from ...ops.sequence_scatter import bad_element
from .primitives.cells import cells_of


def places(ids, width):
    """Number, among all elements of x, of the element that each id selects."""
    # In every mode of bounds_check: an id outside would select an element of another row.
    numbers = checked_ids(ids.values, width, "ids", bad_element(width), always=True)
    return cells_of(ids._row_offsets(), numbers, width)
