"""CUDA kernels of lodkit/ops/norm_optimizers.py: a number made of the gradient's norm, then a rule of the template."""

from __future__ import annotations

from ...arrays.cuda.elementwise import fill
from ...arrays.cuda.memory import norm, refuse_overlap, view
from ...lod.selected_rows import SelectedRows
from ...ops.norm_optimizers import check_total, storm, storm_numbers, wngrad, wngrad_numbers
from ...ops.shared.updates import check_rule, check_update
from ...registry import Dense
from ..common.optimizer_steps import sgd_rule, storm_rule
from .primitives.update import update
from .primitives.views import viewed


def _looked(name, what, param, grad, number, states, duplicates):
    """Check all inputs before a number is made of them; the number, and the squared norm of the gradient. Waits."""
    param, flow, states = view(param), viewed(grad), [(what, view(array)) for what, array in states]
    check_update(name, param, flow, *states)
    check_total(name, what, number)
    value = flow.value if isinstance(flow, SelectedRows) else flow
    refuse_overlap(what, number, (param, value, *(array for _, array in states)))
    if isinstance(grad, SelectedRows):
        value = (grad if duplicates == "sequential" else grad.merge()).value
    return float(number.read()[0]), norm(view(value).array) ** 2


@wngrad.kernel("cuda")
def wngrad_update(param: Dense, grad: Dense | SelectedRows, scale: Dense, /, *, lr, epsilon, duplicates):
    number = view(scale)
    before, square = _looked("wngrad", "scale", param, grad, number, (), duplicates)
    rate, after = wngrad_numbers(lr, epsilon, before, square)
    update("wngrad", sgd_rule(rate), param, grad, duplicates=duplicates)
    fill(number, after)
    return param, scale


@storm.kernel("cuda")
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
    number = view(total)
    states = (("moment", moment),)
    before, square = _looked("storm", "total", param, grad, number, states, duplicates)
    rate, kept, after = storm_numbers(lr, momentum, beta, before, square)
    rule = storm_rule(rate, kept)
    update("storm", rule, param, grad, states, duplicates=duplicates, touches_all=not lazy)
    fill(number, after)
    return param, moment, total
