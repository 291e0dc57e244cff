"""Parameters that are SelectedRows themselves: rows of a table, each of which has a key."""

from __future__ import annotations

import numpy as np

from ...base.errors import RowIndexError
from ...lod import SelectedRows
from .updates import check_update


def sort_keys(on, param):
    """Sort the rows of a SelectedRows parameter, each of which it must list once. Returns them and their order."""
    order, _, keys = on.sort_rows(param._rows, param.height)
    if len(keys) != len(param._rows):
        raise RowIndexError("sgd: param lists a row more than once, which row is to change? merge() it first")
    return keys, order


def prepare_selected(on, param, grad):
    """Check the update of a SelectedRows parameter by a gradient of either kind."""
    check_update("sgd", param, grad)
    on.refuse_overlap("param", param.value, (grad.value if isinstance(grad, SelectedRows) else grad,))


def missing_row(i, row):
    return RowIndexError(f"rows[{i}] = {row} of the gradient is no row of the SelectedRows parameter")


def key_positions(param, rows):
    """The position of each row among those of a SelectedRows parameter."""
    keys = {int(key): i for i, key in enumerate(param._rows)}
    for i, row in enumerate(rows):
        if int(row) not in keys:
            raise missing_row(i, row)
    return np.array([keys[int(row)] for row in rows], np.int64)


def refuse_rest(weight_decay, mask, rounding_seed):
    """Refuse what is about rows without gradient, or all rows, for a parameter of SelectedRows, which has a part."""
    if weight_decay or mask is not None or rounding_seed is not None:
        raise ValueError(
            "sgd: a SelectedRows parameter takes no weight_decay, mask or rounding_seed; update its value instead"
        )
