"""Kernels of lodkit/ops/norm_optimizers.py: a rate made of the gradient's norm, then a rule of the template."""

from __future__ import annotations

from ...lod import SelectedRows
from ...ops import norm_optimizers as ops
from ...registry import Dense
from .optimizer_rules import sgd_rule, storm_rule
from .updates import update


@ops.wngrad.kernel("cpu", "cuda")
def wngrad(on, param, grad: Dense | SelectedRows, scale, /, *, lr, epsilon, duplicates):
    before, square = ops.prepare(on, "wngrad", param, grad, (), "scale", scale, duplicates)
    rate, after = ops.wngrad_numbers(lr, epsilon, before, square)
    update(on, "wngrad", sgd_rule(lr=rate), param, grad, duplicates=duplicates)
    on.fill(scale, after)
    return param, scale


@ops.storm.kernel("cpu", "cuda")
def storm(on, param, grad: Dense | SelectedRows, moment, total, /, *, lr, momentum, beta, duplicates, lazy):
    before, square = ops.prepare(on, "storm", param, grad, (moment,), "total", total, duplicates)
    rate, kept, after = ops.storm_numbers(lr, momentum, beta, before, square)
    update(on, "storm", storm_rule(rate, kept), param, grad, ("moment",), (moment,), duplicates=duplicates, touches_all=not lazy)
    on.fill(total, after)
    return param, moment, total
