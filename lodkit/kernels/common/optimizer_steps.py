"""The optimizers, as steps over vectors, for all devices.

``step(parameter, states, gradient, squares, numbers) -> (parameter, states)``: lanes of a parameter, of each of its
states and of the gradient, and the squares of the gradient's lanes, or in a row-wise step their mean over the row.
``numbers`` are those of the rule. The kernel templates of a device load and store the lanes, for a dense gradient and
for the rows of SelectedRows.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

from ...jit import jitable, simd
from ...ops.shared.updates import LEAST_DIVISOR, adam_rate, check_rule, learning_rate


class Rule(NamedTuple):
    """A step with its numbers.

    Attributes
    ----------
    step : callable
    numbers : tuple of float
    weight_decay : float
        Share of the parameter that is added to the gradient first.
    rowwise : bool
        ``squares`` are the mean over a row, and the last state, if any, has one number per row.
    pairs : bool
        States have two numbers for each of the parameter, side by side.
    touches_all : bool
        Rows without a gradient change too.
    """

    step: Callable
    numbers: tuple
    weight_decay: float = 0.0
    rowwise: bool = False
    pairs: bool = False
    touches_all: bool = False


@jitable
def sgd(p, states, g, squares, numbers):
    return simd.sub(p, simd.mul(simd.like(p, numbers[0]), g)), states


@jitable(inline=True)
def _scaled(p, g, squares, lr, epsilon):
    """A step against the gradient, over the root of the squares."""
    divisor = simd.larger(simd.add(simd.sqrt(squares), simd.like(p, epsilon)), simd.like(p, LEAST_DIVISOR))
    return simd.sub(p, simd.div(simd.mul(simd.like(p, lr), g), divisor))


@jitable
def adagrad(p, states, g, squares, numbers):
    moment = simd.add(states[0], squares)
    return _scaled(p, g, moment, numbers[0], numbers[1]), (moment,)


@jitable
def decaying_adagrad(p, states, g, squares, numbers):
    moment = simd.add(simd.mul(simd.like(p, numbers[2]), states[0]), squares)
    return _scaled(p, g, moment, numbers[0], numbers[1]), (moment,)


@jitable(inline=True)
def _clipped(x, bound):
    return simd.minimum(simd.maximum(x, simd.sub(simd.like(x, 0), bound)), bound)


@jitable(inline=True)
def ftrl(p, states, g, squares, numbers):
    lr, beta = simd.like(p, numbers[0]), simd.like(p, numbers[1])
    squared = simd.add(states[0], squares)
    root = simd.sqrt(squared)
    rate = simd.div(simd.sub(root, simd.sqrt(states[0])), lr)
    linear = simd.add(states[1], simd.sub(g, simd.mul(rate, p)))
    divisor = simd.add(simd.div(simd.add(beta, root), lr), simd.like(p, numbers[3]))
    excess = simd.sub(_clipped(linear, simd.like(p, numbers[2])), linear)
    return simd.div(excess, simd.larger(divisor, simd.like(p, LEAST_DIVISOR))), (squared, linear)


@jitable
def ftrl_pairs(p, states, g, squares, numbers):
    p, after = ftrl(p, (simd.evens(states[0]), simd.odds(states[0])), g, squares, numbers)
    return p, (simd.paired(after[0], after[1]),)


@jitable
def momentum(p, states, g, squares, numbers):
    velocity = simd.add(simd.mul(simd.like(p, numbers[0]), states[0]), simd.mul(simd.like(p, numbers[1]), g))
    return simd.sub(p, simd.mul(simd.like(p, numbers[2]), velocity)), (velocity,)


@jitable
def nesterov(p, states, g, squares, numbers):
    kept, scaled = simd.like(p, numbers[0]), simd.mul(simd.like(p, numbers[1]), g)
    velocity = simd.add(simd.mul(kept, states[0]), scaled)
    ahead = simd.add(scaled, simd.mul(kept, velocity))
    return simd.sub(p, simd.mul(simd.like(p, numbers[2]), ahead)), (velocity,)


@jitable(inline=True)
def _towards(old, new, share):
    """A moving average: ``(1 - share) * old + share * new``."""
    return simd.add(old, simd.mul(simd.like(old, share), simd.sub(new, old)))


@jitable
def adam(p, states, g, squares, numbers):
    first, second = _towards(states[0], g, numbers[1]), _towards(states[1], squares, numbers[2])
    return _scaled(p, first, second, numbers[0], numbers[3]), (first, second)


@jitable
def unscaled_adam(p, states, g, squares, numbers):
    first, second = _towards(states[0], g, numbers[1]), _towards(states[1], squares, numbers[2])
    return simd.sub(p, simd.mul(simd.like(p, numbers[0]), first)), (first, second)


@jitable
def adadelta(p, states, g, squares, numbers):
    epsilon, square = simd.like(p, numbers[2]), _towards(states[0], squares, numbers[1])
    step = simd.mul(simd.sqrt(simd.div(simd.add(states[1], epsilon), simd.add(square, epsilon))), g)
    change = _towards(states[1], simd.mul(step, step), numbers[1])
    return simd.sub(p, simd.mul(simd.like(p, numbers[0]), step)), (square, change)


@jitable
def rmsprop(p, states, g, squares, numbers):
    square = _towards(states[0], squares, numbers[1])
    root = simd.sqrt(simd.add(square, simd.like(p, numbers[3])))
    step = simd.div(simd.mul(simd.like(p, numbers[0]), g), root)
    velocity = simd.add(simd.mul(simd.like(p, numbers[2]), states[1]), step)
    return simd.sub(p, velocity), (square, velocity)


@jitable
def storm(p, states, g, squares, numbers):
    moment = simd.add(g, simd.mul(simd.like(p, numbers[1]), simd.sub(states[0], g)))
    return simd.sub(p, simd.mul(simd.like(p, numbers[0]), moment)), (moment,)


@jitable
def shrink(p, states, g, squares, numbers):
    return simd.mul(p, simd.like(p, numbers[0])), states


@jitable
def soft_threshold(p, states, g, squares, numbers):
    return simd.sub(p, _clipped(p, simd.like(p, numbers[0]))), states


@jitable(inline=True)
def _to_norm(p, squares, numbers):
    """The factor that gives a row its norm."""
    size = simd.add(simd.sqrt(simd.mul(squares, simd.like(p, numbers[1]))), simd.like(p, 1e-12))
    return simd.div(simd.like(p, numbers[0]), size)


@jitable
def normalize(p, states, g, squares, numbers):
    return simd.mul(p, _to_norm(p, squares, numbers)), states


@jitable
def normalize_down(p, states, g, squares, numbers):
    return simd.mul(p, simd.minimum(_to_norm(p, squares, numbers), simd.like(p, 1))), states


def normalize_rule(norm, use_max_norm, param):
    """The rule of sparse_normalize: a weight decay of 1 makes a row its own gradient, and its squares the row's."""
    check_rule(norm=norm)
    columns = math.prod(param.shape[1:])
    return Rule(normalize_down if use_max_norm else normalize, (norm, columns), weight_decay=1.0, rowwise=True)


def lp_rule(p, reg_lambda):
    check_rule(reg_lambda=reg_lambda)
    return Rule(soft_threshold, (reg_lambda,)) if p == 1 else Rule(shrink, (1 - reg_lambda,))


def sgd_rule(lr):
    return Rule(sgd, (learning_rate(lr),))


def adagrad_rule(*, lr, epsilon, weight_decay, decay=1.0, rowwise=False):
    return _adagrad_rule(learning_rate(lr), epsilon, weight_decay, decay, rowwise)


@functools.lru_cache(256)  # the checks cost as much as a third of an update of a few rows
def _adagrad_rule(lr, epsilon, weight_decay, decay, rowwise):
    check_rule(weight_decay=weight_decay, decay=decay, epsilon=epsilon)
    step, numbers = (adagrad, (lr, epsilon)) if decay == 1 else (decaying_adagrad, (lr, epsilon, decay))
    return Rule(step, numbers, weight_decay, rowwise, touches_all=weight_decay != 0 or decay != 1)


def ftrl_rule(lr, beta, l1, l2, pairs=False):
    lr = learning_rate(lr)
    check_rule(lr=lr, beta=beta, l1=l1, l2=l2)
    return Rule(ftrl_pairs if pairs else ftrl, (lr, beta, l1, l2), pairs=pairs)


def momentum_rule(lr, factor, use_nesterov, rate_in_velocity):
    lr = learning_rate(lr)
    check_rule(momentum=factor)
    inner, outer = (lr, 1.0) if rate_in_velocity else (1.0, lr)
    return Rule(nesterov if use_nesterov else momentum, (factor, inner, outer), touches_all=True)


def adam_rule(*, lr, beta1, beta2, epsilon, iteration, rectified, rowwise=False):
    rate, scaled = adam_rate(lr, beta1, beta2, iteration, rectified)
    check_rule(epsilon=epsilon)
    return Rule(
        adam if scaled else unscaled_adam, (rate, 1 - beta1, 1 - beta2, epsilon), rowwise=rowwise, touches_all=True
    )


def adadelta_rule(*, lr, decay, epsilon):
    check_rule(decay=decay, positive_epsilon=epsilon)
    return Rule(adadelta, (learning_rate(lr), 1 - decay, epsilon), touches_all=True)


def rmsprop_rule(*, lr, decay, momentum, epsilon):
    check_rule(decay=decay, momentum=momentum, positive_epsilon=epsilon)
    return Rule(rmsprop, (learning_rate(lr), 1 - decay, momentum, epsilon), touches_all=True)


def storm_rule(rate, kept):
    return Rule(storm, (rate, kept), touches_all=True)
