"""The one update of a parameter in place: checks, then the templates of the device."""

from __future__ import annotations

import functools

from ...lod import SelectedRows
from ...ops.shared.updates import check_merged, check_update
from ...registry import Dense


def update(on, name, rule, param, grad, states=(), *, duplicates="merge", lazy=False, records=False):
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
    lazy : bool
        Whether SelectedRows leave other rows alone, even if the rule touches all.
    records : bool
        Whether to return the steps that were subtracted, in the shape of the gradient or of its listed rows.
    """
    check_update(name, param, grad, *states, rowwise=rule.rowwise, pairs=rule.pairs)
    sparse, arrays = isinstance(grad, SelectedRows), [array for _, array in states]
    value = grad.value if sparse else grad
    on.refuse_overlap("param", param, [value, *arrays])
    for i, (what, array) in enumerate(states, 1):
        on.refuse_overlap(what, array, [value, *arrays[i:]])
    if sparse and rule.touches_all and not lazy:
        check_merged(duplicates)
        grad, sparse = on.dense_rows(grad), False
    taken = on.record_like(value) if records else None
    if sparse:
        on.update_rows(rule, param, arrays, grad, duplicates, taken)
    else:
        on.update_all(rule, param, arrays, grad, taken)
    return None if taken is None else on.convert(taken, param.dtype)


def update_kernel(op, rule_of, **fixed):
    """Register an operator for both devices: the update by ``rule_of(**attributes)``, of param, grad and states."""
    names = [*op.inputs][2:]
    options = {name: value for name, value in op.defaults.items() if name not in ("duplicates", "lazy")}
    rule_of = functools.partial(rule_of, **options, **fixed)

    @op.kernel("cpu", "cuda")
    def launch(on, param: Dense, grad: Dense | SelectedRows, /, *states, duplicates, lazy=False, **attrs):
        named = [*zip(names, states, strict=True)]
        update(on, op.name, rule_of(**attrs), param, grad, named, duplicates=duplicates, lazy=lazy)
        return param, *states
