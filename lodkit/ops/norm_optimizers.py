"""Updates whose rate is made of norms over all of the parameter or its gradient.

wngrad and storm sum the squares of all gradients so far; lars and lamb compare norms of one step.
"""

from __future__ import annotations

import math

import numpy as np

from ..arrays import FLOATING, Drafts, Scalar, cast_to, writable
from ..base.errors import DTypeError, ShapeMismatchError
from ..lod import SelectedRows
from ..registry import Dense, op, takes_bfloat16
from .adam_optimizers import direction_numbers
from .optimizers import sgd
from .shared import plain
from .shared.optimizer import optimizer
from .shared.optimizer_record import describe
from .shared.updates import (
    LEAST_DIVISOR,
    Duplicates,
    check_rule,
    check_target,
    check_update,
    grad_steps,
    learning_rate,
    one_number,
)

DOCS_PAGE = "update"
SEARCH_WORDS = {"dpsgd": "differential privacy, noise", "lamb": "LAMB, large batch", "lars": "LARS, large batch"}


def prepare(on, name, param, grad, states, what, total, duplicates):
    """Check all inputs before a rate is made of them. Returns the number to update, and the gradient's squared norm: of
    its merged rows unless ``duplicates`` are ``sequential``.
    """
    check_update(name, param, grad, ("moment",) if states else (), states)
    if tuple(total.shape) != (1,):
        raise ShapeMismatchError(f"{name}: {what} has shape {tuple(total.shape)}; pass one number, of shape (1,)")
    if writable(total, f"{name}: {what}").dtype not in (np.float32, np.float64):
        raise DTypeError(
            f"{name}: {what} must be float32 or float64, not {total.dtype}; {cast_to(np.float64, of=total.dtype)}"
        )
    sparse = isinstance(grad, SelectedRows)
    on.refuse_overlap(what, total, (param, grad.value if sparse else grad, *states))
    if sparse:
        grad = (grad if duplicates == "sequential" else on.merge_rows(grad)).value
    return float(on.read(total)[0]), on.squared_norm(grad)


def wngrad_numbers(lr, epsilon, before, square):
    """The rate of a step, and the number after it."""
    check_rule(epsilon=epsilon)
    divisor = before + epsilon
    if not divisor > 0:
        raise ValueError(f"wngrad: scale + epsilon must be larger than 0, got {before} + {epsilon}")
    return learning_rate(lr) / divisor, before + square / divisor


def storm_numbers(lr, momentum, beta, before, square):
    """The rate of a step, the share of the moment that is kept, and the number after it."""
    check_rule(momentum=momentum, beta=beta)
    after = before + square
    if not after + beta > 0:
        raise ValueError(f"storm: beta + total must be larger than 0, got {beta} + {after}")
    rate = learning_rate(lr) * (beta + after) ** (-1 / 3)
    return rate, 1 - momentum * rate * rate, after


@op(updates=("param", "scale"), types=FLOATING)
def wngrad(
    param: Dense,
    grad: Dense | SelectedRows,
    scale: Dense,
    /,
    *,
    lr: Scalar,
    epsilon: float = 1e-5,
    duplicates: Duplicates = "merge",
) -> tuple[Dense, Dense]:
    """Update ``param -= lr / (scale + epsilon) * grad; scale += sum(grad**2) / (scale + epsilon)``; return both.

    WNGrad; Caffe2's Wngrad and SparseWngrad. Rows without gradient stay, so SelectedRows equal the dense update.

    Parameters
    ----------
    scale : array of shape (1,)
        One number for the parameter; ones at first. On a GPU the call synchronises to read it.
    lr : float or one-element array
    epsilon : float
        Added to the divisor.
    duplicates : {"merge", "sequential"}
        Rows that SelectedRows lists twice: added up before they are squared, or not (Caffe2).

    >>> wngrad(np.zeros(2), np.array([3., 4.]), np.ones(1), lr=1.0, epsilon=0.0)
    (array([-3., -4.]), array([26.]))
    """
    rate, after = wngrad_numbers(lr, epsilon, *prepare(plain, "wngrad", param, grad, (), "scale", scale, duplicates))
    with Drafts(param, scale) as (stepped, number):
        for where, g in grad_steps(grad, duplicates):
            stepped[where] = stepped[where] - rate * g
        number[0] = after
    return param, scale


@op(updates=("param", "moment", "total"), types=FLOATING)
def storm(
    param: Dense,
    grad: Dense | SelectedRows,
    moment: Dense,
    total: Dense,
    /,
    *,
    lr: Scalar,
    momentum: float = 10.0,
    beta: float = 0.1,
    duplicates: Duplicates = "merge",
    lazy: bool = False,
) -> tuple[Dense, Dense, Dense]:
    """Step by STORM, along a corrected average of gradients; return parameter, moment and total.

    ``total += sum(grad**2); rate = lr * (beta + total)**(-1/3); moment = grad + (1 - momentum * rate**2) *
    (moment - grad); param -= rate * moment``. The operator corresponds to Caffe2's Storm and SparseStorm.

    Parameters
    ----------
    moment : array like param
        Zeros at first.
    total : array of shape (1,)
        Squares of all gradients so far; zero at first. On a GPU the call synchronises to read it.
    lr : float or one-element array
    momentum, beta : float
        As in the formulas.
    duplicates : {"merge", "sequential"}
        Rows that SelectedRows lists twice: updated once by their sum, or one after another (Caffe2).
    lazy : bool
        True if SelectedRows leave other rows and their moment alone.

    >>> storm(np.zeros(1), np.array([2.]), np.zeros(1), np.full(1, 4.), lr=1.0, momentum=1.0, beta=0.0)
    (array([-0.25]), array([0.5]), array([8.]))
    """
    found = prepare(plain, "storm", param, grad, (moment,), "total", total, duplicates)
    rate, kept, after = storm_numbers(lr, momentum, beta, *found)
    with Drafts(param, moment, total) as (stepped, average, number):
        for where, g in grad_steps(grad, duplicates, not lazy):
            average[where] = m = g + kept * (average[where] - g)
            stepped[where] = stepped[where] - rate * m
        number[0] = after
    return param, moment, total


def lars_rate(lr, coefficient, weight_decay, epsilon, param, grad):
    """The rate of a parameter by its norm and that of its gradient, from their squares."""
    param, grad = math.sqrt(param), math.sqrt(grad)
    if not (param > 0 and grad > 0):
        return lr
    return lr * coefficient * param / (grad + weight_decay * param + epsilon)


def trust_ratio(param, step):
    """The norm of a parameter over that of its step, from their squares; 1 where either is 0."""
    return math.sqrt(param) / math.sqrt(step) if param > 0 and step > 0 else 1.0


@optimizer("LARS", "Momentum scaled by the norms of the parameter and its gradient.", whole=True)
def lars(param, grad, velocity, /, *, lr, momentum=0.9, coefficient=1e-3, weight_decay=0.0, epsilon=0.0):
    """Step by LARS: momentum with a rate for each parameter; return parameter and velocity.

    ``rate = lr * coefficient * |param| / (|grad| + weight_decay * |param| + epsilon)``, lr itself where a norm is 0;
    ``velocity = momentum * velocity + rate * (grad + weight_decay * param); param -= velocity``. Paddle's
    lars_momentum.

    Parameters
    ----------
    velocity : array like param
        Zeros at first.
    coefficient : float
        Share of the parameter's norm that a step has.
    weight_decay : float
        Share of the parameter that is added to the gradient.
    lazy : bool
        True if SelectedRows leave other rows alone; norms are then of the listed rows.
    lr, duplicates, maximize, clip_value, clip_norm, mask
        As in sgd; duplicates are merged. On a GPU the call synchronises to read the norms.

    >>> lars(np.array([3., 4.]), np.array([0., 5.]), np.zeros(2), lr=1.0, coefficient=0.1)
    (array([3. , 3.5]), array([0. , 0.5]))
    """
    squares = (param * param).sum(), (grad * grad).sum()
    rate = lars_rate(lr, coefficient, weight_decay, epsilon, *squares)
    velocity = momentum * velocity + rate * (grad + weight_decay * param)
    return param - velocity, velocity


@optimizer("LAMB", "Adam scaled by the norms of the parameter and the step.", whole=True)
def lamb(
    param,
    grad,
    moment1,
    moment2,
    /,
    *,
    lr,
    iteration,
    beta1=0.9,
    beta2=0.999,
    epsilon=1e-6,
    weight_decay=0.01,
    bias_correction=True,
):
    """Step by LAMB: adam, scaled to the norm of the parameter; return parameter and moments.

    ``step = adam's with corrected_epsilon and a rate of 1, + weight_decay * param; param -= lr * |param| / |step| *
    step``; the factor is 1 where a norm is 0. The operator corresponds to Paddle's lamb.

    Parameters
    ----------
    moment1, moment2, iteration, beta1, beta2, epsilon
        As in adam.
    bias_correction : bool
        Without, moments are not corrected for zeros at first: the step is ``moment1 / (sqrt(moment2) + epsilon)``, as
        in Paddle before 2.1.
    weight_decay : float
        Share of the parameter that is added to the step.
    lazy : bool
        True if SelectedRows leave other rows alone; norms are then of the listed rows.
    lr, duplicates, maximize, clip_value, clip_norm, mask
        As in sgd; duplicates are merged. On a GPU the call synchronises to read the norms.

    >>> zeros = np.zeros(2), np.zeros(2)
    >>> lamb(np.array([3., 4.]), np.array([1., 1.]), *zeros, lr=0.1, iteration=0, weight_decay=0.0)[0].round(4)
    array([2.6464, 3.6464])
    """
    rate, epsilon = direction_numbers(beta1, beta2, epsilon, iteration, bias_correction)
    moment1, moment2 = beta1 * moment1 + (1 - beta1) * grad, beta2 * moment2 + (1 - beta2) * grad * grad
    step = rate * moment1 / np.maximum(np.sqrt(moment2) + epsilon, LEAST_DIVISOR) + weight_decay * param
    ratio = trust_ratio((param * param).sum(), (step * step).sum())
    return param - lr * ratio * step, moment1, moment2


def gaussian(shape, sigma, seed, iteration):
    """The noise of dpsgd, the same on every device."""
    stream = np.random.SeedSequence(seed, spawn_key=(int(one_number(iteration)),))
    return np.random.default_rng(stream).normal(0, sigma, tuple(shape))


def check_noise(clip_norm, batch_size, sigma, seed, iteration):
    """Refuse numbers of dpsgd that have no meaning."""
    check_rule(clip_norm=clip_norm, batch_size=batch_size, sigma=sigma, seed=seed, iteration=one_number(iteration))


@op(updates=True, types=FLOATING)
def dpsgd(
    param: Dense,
    grad: Dense | SelectedRows,
    /,
    *,
    lr: Scalar,
    clip_norm: float,
    batch_size: float = 1.0,
    sigma: float = 0.0,
    seed: int = 0,
    iteration: Scalar | int = 0,
    duplicates: Duplicates = "merge",
) -> Dense:
    """Step by differentially private sgd: clip the gradient's norm, add Gaussian noise; return the parameter.

    ``param -= lr * (grad * min(1, clip_norm / |grad|) + noise / batch_size)``. Paddle's dpsgd, which adds one number to
    all elements, and the same at each step; here each element and step has its own.

    Parameters
    ----------
    clip_norm : float
        Largest norm of the gradient.
    batch_size : float
    sigma : float
        Standard deviation of the noise; with noise all rows change.
    seed, iteration : int
        The noise is drawn from both: no step may repeat one.
    lr, duplicates
        As in sgd.

    >>> dpsgd(np.zeros(2), np.array([3., 4.]), lr=1.0, clip_norm=1.0)
    array([-0.6, -0.8])
    """
    check_noise(clip_norm, batch_size, sigma, seed, iteration)
    check_target("dpsgd", param)
    with Drafts(param) as (stepped,):
        sgd.definition(stepped, grad, lr=lr, duplicates=duplicates, clip_norm=clip_norm)
        if sigma:
            noise = gaussian(param.shape, sigma, seed, iteration)
            stepped[...] = stepped - learning_rate(lr) / batch_size * noise
    return param


describe(
    wngrad,
    "WNGrad",
    "Gradient descent whose rate shrinks by the norms of all gradients so far, one number per parameter.",
    touches_all=False,
    whole=True,
    single=True,
    start=1.0,
)
describe(
    storm,
    "Storm",
    "Momentum that corrects earlier gradients, at a rate by the norms of all so far; ``beta`` is larger than 0.",
    positive=("beta",),
    whole=True,
    single=True,
)
describe(
    dpsgd,
    "DPSGD",
    "SGD with the gradient of each parameter clipped by its norm, and Gaussian noise, another for each parameter.",
    touches_all=lambda attrs: attrs["sigma"] > 0,
    whole=True,
    class_defaults={"clip_norm": 1.0},
)
takes_bfloat16(wngrad, storm, dpsgd)
