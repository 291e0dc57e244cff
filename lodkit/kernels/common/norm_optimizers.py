"""Kernels of lodkit/ops/norm_optimizers.py: a rate made of norms, then a rule of the template."""

from __future__ import annotations

import numpy as np

from ...arrays import compute_dtype
from ...lod import SelectedRows
from ...ops import norm_optimizers as ops
from ...ops.shared.updates import check_whole, learning_rate, masked, one_number
from ...registry import Dense
from . import optimizer_steps as steps
from .optimizer_rules import UNCHANGED, Rule, lamb_rule, momentum_rule, sgd_rule, storm_rule
from .updates import adjust_of, adjusted, check_arrays, choose_run, dense_gradient, loops_of, update, with_lanes


def _wngrad_loops(on, param, grad, scale, /, *, duplicates, **attrs):
    return loops_of(on, sgd_rule(lr=0.0), param, (), grad, isinstance(grad, SelectedRows), duplicates)


@ops.wngrad.kernel("cpu", "cuda", choose_loops=_wngrad_loops)
def wngrad(on, param, grad: Dense | SelectedRows, scale, /, *, lr, epsilon, duplicates):
    before, square = ops.prepare(on, "wngrad", param, grad, (), "scale", scale, duplicates)
    rate, after = ops.wngrad_numbers(lr, epsilon, before, square)
    rule = sgd_rule(lr=rate)._replace(extra_writes=((scale, after),))
    update(on, "wngrad", rule, param, grad, duplicates=duplicates)
    return param, scale


def _storm_loops(on, param, grad, moment, total, /, *, duplicates, lazy, **attrs):
    return loops_of(
        on, storm_rule(0.0, 0.0), param, (moment,), grad, isinstance(grad, SelectedRows), duplicates, not lazy
    )


@ops.storm.kernel("cpu", "cuda", choose_loops=_storm_loops)
def storm(on, param, grad: Dense | SelectedRows, moment, total, /, *, lr, momentum, beta, duplicates, lazy):
    before, square = ops.prepare(on, "storm", param, grad, (moment,), "total", total, duplicates)
    rate, kept, after = ops.storm_numbers(lr, momentum, beta, before, square)
    rule = storm_rule(rate, kept)._replace(extra_writes=((total, after),))
    update(on, "storm", rule, param, grad, ("moment",), (moment,), duplicates, not lazy)
    return param, moment, total


def _update_by_norms(on, op, param, grad, states, duplicates, lazy, mask, make):
    """Update a parameter by ``make(gradient, param, *states)``: the gradient of the step, and its rule.

    ``make`` gets all rows, or copies of the listed ones.
    """
    check_whole(op.name, duplicates)
    names = [*op.inputs][2:]
    check_arrays(on, op.name, param, grad, names, states)
    if mask is not None:
        grad, lazy = masked(on, grad, mask, duplicates, not lazy), True
    sparse, value, arrays = isinstance(grad, SelectedRows) and lazy, grad, (param, *states)
    if sparse:
        if not grad.value.size:
            return arrays
        grad = on.merge_rows(grad)
        value, arrays = grad.value, [on.take(array, grad._rows) for array in arrays]
    elif isinstance(grad, SelectedRows):
        value = dense_gradient(on, grad)
    value, rule = make(value, *arrays)
    run, _ = choose_run(on, rule, param, sparse)
    run(rule, param, states, grad._with_value(value) if sparse else value)
    return param, *states


def _loops_by_norms(on, rule, param, grad, states, lazy, mask):
    sparse = mask is not None or (isinstance(grad, SelectedRows) and lazy)
    return loops_of(on, rule, param, states, grad, sparse)


def _clipped(on, grad, param, lr, **adjusting):
    """A gradient, clipped and turned."""
    grad, rule = adjusted(on, sgd_rule(lr=-1.0), grad, "merge", lr, **adjusting)
    if not rule.adjust:
        return grad
    result = on.zeros(param.shape, param.dtype, param)
    on.update_all(rule, result, (), grad)
    return result


def _lars_rule(rate, momentum, weight_decay):
    rule = momentum_rule(lr=rate, momentum=momentum, dampening=0.0, nesterov=False, rate_in_velocity=True)
    return rule._replace(adjust=(weight_decay, *UNCHANGED[1:]))


def _lars_loops(on, param, grad, velocity, /, *, momentum, weight_decay, lazy, mask, **attrs):
    rule = _lars_rule(0.0, momentum, weight_decay)
    return _loops_by_norms(on, rule, param, grad, (velocity,), lazy, mask)


@ops.lars.kernel("cpu", "cuda", choose_loops=_lars_loops)
def lars(
    on,
    param,
    grad: Dense | SelectedRows,
    velocity,
    /,
    *,
    lr,
    momentum,
    coefficient,
    weight_decay,
    epsilon,
    duplicates,
    lazy,
    mask,
    **adjusting,
):
    attrs = {"momentum": momentum, "coefficient": coefficient, "weight_decay": weight_decay, "epsilon": epsilon}
    ops.lars.definition.optimizer.check(attrs)
    lr = learning_rate(lr)

    def make(g, param, velocity):
        g = _clipped(on, g, param, lr, **adjusting)
        squares = on.squared_norm(param), on.squared_norm(g)
        rate = ops.lars_rate(lr, coefficient, weight_decay, epsilon, *squares)
        return g, _lars_rule(rate, momentum, weight_decay)

    return _update_by_norms(on, ops.lars, param, grad, (velocity,), duplicates, lazy, mask, make)


def _lamb_loops(on, param, grad, moment1, moment2, /, *, lazy, mask, weight_decay, **attrs):
    rule, moments = Rule(steps.lamb, (), adjust_of(**attrs)), (moment1, moment2)
    norms = on.stepped_loops(rule._replace(step=steps.lamb_direction), param, moments, grad)
    return _loops_by_norms(on, rule, param, grad, moments, lazy, mask) + with_lanes(norms)


@ops.lamb.kernel("cpu", "cuda", choose_loops=_lamb_loops)
def lamb(
    on,
    param,
    grad: Dense | SelectedRows,
    moment1,
    moment2,
    /,
    *,
    lr,
    iteration,
    beta1,
    beta2,
    epsilon,
    weight_decay,
    bias_correction,
    duplicates,
    lazy,
    mask,
    **adjusting,
):
    attrs = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "weight_decay": weight_decay}
    attrs["iteration"] = one_number(iteration)
    ops.lamb.definition.optimizer.check(attrs)
    attrs["bias_correction"] = bias_correction
    lr = learning_rate(lr)

    def make(g, param, *moments):
        g, rule = adjusted(on, lamb_rule(lr=None, **attrs), g, duplicates, lr, **adjusting)
        rate = lr * ops.trust_ratio(*on.stepped_norms(rule, param, moments, g))
        return g, lamb_rule(lr=rate, **attrs)._replace(adjust=rule.adjust)

    return _update_by_norms(on, ops.lamb, param, grad, (moment1, moment2), duplicates, lazy, mask, make)


def _dpsgd_loops(on, param, grad, /, *, sigma, duplicates, **attrs):
    rule = sgd_rule(lr=0.0)._replace(adjust=UNCHANGED)
    return loops_of(on, rule, param, (), grad, isinstance(grad, SelectedRows) and not sigma, duplicates)


@ops.dpsgd.kernel("cpu", "cuda", choose_loops=_dpsgd_loops)
def dpsgd(on, param, grad: Dense | SelectedRows, /, *, lr, clip_norm, batch_size, sigma, seed, iteration, duplicates):
    ops.check_noise(clip_norm, batch_size, sigma, seed, iteration)
    lr = learning_rate(lr)
    grad, rule = adjusted(on, sgd_rule(lr=lr), grad, duplicates, lr, clip_norm=clip_norm)
    if not sigma:
        update(on, "dpsgd", rule, param, grad, duplicates=duplicates)
        return param
    check_arrays(on, "dpsgd", param, grad, (), ())
    dtype = compute_dtype(param.dtype)
    step = on.send(param, np.asarray(ops.gaussian(param.shape, sigma, seed, iteration) / batch_size, dtype))
    grad = dense_gradient(on, grad) if isinstance(grad, SelectedRows) else on.convert(grad, dtype)
    on.update_all(rule._replace(numbers=(-1.0,)), step, (), grad)
    on.update_all(sgd_rule(lr=lr), param, (), step)
    return param
