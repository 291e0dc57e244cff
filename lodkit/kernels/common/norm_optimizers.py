"""Kernels of lodkit/ops/norm_optimizers.py: a rate made of norms, then a rule of the template."""

from __future__ import annotations

import math

import numpy as np

from ...lod import SelectedRows
from ...ops import norm_optimizers as ops
from ...ops.shared.updates import check_whole, learning_rate, masked, one_number
from ...registry import Dense
from .optimizer_rules import lamb_rule, momentum_rule, sgd_rule, storm_rule
from .updates import adjusted, check_arrays, dense_gradient, update


@ops.wngrad.kernel("cpu", "cuda")
def wngrad(on, param, grad: Dense | SelectedRows, scale, /, *, lr, epsilon, duplicates):
    before, square = ops.prepare(on, "wngrad", param, grad, (), "scale", scale, duplicates)
    rate, after = ops.wngrad_numbers(lr, epsilon, before, square)
    rule = sgd_rule(lr=rate)._replace(extra_writes=((scale, after),))
    update(on, "wngrad", rule, param, grad, duplicates=duplicates)
    return param, scale


@ops.storm.kernel("cpu", "cuda")
def storm(on, param, grad: Dense | SelectedRows, moment, total, /, *, lr, momentum, beta, duplicates, lazy):
    before, square = ops.prepare(on, "storm", param, grad, (moment,), "total", total, duplicates)
    rate, kept, after = ops.storm_numbers(lr, momentum, beta, before, square)
    update(
        on,
        "storm",
        storm_rule(rate, kept)._replace(extra_writes=((total, after),)),
        param,
        grad,
        ("moment",),
        (moment,),
        duplicates=duplicates,
        touches_all=not lazy,
    )
    return param, moment, total


def _whole(on, op, param, grad, states, duplicates, lazy, mask, step):
    """``step(gradient, param, *states)`` of all of a parameter, or of copies of the listed rows, which are put back."""
    check_whole(op.name, duplicates)
    names = [*op.inputs][2:]
    check_arrays(on, op.name, param, grad, names, states)
    if mask is not None:
        grad, lazy = masked(on, grad, mask, duplicates, not lazy), True
    arrays = param, *states
    if not isinstance(grad, SelectedRows):
        step(grad, *arrays)
    elif not lazy:
        step(dense_gradient(on, grad), *arrays)
    elif grad.value.size:
        grad = on.merge_rows(grad)
        copies = [on.take(array, grad._rows) for array in arrays]
        step(grad.value, *copies)
        on.put_together(grad._rows, copies, arrays)
    return arrays


def _clipped(on, grad, param, lr, **adjusting):
    """A gradient, clipped and turned."""
    grad, rule = adjusted(on, sgd_rule(lr=-1.0), grad, "merge", lr, **adjusting)
    if not rule.adjust:
        return grad
    result = on.zeros(param.shape, param.dtype, param)
    on.update_all(rule, result, (), grad)
    return result


@ops.lars.kernel("cpu", "cuda")
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

    def step(g, param, velocity):
        g = _clipped(on, g, param, lr, **adjusting)
        squares = on.squared_norm(param), on.squared_norm(g)
        rate = ops.lars_rate(lr, coefficient, weight_decay, epsilon, *squares)
        rule = momentum_rule(lr=rate, momentum=momentum, dampening=0.0, nesterov=False, rate_in_velocity=True)
        on.update_all(rule._replace(adjust=(weight_decay, 1.0, 1.0, math.inf)), param, (velocity,), g)

    return _whole(on, ops.lars, param, grad, (velocity,), duplicates, lazy, mask, step)


@ops.lamb.kernel("cpu", "cuda")
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

    def step(g, param, *moments):
        g, rule = adjusted(on, lamb_rule(lr=None, **attrs), g, duplicates, lr, **adjusting)
        rate = lr * ops.trust_ratio(*on.stepped_norms(rule, param, moments, g))
        on.update_all(lamb_rule(lr=rate, **attrs)._replace(adjust=rule.adjust), param, moments, g)

    return _whole(on, ops.lamb, param, grad, (moment1, moment2), duplicates, lazy, mask, step)


@ops.dpsgd.kernel("cpu", "cuda")
def dpsgd(on, param, grad: Dense | SelectedRows, /, *, lr, clip_norm, batch_size, sigma, seed, iteration, duplicates):
    ops.check_noise(clip_norm, batch_size, sigma, seed, iteration)
    lr = learning_rate(lr)
    grad, rule = adjusted(on, sgd_rule(lr=lr), grad, duplicates, lr, clip_norm=clip_norm)
    if not sigma:
        update(on, "dpsgd", rule, param, grad, duplicates=duplicates)
        return param
    check_arrays(on, "dpsgd", param, grad, (), ())
    dtype = np.promote_types(param.dtype, np.float32)
    step = on.send(param, np.asarray(ops.gaussian(param.shape, sigma, seed, iteration) / batch_size, dtype))
    grad = dense_gradient(on, grad) if isinstance(grad, SelectedRows) else on.convert(grad, dtype)
    on.update_all(rule._replace(numbers=(-1.0,)), step, (), grad)
    on.update_all(sgd_rule(lr=lr), param, (), step)
    return param
