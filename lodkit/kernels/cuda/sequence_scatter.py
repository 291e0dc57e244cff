"""CUDA part of lodkit/ops/sequence_scatter.py."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import checked_ids, elementwise, vector
from ...ops.sequence_scatter import bad_element
from .primitives.offsets import offsets_like
from .primitives.row_kernels import segment_of


@elementwise
def _find_places(i, ids, offsets, segments, width, places):
    places[i] = segment_of(offsets, segments, i) * width + vector.number(ids, i)


def places(ids, width):
    """Number, among all elements of x, of the element that each id selects."""
    # In every mode of bounds_check: an id outside would select an element of another row.
    numbers = checked_ids(ids.values, width, "ids", bad_element(width), always=True)
    offsets, places = offsets_like(numbers, ids.row_offsets()), numbers.like(numbers.shape, np.int64)
    return _find_places.into(places, numbers, offsets.offsets, len(offsets), width)
