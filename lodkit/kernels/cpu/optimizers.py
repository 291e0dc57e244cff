"""The rows of a gradient among those of a SelectedRows parameter."""

from __future__ import annotations

import numpy as np

from ...jit import lower_bound, njit
from ...ops.shared.selected_parameters import missing_row
from .primitives.merge import runs_of


@njit
def _find(keys, key_order, wanted, at):
    """Find each wanted row among the sorted keys of a parameter. Returns the number of the first missing one, or -1."""
    for u in range(len(wanted)):
        k = lower_bound(keys, wanted[u])
        if k == len(keys) or keys[k] != wanted[u]:
            return u
        at[u] = key_order[k]
    return -1


def positions(keys, key_order, grad):
    """Runs of the rows of a gradient: the position of each in the parameter, starts, and order."""
    order, starts, unique = runs_of(grad)
    at = np.empty(len(unique), np.int64)
    missing = _find(keys, key_order, unique, at)
    if missing >= 0:
        raise missing_row(int(order[starts[missing]]), unique[missing])
    return at, starts, order
