"""The one update of a parameter in place: checks, then the templates of the device."""

from __future__ import annotations

from ...lod.selected_rows import SelectedRows
from ...ops.shared.updates import check_merged, check_update, refuse_overlaps


def update(on, name, rule, param, grad, states=(), *, duplicates="merge", touches_all=False, records=False):
    """Check everything, then step a parameter and its states.

    Parameters
    ----------
    on : module
        The device.
    name : str
        The operator's.
    rule : optimizer_steps.Rule
    param, grad : array, and array or SelectedRows
    states : sequence of (name, array)
    duplicates : {"merge", "sequential"}
    touches_all : bool
        Whether rows without gradient change too.
    records : bool
        Whether to return what the gradient, or each of its rows one after another, took off the parameter.
    """
    check_update(name, param, grad, *states, rowwise=rule.rowwise, pairs=rule.pairs)
    sparse = isinstance(grad, SelectedRows)
    value = grad.value if sparse else grad
    _, *arrays = refuse_overlaps(on, (("param", param), *states), (value,))
    if sparse and touches_all:
        check_merged(duplicates)
        grad, sparse = on.dense_rows(grad), False
    taken = on.record_like(value) if records else None
    if sparse:
        on.update_rows(rule, param, arrays, grad, duplicates, taken)
    else:
        on.update_all(rule, param, arrays, grad, taken)
    return None if taken is None else on.convert(taken, param.dtype)
