"""CPU part of lodkit/ops/features.py: rows by key, copied from where the index has them."""

from __future__ import annotations

from .primitives.gather import take_rows


def copy_rows(index, numbers, offsets, rows, out):
    """Copy the rows of keys as ``KeyIndex.select`` has laid them out."""
    if len(index.rows):
        index.copy_rows(numbers, offsets, rows, out)
    else:
        take_rows(rows, index.list_entries(numbers), out)
