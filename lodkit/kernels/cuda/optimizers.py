"""The rows of a gradient among those of a SelectedRows parameter."""

from __future__ import annotations

from ...arrays.cuda import elementwise, fill, vector
from ...ops.shared.selected_parameters import missing_row
from .primitives.merge import runs_of
from .primitives.row_kernels import lower_bound


@elementwise
def _find(u, keys, key_order, count, wanted, order, starts, at, missing):
    """Find each wanted row among the sorted keys of a parameter; ``missing[0]`` is the first gradient row without."""
    row = vector.number(wanted, u)
    k = lower_bound(keys, 0, count, row + 1) - 1
    if k >= 0 and vector.number(keys, k) == row:
        at[u] = vector.number(key_order, k)
    else:
        vector.atomic_first(missing, 0, vector.number(order, vector.number(starts, u)))


def positions(keys, key_order, grad):
    """Runs of the rows of a gradient: the position of each in the parameter, Offsets, and order. Synchronises."""
    if not len(keys):
        raise missing_row(0, int(grad._rows.part(0, 1).read()[0]))
    rows, starts, order = runs_of(grad)
    at, missing = rows.like(rows.shape), fill(rows.like((1,)), -1)
    _find(len(rows), keys, key_order, len(keys), rows, order, starts.offsets, at, missing)
    i = int(missing.read()[0])
    if i >= 0:
        raise missing_row(i, int(grad._rows.part(i, i + 1).read()[0]))
    return at, starts, order
