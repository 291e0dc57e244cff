"""Updates whose rate falls with the norm of all gradients so far, one number per parameter: wngrad, storm."""

from __future__ import annotations

import numpy as np

from ..arrays import Scalar, writable
from ..errors import DTypeError, ShapeMismatchError
from ..lod import SelectedRows
from ..registry import Dense, op
from .optimizers import adagrad, sgd
from .shared import plain
from .shared.updates import Duplicates, check_rule, check_update, grad_steps, learning_rate


def prepare(on, name, param, grad, states, what, total, duplicates):
    """Check all inputs before a rate is made of them.

    Returns
    -------
    before, square
        The number to update, and the squared norm of the gradient: of its merged rows unless ``duplicates`` are
        ``sequential``.
    """
    check_update(name, param, grad, ("moment",) if states else (), states)
    if tuple(total.shape) != (1,):
        raise ShapeMismatchError(f"{name}: {what} has shape {tuple(total.shape)}; pass one number, of shape (1,)")
    if writable(total, f"{name}: {what}").dtype not in (np.float32, np.float64):
        raise DTypeError(f"{name}: {what} must be float32 or float64, not {total.dtype}; convert with .astype(...)")
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


@op(updates=("param", "scale"))
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
    """``param -= lr / (scale + epsilon) * grad; scale += sum(grad**2) / (scale + epsilon)``, in place; returns both.

    WNGrad; Caffe2's Wngrad and SparseWngrad. Rows without gradient stay, so SelectedRows equal the dense update.

    Parameters
    ----------
    scale : array of shape (1,)
        One number for the parameter; ones at first. On a GPU the call synchronises to read it.
    lr : float or one-element array
    duplicates : {"merge", "sequential"}
        Rows that SelectedRows lists twice: added up before they are squared, or not (Caffe2).

    >>> wngrad(np.zeros(2), np.array([3., 4.]), np.ones(1), lr=1.0, epsilon=0.0)
    (array([-3., -4.]), array([26.]))
    """
    rate, after = wngrad_numbers(lr, epsilon, *prepare(plain, "wngrad", param, grad, (), "scale", scale, duplicates))
    for where, g in grad_steps(grad, duplicates):
        param[where] = param[where] - rate * g
    scale[0] = after
    return param, scale


@op(updates=("param", "moment", "total"))
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
    """STORM: steps along a corrected average of gradients; returns parameter, moment and total.

    ``total += sum(grad**2); rate = lr * (beta + total)**(-1/3); moment = grad + (1 - momentum * rate**2) *
    (moment - grad); param -= rate * moment``. Caffe2's Storm and SparseStorm.

    Parameters
    ----------
    moment : array like param
        Zeros at first.
    total : array of shape (1,)
        Squares of all gradients so far; zero at first. On a GPU the call synchronises to read it.
    lr : float or one-element array
    duplicates : {"merge", "sequential"}
        Rows that SelectedRows lists twice: updated once by their sum, or one after another (Caffe2).
    lazy : bool
        True if SelectedRows leave other rows and their moment alone.

    >>> storm(np.zeros(1), np.array([2.]), np.zeros(1), np.full(1, 4.), lr=1.0, momentum=1.0, beta=0.0)
    (array([-0.25]), array([0.5]), array([8.]))
    """
    found = prepare(plain, "storm", param, grad, (moment,), "total", total, duplicates)
    rate, kept, after = storm_numbers(lr, momentum, beta, *found)
    for where, g in grad_steps(grad, duplicates, not lazy):
        m = g + kept * (moment[where] - g)
        moment[where] = m
        param[where] = param[where] - rate * m
    total[0] = after
    return param, moment, total


@wngrad.example
def _(dtype):
    return [((*inputs, np.ones(1, np.float32)), attrs) for inputs, attrs in sgd.example_function(dtype)]


@storm.example
def _(dtype):
    return [((*inputs, np.ones(1, np.float32)), attrs) for inputs, attrs in adagrad.example_function(dtype)]
