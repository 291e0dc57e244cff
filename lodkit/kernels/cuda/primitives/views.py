"""Inputs of CUDA kernels as Views."""

from __future__ import annotations

from ....arrays.cuda import view
from ....lod import SelectedRows


def viewed(x):
    """View of an array, SelectedRows of Views; None stays None."""
    if isinstance(x, SelectedRows):
        return SelectedRows._wrap(view(x.rows), view(x.value), x.height, x.is_merged)
    return None if x is None else view(x)
