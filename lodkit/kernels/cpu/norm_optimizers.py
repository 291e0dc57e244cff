"""CPU kernels of lodkit/ops/norm_optimizers.py: a number made of the gradient's norm, then a rule of the template."""

from __future__ import annotations

from ...arrays.generic import refuse_overlap
from ...lod.selected_rows import SelectedRows
from ...ops.norm_optimizers import check_total, squares, storm, storm_numbers, wngrad, wngrad_numbers
from ...ops.shared.updates import check_rule, check_update
from ...registry import Dense
from ..common.optimizer_steps import sgd_rule, storm_rule
from .primitives.update import update


def _looked(name, what, param, grad, number, states, duplicates):
    """Check all inputs before a number is made of them; the number, and the squared norm of the gradient."""
    check_update(name, param, grad, *states)
    check_total(name, what, number)
    refuse_overlap(what, number, (param, grad, *(array for _, array in states)))
    return float(number[0]), squares(grad, duplicates)


@wngrad.kernel("cpu")
def wngrad_update(param: Dense, grad: Dense | SelectedRows, scale: Dense, /, *, lr, epsilon, duplicates):
    before, square = _looked("wngrad", "scale", param, grad, scale, (), duplicates)
    rate, after = wngrad_numbers(lr, epsilon, before, square)
    update("wngrad", sgd_rule(rate), param, grad, duplicates=duplicates)
    scale[0] = after
    return param, scale


@storm.kernel("cpu")
def storm_update(
    param: Dense,
    grad: Dense | SelectedRows,
    moment: Dense,
    total: Dense,
    /,
    *,
    lr,
    momentum,
    beta,
    duplicates,
    lazy,
):
    check_rule(momentum=momentum, beta=beta)
    states = (("moment", moment),)
    before, square = _looked("storm", "total", param, grad, total, states, duplicates)
    rate, kept, after = storm_numbers(lr, momentum, beta, before, square)
    rule = storm_rule(rate, kept)
    update("storm", rule, param, grad, states, duplicates=duplicates, touches_all=not lazy)
    total[0] = after
    return param, moment, total
