"""CUDA part of lodkit/ops/features.py: rows by key, copied by the runs of the index."""

from __future__ import annotations

from .primitives.device import move_runs


def copy_rows(index, numbers, offsets, rows, out):
    """Copy the rows of keys as ``KeyIndex.select`` has laid them out."""
    move_runs(rows, index.list_runs(numbers), out)
