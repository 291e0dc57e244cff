"""Kernels of lodkit/ops/optimizers.py: each operator is a rule for the device's template of updates."""

from __future__ import annotations

from ...lod import SelectedRows
from ...ops import optimizers as ops
from ...ops.shared.optimizer_record import optimizers_in
from ...ops.shared.selected_parameters import prepare_selected, refuse_rest, sort_keys
from ...ops.shared.updates import learning_rate
from ...registry import Dense
from .optimizer_rules import sgd_rule
from .updates import adjust_of, adjusted, loops_of, update_kernel

for _op in optimizers_in(ops):
    update_kernel(_op)


def _prepare(on, param, grad, lr, duplicates, weight_decay=0.0, mask=None, rounding_seed=None, **options):
    """Check the update of a SelectedRows parameter, and make its rule. Returns the gradient and that."""
    refuse_rest(weight_decay, mask, rounding_seed)
    prepare_selected(on, param, grad)
    lr = learning_rate(lr)
    return adjusted(on, sgd_rule(lr=lr), grad, duplicates, lr, **options)


def _selected_loops(on, param, grad, /, *, duplicates, **attrs):
    rule = sgd_rule(lr=0.0)._replace(adjust=adjust_of(**attrs))
    return loops_of(on, rule, param.value, (), grad, isinstance(grad, SelectedRows), duplicates)


@ops.sgd.kernel("cpu", "cuda", choose_loops=_selected_loops)
def sgd_selected(on, param: SelectedRows, grad: SelectedRows, /, *, lr, duplicates, lazy, **options):
    keys, key_order = sort_keys(on, param)
    grad, rule = _prepare(on, param, grad, lr, duplicates, **options)
    if len(grad._rows):
        at, starts, order = on.optimizers.positions(keys, key_order, grad)
        on.update_runs(rule, param.value, (), at, starts, order, grad.value, duplicates)
    return param


@ops.sgd.kernel("cpu", "cuda", choose_loops=_selected_loops)
def sgd_selected_dense(on, param: SelectedRows, grad: Dense, /, *, lr, duplicates, lazy, **options):
    if not param.is_merged:
        sort_keys(on, param)
    grad, rule = _prepare(on, param, grad, lr, duplicates, **options)
    on.update_all(rule, param.value, (), on.take(grad, param._rows))
    return param
