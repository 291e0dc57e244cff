"""The rules of optimizers: a step of ``optimizer_steps`` with its numbers, of the attributes of an operator.

Those of ``make_rule`` are made from the operator's record. ``update_kernel`` gives its ``numbers`` the defaults of the
operator, ``lr`` as a float, and as ``count`` the number of states; it has checked all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from ...ops.adam_optimizers import direction_numbers
from ...ops.moment_optimizers import momentum
from ...ops.optimizers import sgd
from ...ops.shared.updates import check_rule
from . import optimizer_steps as steps


class Rule(NamedTuple):
    """A step with its numbers.

    Attributes
    ----------
    step : callable
    numbers : tuple of float
    adjust : tuple of float
        Numbers of ``adjust``, which comes first; none where there is nothing to do.
    rowwise : bool
        ``squares`` are the mean over a row, and the last state, if any, has one number per row.
    pairs : bool
        States have two numbers for each of the parameter, side by side.
    extra_writes : tuple of (array, array or number)
        Other arrays, and what they are filled with when the parameter changes: an interrupt leaves all or none.
    seed : int, optional
        Of a float16 parameter that is rounded at random.
    """

    step: Callable
    numbers: tuple
    adjust: tuple = ()
    rowwise: bool = False
    pairs: bool = False
    extra_writes: tuple = ()
    seed: int | None = None


#: The numbers of ``adjust`` that change nothing.
UNCHANGED = (0.0, 1.0, 1.0, math.inf)
#: The numbers of ``adjust`` that make a row without gradient its own gradient.
ITSELF = (1.0, 1.0, 1.0, math.inf)


def make_rule(op, found, count):
    """The rule of an operator with so many states, by what the ``numbers`` of its record have given."""
    record = op.definition.optimizer
    name, numbers = found if type(found[0]) is str else (op.name, found)
    return Rule(getattr(steps, name), numbers, (), record.rowwise, record.pairs and count == 1)


def rule_of(op):
    """A function of attributes by name: the rule of an operator without optional states."""
    return lambda **attrs: make_rule(op, op.definition.optimizer.numbers(**attrs), 0)


sgd_rule, momentum_rule = rule_of(sgd), rule_of(momentum)


def normalize_rule(norm, use_max_norm, param):
    """The rule of sparse_normalize: a row is its own gradient, and its squares the row's."""
    check_rule(norm=norm)
    columns = math.prod(param.shape[1:])
    step = steps.normalize_down if use_max_norm else steps.normalize
    return Rule(step, (norm, columns), ITSELF, rowwise=True)


def lp_rule(p, reg_lambda):
    check_rule(reg_lambda=reg_lambda)
    return Rule(steps.soft_threshold, (reg_lambda,)) if p == 1 else Rule(steps.shrink, (1 - reg_lambda,))


def lamb_rule(*, lr, beta1, beta2, epsilon, iteration, weight_decay, bias_correction):
    """The rule by a rate; for None that of the direction, whose norm the rate depends on."""
    rate, epsilon = direction_numbers(beta1, beta2, epsilon, iteration, bias_correction)
    numbers = -rate, 1 - beta1, 1 - beta2, epsilon, weight_decay
    return Rule(steps.lamb_direction, numbers) if lr is None else Rule(steps.lamb, (*numbers, lr))


def smart_decay_rule(*, lr, beta1, beta2, epsilon):
    fading, fading2 = (math.log(beta) if beta else -1e4 for beta in (beta1, beta2))
    numbers = lr, 1 - beta1, 1 - beta2, epsilon, fading, fading2, beta1 / (1 - beta1)
    return Rule(steps.smart_decay_adam, numbers, rowwise=True)


def storm_rule(rate, kept):
    return Rule(steps.storm, (rate, kept))
