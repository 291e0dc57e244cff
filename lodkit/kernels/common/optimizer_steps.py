"""The optimizers, as steps over vectors, for all devices.

``step(parameter, states, gradient, squares, numbers) -> (parameter, states)``: lanes of a parameter, of each of its
states and of the gradient, and the squares of the gradient's lanes, or in a row-wise step their mean over the row.
``numbers`` are those of the rule. The kernel templates of a device load and store the lanes, for a dense gradient and
for the rows of SelectedRows, and take the step ``adjust`` first where a rule asks for it.
"""

from __future__ import annotations

from ...jit import jitable, simd
from ...ops.shared.updates import LEAST_DIVISOR


@jitable(inline=True)
def _clip(x, bound):
    return simd.minimum(simd.maximum(x, simd.sub(simd.like(x, 0), bound)), bound)


@jitable(inline=True)
def adjust(p, g, numbers):
    """Parameter and gradient before a rule, by its last four numbers: clipping, sign or scale, both kinds of decay."""
    decay, keep, factor = simd.like(p, numbers[-4]), simd.like(p, numbers[-3]), simd.like(p, numbers[-2])
    g = simd.mul(factor, _clip(g, simd.like(p, numbers[-1])))
    p = simd.mul(keep, p)
    return p, simd.add(g, simd.mul(decay, p))


@jitable
def sgd(p, states, g, squares, numbers):
    return simd.sub(p, simd.mul(simd.like(p, numbers[0]), g)), states


@jitable(inline=True)
def _moving_average(old, new, share):
    """A moving average: ``(1 - share) * old + share * new``."""
    return simd.add(old, simd.mul(simd.like(old, share), simd.sub(new, old)))


@jitable(inline=True)
def _scaled_step(p, g, squares, lr, epsilon):
    """A step against the gradient, over the root of the squares."""
    divisor = simd.larger(simd.add(simd.sqrt(squares), simd.like(p, epsilon)), simd.like(p, LEAST_DIVISOR))
    return simd.sub(p, simd.div(simd.mul(simd.like(p, lr), g), divisor))


@jitable(inline=True)
def _size(x):
    return simd.maximum(x, simd.sub(simd.like(x, 0), x))


@jitable(inline=True)
def _sign(x):
    """The sign of a number; 0 of 0, and less than 1 of what is no normal float32."""
    return simd.div(x, simd.larger(_size(x), simd.like(x, LEAST_DIVISOR)))


@jitable(inline=True)
def _keep_low(low, high):
    return low


@jitable(inline=True)
def _first_lane(lanes):
    """Reduce a row's number, the same in all lanes, to one lane, so that sqrt and division run once."""
    return simd.reduce(_keep_low, lanes)


@jitable(inline=True)
def _scaled_row(p, g, squares, lr, epsilon):
    """A step against the gradient, over the root of the row's squares, one lane: by a factor that cannot overflow."""
    divisor = simd.larger(simd.add(simd.sqrt(squares), simd.like(squares, epsilon)), simd.like(squares, LEAST_DIVISOR))
    factor = simd.div(simd.like(squares, 1), divisor)
    return simd.sub(p, simd.mul(simd.mul(simd.like(p, lr), g), simd.like(p, simd.lane(factor, 0))))


@jitable
def adagrad(p, states, g, squares, numbers):
    moment = simd.add(states[0], squares)
    return _scaled_step(p, g, moment, numbers[0], numbers[1]), (moment,)


@jitable
def rowwise_adagrad(p, states, g, squares, numbers):
    moment = simd.add(_first_lane(states[0]), _first_lane(squares))
    return _scaled_row(p, g, moment, numbers[0], numbers[1]), (simd.like(p, simd.lane(moment, 0)),)


@jitable
def decaying_adagrad(p, states, g, squares, numbers):
    moment = simd.add(simd.mul(simd.like(p, numbers[2]), states[0]), squares)
    return _scaled_step(p, g, moment, numbers[0], numbers[1]), (moment,)


@jitable
def decayed_adagrad(p, states, g, squares, numbers):
    moment = _moving_average(states[0], squares, numbers[2])
    return _scaled_step(p, g, moment, numbers[0], numbers[1]), (moment,)


@jitable(inline=True)
def _shrunk(p, bound, factor):
    """A proximal step: towards 0 by the bound, and by the factor."""
    return simd.mul(simd.sub(p, _clip(p, simd.like(p, bound))), simd.like(p, factor))


@jitable
def proximal_gd(p, states, g, squares, numbers):
    return _shrunk(simd.sub(p, simd.mul(simd.like(p, numbers[0]), g)), numbers[1], numbers[2]), states


@jitable
def proximal_adagrad(p, states, g, squares, numbers):
    moment = simd.add(states[0], squares)
    return _shrunk(_scaled_step(p, g, moment, numbers[0], 0), numbers[1], numbers[2]), (moment,)


@jitable(inline=True)
def _ftrl(p, states, g, squared, root, before, numbers):
    """By the root of the squares, and the one before; ``numbers[0]`` is 1 / lr: quotients were more than the memory's
    time.
    """
    inverse, beta = simd.like(p, numbers[0]), simd.like(p, numbers[1])
    rate = simd.mul(simd.sub(root, before), inverse)
    linear = simd.add(states[1], simd.sub(g, simd.mul(rate, p)))
    divisor = simd.add(simd.mul(simd.add(beta, root), inverse), simd.like(p, numbers[3]))
    excess = simd.sub(_clip(linear, simd.like(p, numbers[2])), linear)
    return simd.div(excess, simd.larger(divisor, simd.like(p, LEAST_DIVISOR))), (squared, linear)


@jitable(inline=True)
def ftrl(p, states, g, squares, numbers):
    squared = simd.add(states[0], squares)
    return _ftrl(p, states, g, squared, simd.sqrt(squared), simd.sqrt(states[0]), numbers)


@jitable
def ftrl_pairs(p, states, g, squares, numbers):
    p, after = ftrl(p, (simd.evens(states[0]), simd.odds(states[0])), g, squares, numbers)
    return p, (simd.paired(after[0], after[1]),)


@jitable(inline=True)
def _power(x, numbers):
    """Squares to the power of number 4, where number 5 is the least that is taken to it."""
    return simd.exp(simd.mul(simd.like(x, numbers[4]), simd.log(simd.larger(x, simd.like(x, numbers[5])))))


@jitable(inline=True)
def powered_ftrl(p, states, g, squares, numbers):
    squared = simd.add(states[0], squares)
    return _ftrl(p, states, g, squared, _power(squared, numbers), _power(states[0], numbers), numbers)


@jitable
def powered_ftrl_pairs(p, states, g, squares, numbers):
    p, after = powered_ftrl(p, (simd.evens(states[0]), simd.odds(states[0])), g, squares, numbers)
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


@jitable
def adam(p, states, g, squares, numbers):
    first, second = _moving_average(states[0], g, numbers[1]), _moving_average(states[1], squares, numbers[2])
    return _scaled_step(p, first, second, numbers[0], numbers[3]), (first, second)


@jitable
def rowwise_adam(p, states, g, squares, numbers):
    first, second = _moving_average(states[0], g, numbers[1]), _first_lane(states[1])
    second = _moving_average(second, _first_lane(squares), numbers[2])
    p = _scaled_row(p, first, second, numbers[0], numbers[3])
    return p, (first, simd.like(p, simd.lane(second, 0)))


@jitable
def unscaled_adam(p, states, g, squares, numbers):
    first, second = _moving_average(states[0], g, numbers[1]), _moving_average(states[1], squares, numbers[2])
    return simd.sub(p, simd.mul(simd.like(p, numbers[0]), first)), (first, second)


@jitable
def amsgrad(p, states, g, squares, numbers):
    first, second = _moving_average(states[0], g, numbers[1]), _moving_average(states[1], squares, numbers[2])
    largest = simd.maximum(states[2], second)
    return _scaled_step(p, first, largest, numbers[0], numbers[3]), (first, second, largest)


@jitable
def lamb_direction(p, states, g, squares, numbers):
    """The direction in place of the parameter; the moments stay as they are."""
    return adam(simd.mul(simd.like(p, numbers[4]), p), states, g, squares, numbers)[0], states


@jitable
def lamb(p, states, g, squares, numbers):
    direction, after = adam(simd.mul(simd.like(p, numbers[4]), p), states, g, squares, numbers)
    return simd.sub(p, simd.mul(simd.like(p, numbers[5]), direction)), after


@jitable
def unscaled_amsgrad(p, states, g, squares, numbers):
    p, after = unscaled_adam(p, (states[0], states[1]), g, squares, numbers)
    return p, (after[0], after[1], simd.maximum(states[2], after[1]))


@jitable
def adamax(p, states, g, squares, numbers):
    """Numbers 3 and 4 are epsilon beside the gradient's size or on the norm."""
    first, size = _moving_average(states[0], g, numbers[1]), simd.add(_size(g), simd.like(p, numbers[3]))
    faded = simd.add(simd.mul(simd.like(p, numbers[2]), states[1]), simd.like(p, numbers[4]))
    norm = simd.maximum(faded, size)
    step = simd.div(simd.mul(simd.like(p, numbers[0]), first), simd.larger(norm, simd.like(p, LEAST_DIVISOR)))
    return simd.sub(p, step), (first, norm)


@jitable
def nadam(p, states, g, squares, numbers):
    first, second = _moving_average(states[0], g, numbers[1]), _moving_average(states[1], squares, numbers[2])
    ahead = simd.add(simd.mul(simd.like(p, numbers[4]), g), simd.mul(simd.like(p, numbers[0]), first))
    return _scaled_step(p, ahead, second, 1, numbers[3]), (first, second)


@jitable
def adabelief(p, states, g, squares, numbers):
    first = _moving_average(states[0], g, numbers[1])
    apart = simd.sub(g, first)
    spread = simd.add(_moving_average(states[1], simd.mul(apart, apart), numbers[2]), simd.like(p, numbers[4]))
    return _scaled_step(p, first, spread, numbers[0], numbers[3]), (first, spread)


@jitable
def smart_decay_adam(p, states, g, squares, numbers):
    """The last state is the number of steps that passed; one more for the same row in a call finds none."""
    passed, fading = states[2], simd.like(p, numbers[4])
    before = simd.exp(simd.mul(simd.sub(passed, simd.like(p, 1)), fading))
    missed = simd.maximum(simd.sub(simd.like(p, 1), before), simd.like(p, 0))
    ahead = simd.mul(states[0], simd.mul(simd.like(p, numbers[6]), missed))
    first, second = simd.mul(simd.like(p, numbers[1]), g), simd.mul(simd.like(p, numbers[2]), simd.mul(g, g))
    first = simd.add(simd.mul(states[0], simd.exp(simd.mul(passed, fading))), first)
    second = simd.add(simd.mul(states[1], simd.exp(simd.mul(passed, simd.like(p, numbers[5])))), second)
    p = _scaled_step(p, simd.add(first, ahead), second, numbers[0], numbers[3])
    return p, (first, second, simd.like(p, 0))


@jitable
def lion(p, states, g, squares, numbers):
    sign = _sign(_moving_average(states[0], g, numbers[1]))
    return simd.sub(p, simd.mul(simd.like(p, numbers[0]), sign)), (_moving_average(states[0], g, numbers[2]),)


@jitable
def adadelta(p, states, g, squares, numbers):
    epsilon, square = simd.like(p, numbers[2]), _moving_average(states[0], squares, numbers[1])
    step = simd.mul(simd.sqrt(simd.div(simd.add(states[1], epsilon), simd.add(square, epsilon))), g)
    change = _moving_average(states[1], simd.mul(step, step), numbers[1])
    return simd.sub(p, simd.mul(simd.like(p, numbers[0]), step)), (square, change)


@jitable(inline=True)
def _step_along_root(p, g, variance, velocity, numbers):
    """rmsprop's step over the root of a variance; numbers 3 and 5 are epsilon inside the root or beside it."""
    root = simd.add(simd.sqrt(simd.add(variance, simd.like(p, numbers[3]))), simd.like(p, numbers[5]))
    step = simd.div(simd.mul(simd.like(p, numbers[0]), g), root)
    velocity = simd.add(simd.mul(simd.like(p, numbers[2]), velocity), step)
    return simd.sub(p, simd.mul(simd.like(p, numbers[4]), velocity)), velocity


@jitable
def rmsprop(p, states, g, squares, numbers):
    square = _moving_average(states[0], squares, numbers[1])
    p, velocity = _step_along_root(p, g, square, states[1], numbers)
    return p, (square, velocity)


@jitable
def centered_rmsprop(p, states, g, squares, numbers):
    """Each product is rounded, as in Paddle: where all gradients were alike, the variance is what rounding leaves."""
    kept, scaled = simd.like(p, numbers[6]), simd.mul_rounded(simd.like(p, numbers[1]), g)
    square = simd.add(simd.mul_rounded(kept, states[0]), simd.mul_rounded(scaled, g))
    mean = simd.add(simd.mul_rounded(kept, states[2]), scaled)
    least = simd.mul(simd.like(p, numbers[3]), simd.like(p, -0.5))
    variance = simd.maximum(simd.sub(square, simd.mul_rounded(mean, mean)), least)
    p, velocity = _step_along_root(p, g, variance, states[1], numbers)
    return p, (square, velocity, mean)


@jitable
def storm(p, states, g, squares, numbers):
    moment = simd.add(g, simd.mul(simd.like(p, numbers[1]), simd.sub(states[0], g)))
    return simd.sub(p, simd.mul(simd.like(p, numbers[0]), moment)), (moment,)


@jitable
def shrink(p, states, g, squares, numbers):
    return simd.mul(p, simd.like(p, numbers[0])), states


@jitable
def soft_threshold(p, states, g, squares, numbers):
    return simd.sub(p, _clip(p, simd.like(p, numbers[0]))), states


@jitable(inline=True)
def _to_norm(p, squares, numbers):
    """The factor that gives a row its norm."""
    squares = _first_lane(squares)
    size = simd.add(simd.sqrt(simd.mul(squares, simd.like(squares, numbers[1]))), simd.like(squares, 1e-12))
    return simd.like(p, simd.lane(simd.div(simd.like(size, numbers[0]), size), 0))


@jitable
def normalize(p, states, g, squares, numbers):
    return simd.mul(p, _to_norm(p, squares, numbers)), states


@jitable
def normalize_down(p, states, g, squares, numbers):
    return simd.mul(p, simd.minimum(_to_norm(p, squares, numbers), simd.like(p, 1))), states
