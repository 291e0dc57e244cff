"""Inputs of CUDA kernels as Views."""

from __future__ import annotations

from ....arrays.cuda.memory import view
from ....lod.selected_rows import SelectedRows


def viewed(x):
    """What a kernel is given, as Views: of an array, of the parts of SelectedRows; None stays None."""
    if isinstance(x, SelectedRows):
        return SelectedRows._wrap(view(x.rows), view(x.value), x.height, x.is_merged)
    return None if x is None else view(x)
