"""Updates with moving averages, in place: momentum, adadelta, rmsprop, lion.

Averages decay where there is no gradient. With SelectedRows all rows take the step of the dense gradient; with
``lazy`` only the listed rows do, in time proportional to their number.
"""

from __future__ import annotations

import numpy as np

from .shared.optimizer import optimizer
from .shared.updates import LEAST_DIVISOR

DOCS_PAGE = "update"
SEARCH_WORDS = {"momentum": "SGD with momentum, nesterov", "rmsprop": "RMSprop", "lion": "Lion", "adadelta": "Adadelta"}


def check_dampening(nesterov, dampening):
    """Refuse dampening of Nesterov's momentum, which no system knows."""
    if nesterov and dampening:
        raise ValueError("nesterov takes no dampening: its step looks ahead along the whole gradient")


def _momentum_numbers(lr, momentum, dampening, nesterov, rate_in_velocity):
    check_dampening(nesterov, dampening)
    inner, outer = (lr, 1.0) if rate_in_velocity else (1.0, lr)
    return "nesterov" if nesterov else "momentum", (momentum, (1 - dampening) * inner, outer)


@optimizer(
    "Momentum",
    "Steps along a velocity that gathers gradients; dampening and Nesterov's look ahead by choice.",
    numbers=_momentum_numbers,
)
def momentum(
    param,
    grad,
    velocity,
    /,
    *,
    lr,
    momentum=0.9,
    dampening=0.0,
    nesterov=False,
    rate_in_velocity=False,
    return_step=False,
):
    """Update ``velocity = momentum * velocity + (1 - dampening) * grad; param -= lr * velocity``; return both.

    Paddle's momentum and torch.optim.SGD; with ``rate_in_velocity`` Caffe2's MomentumSGDUpdate and
    SparseMomentumSGDUpdate.

    Parameters
    ----------
    velocity : array like param
        Usually zeros at first.
    dampening : float
        PyTorch takes the first step, from zeros, without.
    nesterov : bool
        Step by ``grad + momentum * velocity`` instead.
    rate_in_velocity : bool
        The velocity holds ``lr * grad``: a change of the learning rate acts slowly.
    return_step : bool
        Also return the step that was subtracted from the parameter: an array like the gradient, or like the value of
        SelectedRows. Duplicates must then be sequential.
    lazy : bool
        True if rows that SelectedRows do not list stay, and keep their velocity.

    >>> param, velocity = np.zeros(2), np.ones(2)
    >>> momentum(param, np.array([1., 2.]), velocity, lr=0.5, momentum=0.5)
    (array([-0.75, -1.25]), array([1.5, 2.5]))
    """
    check_dampening(nesterov, dampening)
    inner, outer = (lr, 1.0) if rate_in_velocity else (1.0, lr)
    scaled = inner * grad * (1 - dampening)
    velocity = momentum * velocity + scaled
    return param - outer * (scaled + momentum * velocity if nesterov else velocity), velocity


@momentum.infer_rule
def _(param, grad, velocity, *, return_step=False, **attrs):
    return (param, velocity, grad.but(type=param.type, dims=(-1, *grad.dims[1:]))) if return_step else (param, velocity)


@optimizer(
    "Adadelta",
    "Steps scaled by the size of earlier ones.",
    positive=("epsilon",),
    numbers=lambda lr, decay, epsilon: (lr, 1 - decay, epsilon),
)
def adadelta(param, grad, square, change, /, *, lr, decay=0.95, epsilon=1e-6):
    """Step by Adadelta: ``param -= lr * sqrt((change + epsilon) / (square + epsilon)) * grad``; return all three.

    ``square = decay * square + (1 - decay) * grad**2`` comes before, the same of ``step**2`` for change after.
    The operator corresponds to Paddle's adadelta, Caffe2's Adadelta and SparseAdadelta, torch.optim.Adadelta.

    Parameters
    ----------
    square, change : arrays like param
        Averages of the squares of gradients and of steps; zeros at first.

    >>> adadelta(np.zeros(1), np.array([2.]), np.zeros(1), np.zeros(1), lr=1.0, decay=0.5, epsilon=2.0)
    (array([-1.41421356]), array([2.]), array([1.]))
    """
    square = decay * square + (1 - decay) * grad * grad
    step = np.sqrt((change + epsilon) / (square + epsilon)) * grad
    return param - lr * step, square, decay * change + (1 - decay) * step * step


def _rmsprop_numbers(count, lr, decay, momentum, epsilon, epsilon_in_root, rate_in_velocity):
    inside, beside = (epsilon, 0.0) if epsilon_in_root else (0.0, epsilon)
    inner, outer = (lr, 1.0) if rate_in_velocity else (1.0, lr)
    numbers = inner, 1 - decay, momentum, inside, outer, beside, decay
    return "rmsprop" if count == 2 else "centered_rmsprop", numbers


@optimizer(
    "RMSprop",
    "Steps over the root of averaged squares; ``centered=True`` subtracts the squared average of gradients.",
    positive=("epsilon",),
    numbers=_rmsprop_numbers,
    flags={"centered": "mean"},
)
def rmsprop(
    param,
    grad,
    square,
    velocity,
    mean=None,
    /,
    *,
    lr,
    decay=0.9,
    momentum=0.0,
    epsilon=1e-10,
    epsilon_in_root=True,
    rate_in_velocity=True,
):
    """Update ``velocity = momentum * velocity + lr * grad / sqrt(square + epsilon); param -= velocity``; return all.

    ``square = decay * square + (1 - decay) * grad**2`` comes before. Paddle's rmsprop; Caffe2's RmsProp, which leaves
    the parameter to another operator; torch.optim.RMSprop where both switches are False.

    Parameters
    ----------
    square, velocity : arrays like param
        The average of squares, and the decayed sum of earlier steps; zeros at first.
    mean : array like param, optional
        Centered: the average of gradients, whose square is subtracted from the average of squares; zeros at first.
    epsilon_in_root : bool
        False: divide by ``sqrt(square) + epsilon``.
    rate_in_velocity : bool
        False: the learning rate scales the velocity, not what is added to it.

    >>> rmsprop(np.zeros(1), np.array([2.]), np.zeros(1), np.zeros(1), lr=1.0, decay=0.75, epsilon=3.0)
    (array([-1.]), array([1.]), array([1.]))
    """
    square = variance = decay * square + (1 - decay) * grad * grad
    if mean is not None:
        mean = decay * mean + (1 - decay) * grad
        variance = np.maximum(square - mean * mean, -epsilon / 2 if epsilon_in_root else 0)
    root = np.sqrt(variance + epsilon) if epsilon_in_root else np.sqrt(variance) + epsilon
    inner, outer = (lr, 1.0) if rate_in_velocity else (1.0, lr)
    velocity = momentum * velocity + inner * grad / root
    return param - outer * velocity, square, velocity, mean


@optimizer(
    "Lion",
    "Steps of one size, by the sign of averaged gradients.",
    numbers=lambda lr, beta1, beta2: (lr, 1 - beta1, 1 - beta2),
)
def lion(param, grad, moment, /, *, lr, beta1=0.9, beta2=0.99):
    """Step by Lion: ``param -= lr * sign(beta1 * moment + (1 - beta1) * grad)``; return parameter and moment.

    ``moment = beta2 * moment + (1 - beta2) * grad`` comes after. Every element takes a step of one size; where gradient
    and moment are 0 there is none.

    Parameters
    ----------
    moment : array like param
        The averaged gradient; zeros at first.
    decoupled : bool
        As in sgd; True for the decay of the paper.

    >>> lion(np.zeros(3), np.array([5., -0.1, 0.]), np.zeros(3), lr=0.5, beta2=0.5)
    (array([-0.5,  0.5,  0. ]), array([ 2.5 , -0.05,  0.  ]))
    """
    between = beta1 * moment + (1 - beta1) * grad
    step = between / np.maximum(np.abs(between), LEAST_DIVISOR)
    return param - lr * step, beta2 * moment + (1 - beta2) * grad
