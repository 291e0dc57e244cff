"""The rules of optimizers: a step of ``optimizer_steps`` with its numbers, of the attributes of an operator.

``update_kernel`` gives them the defaults of the operator, ``lr`` as a float, and as ``count`` the number of states; it
has checked all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from ...ops.adam_optimizers import corrected, direction_numbers
from ...ops.moment_optimizers import check_dampening
from ...ops.shared.updates import LEAST_DIVISOR, adam_rate, check_rule, corrections, nesterov_rates
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
    also : tuple of (array, array or number)
        Other arrays, and what they are filled with when the parameter changes: an interrupt leaves all or none.
    """

    step: Callable
    numbers: tuple
    adjust: tuple = ()
    rowwise: bool = False
    pairs: bool = False
    also: tuple = ()


LARGEST = 1e38  # 1 / lr of ftrl at most: an infinite one, times a root that stays, were NaN
#: The numbers of ``adjust`` that make a row without gradient its own gradient.
ITSELF = (1.0, 1.0, 1.0, math.inf)


def normalize_rule(norm, use_max_norm, param):
    """The rule of sparse_normalize: a row is its own gradient, and its squares the row's."""
    check_rule(norm=norm)
    columns = math.prod(param.shape[1:])
    return Rule(steps.normalize_down if use_max_norm else steps.normalize, (norm, columns), ITSELF, rowwise=True)


def lp_rule(p, reg_lambda):
    check_rule(reg_lambda=reg_lambda)
    return Rule(steps.soft_threshold, (reg_lambda,)) if p == 1 else Rule(steps.shrink, (1 - reg_lambda,))


def sgd_rule(*, lr):
    return Rule(steps.sgd, (lr,))


def adagrad_rule(*, lr, epsilon, decay):
    return Rule(steps.adagrad, (lr, epsilon)) if decay == 1 else Rule(steps.decaying_adagrad, (lr, epsilon, decay))


def rowwise_adagrad_rule(*, lr, epsilon):
    return Rule(steps.rowwise_adagrad, (lr, epsilon))


def decayed_adagrad_rule(*, lr, epsilon, decay):
    return Rule(steps.decayed_adagrad, (lr, epsilon, 1 - decay))


def proximal_gd_rule(*, lr, l1, l2):
    return Rule(steps.proximal_gd, (lr, lr * l1, 1 / (1 + lr * l2)))


def proximal_adagrad_rule(*, lr, l1, l2):
    return Rule(steps.proximal_adagrad, (lr, lr * l1, 1 / (1 + lr * l2)))


#: The steps of ftrl: by whether both accumulators are side by side, and whether the power is a square root.
FTRL = {
    (False, True): steps.ftrl,
    (True, True): steps.ftrl_pairs,
    (False, False): steps.powered_ftrl,
    (True, False): steps.powered_ftrl_pairs,
}


def ftrl_rule(*, count, lr, beta, l1, l2, lr_power):
    pairs, root = count == 1, lr_power == -0.5
    numbers = min(1 / lr, LARGEST), beta, l1, l2
    if not root:
        # The logarithm of 0, minus infinity, makes a power of 0; times a power of 0 it were NaN, not 1.
        numbers = *numbers, -lr_power, 0.0 if lr_power else LEAST_DIVISOR
    return Rule(FTRL[pairs, root], numbers, pairs=pairs)


def momentum_rule(*, lr, momentum, dampening, nesterov, rate_in_velocity):
    check_dampening(nesterov, dampening)
    inner, outer = (lr, 1.0) if rate_in_velocity else (1.0, lr)
    return Rule(steps.nesterov if nesterov else steps.momentum, (momentum, (1 - dampening) * inner, outer))


ADAM = {
    (2, True): steps.adam,
    (2, False): steps.unscaled_adam,
    (3, True): steps.amsgrad,
    (3, False): steps.unscaled_amsgrad,
}


def adam_rule(*, count, lr, beta1, beta2, epsilon, iteration, rectified, corrected_epsilon):
    rate, scaled = adam_rate(lr, beta1, beta2, iteration, rectified)
    epsilon = corrected(epsilon, beta1, beta2, iteration) if corrected_epsilon else epsilon
    return Rule(ADAM[count, scaled], (rate, 1 - beta1, 1 - beta2, epsilon))


def lamb_rule(*, lr, beta1, beta2, epsilon, iteration, weight_decay, bias_correction):
    """The rule by a rate; for None that of the direction, whose norm the rate depends on."""
    rate, epsilon = direction_numbers(beta1, beta2, epsilon, iteration, bias_correction)
    numbers = -rate, 1 - beta1, 1 - beta2, epsilon, weight_decay
    return Rule(steps.lamb_direction, numbers) if lr is None else Rule(steps.lamb, (*numbers, lr))


def rowwise_adam_rule(*, lr, beta1, beta2, epsilon, iteration, rectified):
    rate, scaled = adam_rate(lr, beta1, beta2, iteration, rectified)
    return Rule(steps.rowwise_adam if scaled else steps.unscaled_adam, (rate, 1 - beta1, 1 - beta2, epsilon))


def adamax_rule(*, lr, beta1, beta2, epsilon, iteration, epsilon_on_norm):
    rate = lr / corrections(beta1, beta2, iteration)[0]
    beside, on_norm = (0.0, epsilon) if epsilon_on_norm else (epsilon, 0.0)
    return Rule(steps.adamax, (rate, 1 - beta1, beta2, beside, on_norm))


def nadam_rule(*, lr, beta1, beta2, epsilon, iteration, momentum_decay):
    by_grad, by_moment = nesterov_rates(lr, beta1, beta2, iteration, momentum_decay)
    epsilon = corrected(epsilon, beta1, beta2, iteration)
    return Rule(steps.nadam, (by_moment, 1 - beta1, 1 - beta2, epsilon, by_grad))


def smart_decay_rule(*, lr, beta1, beta2, epsilon):
    fading, fading2 = (math.log(beta) if beta else -1e4 for beta in (beta1, beta2))
    numbers = lr, 1 - beta1, 1 - beta2, epsilon, fading, fading2, beta1 / (1 - beta1)
    return Rule(steps.smart_decay_adam, numbers, rowwise=True)


def lion_rule(*, lr, beta1, beta2):
    return Rule(steps.lion, (lr, 1 - beta1, 1 - beta2))


def adadelta_rule(*, lr, decay, epsilon):
    return Rule(steps.adadelta, (lr, 1 - decay, epsilon))


def rmsprop_rule(*, count, lr, decay, momentum, epsilon, epsilon_in_root, rate_in_velocity):
    step = steps.rmsprop if count == 2 else steps.centered_rmsprop
    inside, beside = (epsilon, 0.0) if epsilon_in_root else (0.0, epsilon)
    inner, outer = (lr, 1.0) if rate_in_velocity else (1.0, lr)
    return Rule(step, (inner, 1 - decay, momentum, inside, outer, beside, decay))


def storm_rule(rate, kept):
    return Rule(steps.storm, (rate, kept))
