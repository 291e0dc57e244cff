"""The one update of a parameter in place: checks, then the templates of the device."""

from __future__ import annotations

from types import FunctionType

from ...lod import SelectedRows
from ...ops.shared.updates import check_merged, check_update
from ...registry import Dense


def update(on, name, rule, param, grad, names=(), states=(), *, duplicates="merge", lazy=False, records=False):
    """Check everything, then step a parameter and its states.

    Parameters
    ----------
    on : module
        The device.
    name : str
        The operator's.
    rule : optimizer_steps.Rule
    param, grad : array, and array or SelectedRows
    names, states : tuple of str, tuple of arrays
    duplicates : {"merge", "sequential"}
    lazy : bool
        Leave rows that SelectedRows do not list alone, even if the rule touches all.
    records : bool
        Return the steps that were subtracted, in the shape of the gradient or of its listed rows.
    """
    check_update(name, param, grad, names, states, rowwise=rule.rowwise, pairs=rule.pairs)
    sparse = isinstance(grad, SelectedRows)
    value = grad.value if sparse else grad
    on.refuse_overlap("param", param, [value, *states])
    for i, array in enumerate(states):
        on.refuse_overlap(names[i], array, [value, *states[i + 1 :]])
    if sparse and rule.touches_all and not lazy:
        check_merged(duplicates)
        grad, sparse = on.dense_rows(grad), False
    taken = on.record_like(value) if records else None
    if sparse:
        on.update_rows(rule, param, states, grad, duplicates, taken)
    else:
        on.update_all(rule, param, states, grad, taken)
    return None if taken is None else on.convert(taken, param.dtype)


def update_kernel(op, rule_of, **fixed):
    """Register an operator for both devices: the update by ``rule_of(**attributes)``, of param, grad and states."""
    names = [*op.inputs][2:]
    defaults = {**(rule_of.__kwdefaults__ or {}), **op.defaults, **fixed}
    rule_of = FunctionType(rule_of.__code__, rule_of.__globals__)  # a functools.partial takes 0.2 us more per call
    rule_of.__kwdefaults__ = defaults

    @op.kernel("cpu", "cuda")
    def launch(on, param: Dense, grad: Dense | SelectedRows, /, *states, duplicates, lazy=False, **attrs):
        update(on, op.name, rule_of(**attrs), param, grad, names, states, duplicates=duplicates, lazy=lazy)
        return param, *states
