"""Updates with moving averages, in place: momentum, adam, adadelta, rmsprop.

Averages decay where there is no gradient. With SelectedRows all rows take the step of the dense gradient; with
``lazy`` only the listed rows do, in time proportional to their number.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Scalar
from ..lod import SelectedRows
from ..registry import Dense, op
from .optimizers import ALL, example_of
from .shared.updates import (
    LEAST_DIVISOR,
    Duplicates,
    adam_rate,
    check_rule,
    check_update,
    grad_steps,
    learning_rate,
    per_row,
    row_means,
)


def check_record(grad, duplicates):
    """Refuse to record the steps of rows that are merged first."""
    if isinstance(grad, SelectedRows) and duplicates != "sequential":
        raise ValueError('return_step with SelectedRows needs duplicates="sequential" and lazy=True')


@op(updates=("param", "velocity"))
def momentum(
    param: Dense,
    grad: Dense | SelectedRows,
    velocity: Dense,
    /,
    *,
    lr: Scalar,
    momentum: float = 0.9,
    nesterov: bool = False,
    duplicates: Duplicates = "merge",
    lazy: bool = False,
    rate_in_velocity: bool = False,
    return_step: bool = False,
) -> tuple[Dense, ...]:
    """``velocity = momentum * velocity + grad; param -= lr * velocity``, in place; returns both.

    Paddle's momentum and torch.optim.SGD; with ``rate_in_velocity`` Caffe2's MomentumSGDUpdate and
    SparseMomentumSGDUpdate.

    Parameters
    ----------
    velocity : array like param
        Usually zeros at first.
    lr : float or one-element array
    nesterov : bool
        Step by ``grad + momentum * velocity`` instead.
    duplicates : {"merge", "sequential"}
        Rows that SelectedRows lists twice: updated once by their sum, or one after another (Caffe2).
    lazy : bool
        True if SelectedRows leave other rows and their velocity alone.
    rate_in_velocity : bool
        The velocity holds ``lr * grad``: a change of the learning rate acts slowly.
    return_step : bool
        Also return the step that was subtracted from the parameter: an array like the gradient, or like the value of
        SelectedRows, whose duplicates must be sequential.

    >>> param, velocity = np.zeros(2), np.ones(2)
    >>> momentum(param, np.array([1., 2.]), velocity, lr=0.5, momentum=0.5)
    (array([-0.75, -1.25]), array([1.5, 2.5]))
    """
    check_update("momentum", param, grad, ("velocity",), (velocity,))
    check_rule(momentum=momentum)
    lr, steps = learning_rate(lr), []
    inner, outer = (lr, 1.0) if rate_in_velocity else (1.0, lr)
    if return_step:
        check_record(grad, duplicates)
    for where, g in grad_steps(grad, duplicates, not lazy):
        v = momentum * velocity[where].astype(np.float64) + inner * g
        steps.append(outer * (inner * g + momentum * v if nesterov else v))
        velocity[where] = v
        param[where] = param[where] - steps[-1]
    if not return_step:
        return param, velocity
    value = grad.value if isinstance(grad, SelectedRows) else grad
    return param, velocity, np.reshape(steps, value.shape).astype(param.dtype)


@momentum.infer_rule
def _(param, grad, velocity, *, return_step=False, **attrs):
    return (param, velocity, grad.but(type=param.type, dims=(-1, *grad.dims[1:]))) if return_step else (param, velocity)


@op(updates=("param", "moment1", "moment2"))
def adam(
    param: Dense,
    grad: Dense | SelectedRows,
    moment1: Dense,
    moment2: Dense,
    /,
    *,
    lr: Scalar,
    iteration: Scalar,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    duplicates: Duplicates = "merge",
    lazy: bool = False,
    rectified: bool = False,
) -> tuple[Dense, Dense, Dense]:
    """Adam: steps along the averaged gradient, over the root of the averaged squares; returns parameter and moments.

    ``moment1 = beta1 * moment1 + (1 - beta1) * grad``, the same of ``grad**2`` with beta2, and
    ``param -= rate * moment1 / (sqrt(moment2) + epsilon)``. The rate is ``lr * sqrt(1 - beta2**t) / (1 - beta1**t)``,
    where t is ``iteration + 1``. Paddle's adam, Caffe2's Adam and SparseAdam; torch has the epsilon inside.

    Parameters
    ----------
    moment1, moment2 : arrays like param
        Averages of the gradient and of its squares; zeros at first.
    lr : float or one-element array
    iteration : int or one-element array
        Number of steps before this one.
    duplicates : {"merge", "sequential"}
        Rows that SelectedRows lists twice: updated once by their sum, or one after another (Caffe2).
    lazy : bool
        True if SelectedRows leave other rows and their moments alone.
    rectified : bool
        RAdam: the first steps are not divided by the root of the averaged squares, the next ones are shortened.
        Caffe2's enableRAdam.

    >>> param = np.zeros(2)
    >>> adam(param, np.array([1., -2.]), np.zeros(2), np.zeros(2), lr=0.1, iteration=0)[0].round(6)
    array([-0.1,  0.1])
    """
    check_update("adam", param, grad, ("moment1", "moment2"), (moment1, moment2))
    rate, scaled = adam_rate(lr, beta1, beta2, iteration, rectified)
    check_rule(epsilon=epsilon)
    for where, g in grad_steps(grad, duplicates, not lazy):
        m, v = beta1 * moment1[where] + (1 - beta1) * g, beta2 * moment2[where] + (1 - beta2) * g * g
        moment1[where], moment2[where] = m, v
        param[where] = param[where] - rate * m / (np.maximum(np.sqrt(v) + epsilon, LEAST_DIVISOR) if scaled else 1)
    return param, moment1, moment2


@op(updates=("param", "moment1", "moment2"))
def rowwise_adam(
    param: Dense,
    grad: Dense | SelectedRows,
    moment1: Dense,
    moment2: Dense,
    /,
    *,
    lr: Scalar,
    iteration: Scalar,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    duplicates: Duplicates = "merge",
    lazy: bool = False,
    rectified: bool = False,
) -> tuple[Dense, Dense, Dense]:
    """adam with one average of squares per row, that of their mean; returns parameter and moments.

    Caffe2's RowWiseSparseAdam, FBGEMM's partial_rowwise_adam.

    Parameters
    ----------
    moment1 : array like param
    moment2 : array of shape (rows of param,)
    lr, iteration, beta1, beta2, epsilon, duplicates, lazy, rectified
        As in adam.

    >>> param, grad = np.zeros((1, 2)), np.array([[3., 4.]])
    >>> rowwise_adam(param, grad, np.zeros((1, 2)), np.zeros(1), lr=0.1, iteration=0, beta2=0.5)[2]
    array([6.25])
    """
    check_update("rowwise_adam", param, grad, ("moment1", "moment2"), (moment1, moment2), rowwise=True)
    rate, scaled = adam_rate(lr, beta1, beta2, iteration, rectified)
    check_rule(epsilon=epsilon)
    for where, g in grad_steps(grad, duplicates, not lazy):
        m, v = beta1 * moment1[where] + (1 - beta1) * g, beta2 * moment2[where] + (1 - beta2) * row_means(g * g)
        moment1[where], moment2[where] = m, v
        divisor = per_row(np.maximum(np.sqrt(v) + epsilon, LEAST_DIVISOR), m) if scaled else 1
        param[where] = param[where] - rate * m / divisor
    return param, moment1, moment2


@op(updates=("param", "square", "change"))
def adadelta(
    param: Dense,
    grad: Dense | SelectedRows,
    square: Dense,
    change: Dense,
    /,
    *,
    lr: Scalar,
    decay: float = 0.95,
    epsilon: float = 1e-6,
    duplicates: Duplicates = "merge",
    lazy: bool = False,
) -> tuple[Dense, Dense, Dense]:
    """Adadelta: ``step = sqrt((change + epsilon) / (square + epsilon)) * grad; param -= lr * step``; returns all three.

    ``square = decay * square + (1 - decay) * grad**2`` comes before, the same of ``step**2`` for change after.
    Paddle's adadelta, Caffe2's Adadelta and SparseAdadelta.

    Parameters
    ----------
    square, change : arrays like param
        Averages of the squares of gradients and of steps; zeros at first.
    lr : float or one-element array
    duplicates, lazy
        As in adam.

    >>> adadelta(np.zeros(1), np.array([2.]), np.zeros(1), np.zeros(1), lr=1.0, decay=0.5, epsilon=2.0)
    (array([-1.41421356]), array([2.]), array([1.]))
    """
    check_update("adadelta", param, grad, ("square", "change"), (square, change))
    check_rule(decay=decay, positive_epsilon=epsilon)
    lr = learning_rate(lr)
    for where, g in grad_steps(grad, duplicates, not lazy):
        h, d = decay * square[where].astype(np.float64) + (1 - decay) * g * g, change[where].astype(np.float64)
        step = np.sqrt((d + epsilon) / (h + epsilon)) * g
        square[where], change[where] = h, decay * d + (1 - decay) * step * step
        param[where] = param[where] - lr * step
    return param, square, change


@op(updates=("param", "square", "velocity"))
def rmsprop(
    param: Dense,
    grad: Dense | SelectedRows,
    square: Dense,
    velocity: Dense,
    /,
    *,
    lr: Scalar,
    decay: float = 0.9,
    momentum: float = 0.0,
    epsilon: float = 1e-10,
    duplicates: Duplicates = "merge",
    lazy: bool = False,
) -> tuple[Dense, Dense, Dense]:
    """``velocity = momentum * velocity + lr * grad / sqrt(square + epsilon); param -= velocity``; returns all three.

    ``square = decay * square + (1 - decay) * grad**2`` comes before. Paddle's rmsprop; Caffe2's RmsProp, which leaves
    the parameter to another operator.

    Parameters
    ----------
    square, velocity : arrays like param
        The average of squares, and the decayed sum of earlier steps; zeros at first.
    lr : float or one-element array
    duplicates, lazy
        As in adam.

    >>> rmsprop(np.zeros(1), np.array([2.]), np.zeros(1), np.zeros(1), lr=1.0, decay=0.75, epsilon=3.0)
    (array([-1.]), array([1.]), array([1.]))
    """
    check_update("rmsprop", param, grad, ("square", "velocity"), (square, velocity))
    check_rule(decay=decay, momentum=momentum, positive_epsilon=epsilon)
    lr = learning_rate(lr)
    for where, g in grad_steps(grad, duplicates, not lazy):
        h = decay * square[where].astype(np.float64) + (1 - decay) * g * g
        v = momentum * velocity[where].astype(np.float64) + lr * g / np.sqrt(h + epsilon)
        square[where], velocity[where] = h, v
        param[where] = param[where] - v
    return param, square, velocity


momentum.example(example_of(ALL))
adam.example(example_of(ALL, ALL, iteration=1))
rowwise_adam.example(example_of(ALL, 0, iteration=1))
for _operator in (adadelta, rmsprop):
    _operator.example(example_of(ALL, ALL))
