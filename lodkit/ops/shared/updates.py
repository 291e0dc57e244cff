"""Checks that all updates share, before anything is written, and the gradients that their definitions step by."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...arrays import check_rows, check_values, native, writable
from ...errors import DTypeError, ShapeMismatchError
from ...lod import SelectedRows
from ..selected_rows import added

LEAST_DIVISOR = float(np.finfo(np.float32).smallest_normal)  # 0 / 0, with epsilon = 0, is no step
Duplicates = Literal["merge", "sequential"]


def learning_rate(lr):
    """A float, of a number or a one-element array."""
    return lr if type(lr) is float else float(np.asarray(lr).reshape(-1)[0])


#: Tests and descriptions of the numbers of a rule, by name.
_LIMITS = {
    "decay": (lambda x: 0 <= x <= 1, "in [0, 1]"),
    "weight_decay": (lambda x: x >= 0, "at least 0"),
    "beta": (lambda x: x >= 0, "at least 0"),
    "l1": (lambda x: x >= 0, "at least 0"),
    "l2": (lambda x: x >= 0, "at least 0"),
    "lr": (lambda x: x > 0, "larger than 0"),
    "beta1": (lambda x: 0 <= x < 1, "at least 0 and less than 1"),
    "beta2": (lambda x: 0 <= x < 1, "at least 0 and less than 1"),
    "momentum": (lambda x: x >= 0, "at least 0"),
    "epsilon": (lambda x: x >= 0, "at least 0"),
    "positive_epsilon": (lambda x: x > 0, "larger than 0"),
    "iteration": (lambda x: x >= 0 and x % 1 == 0, "a whole number from 0 on"),
    "reg_lambda": (lambda x: 0 < x < 1, "between 0 and 1"),
    "norm": (lambda x: x > 0, "larger than 0"),
}


def check_rule(**numbers):
    """Refuse numbers outside their limits."""
    for name, number in numbers.items():
        fits, expected = _LIMITS[name]
        if not fits(number):
            raise ValueError(f"{name.removeprefix('positive_')} must be {expected}, got {number}")


def corrected_rate(lr, beta1, beta2, iteration):
    """The learning rate of adam after ``iteration`` steps, corrected for moments that start from zeros."""
    done = learning_rate(iteration)
    check_rule(beta1=beta1, beta2=beta2, iteration=done)
    return learning_rate(lr) * np.sqrt(1 - beta2 ** (done + 1)).item() / (1 - beta1 ** (done + 1))


def adam_rate(lr, beta1, beta2, iteration, rectified):
    """The rate of a step of adam, and whether to divide it by the root of the squares, as RAdam does not at first."""
    rate, t = corrected_rate(lr, beta1, beta2, iteration), learning_rate(iteration) + 1
    if not rectified:
        return rate, True
    largest = 2 / (1 - beta2) - 1
    length = largest - 2 * t * beta2**t / (1 - beta2**t)
    if length < 5:
        return learning_rate(lr) / (1 - beta1**t), False
    share = (length - 4) * (length - 2) * largest / ((largest - 4) * (largest - 2) * length)
    return rate * share**0.5, True


def check_target(name, param):
    """Refuse a parameter that cannot be updated in place; returns the array of its values."""
    target = param.value if isinstance(param, SelectedRows) else param
    check_values(target.dtype, name, floating=True)
    return writable(target, "param")


def check_states(name, target, names, states, rowwise=False, pairs=False):
    """Refuse states unlike the parameter. The last one of a row-wise update is a vector."""
    shape, vector = (*target.shape, 2) if pairs else target.shape, len(states) - 1 if rowwise else None
    for i, array in enumerate(states):
        what = names[i]
        writable(array, what)
        if i == vector:
            shape = target.shape[:1]
        if array.shape != shape:
            raise ShapeMismatchError(
                f"{name}: {what} has shape {tuple(array.shape)}, the parameter {tuple(target.shape)}; "
                f"pass one of shape {tuple(shape)}"
            )
        if array.dtype != target.dtype:
            raise DTypeError(
                f"{name}: {what} is {array.dtype}, the parameter {target.dtype}; convert with .astype(...)"
            )


def check_update(name, param, grad, names=(), states=(), *, rowwise=False, pairs=False):
    """Check a parameter, its gradient and its states; returns the array of the parameter's values."""
    target = check_target(name, check_rows(param, "param") if rowwise else param)
    if grad.shape != param.shape:
        raise ShapeMismatchError(
            f"{name}: the gradient has shape {tuple(grad.shape)}, the parameter {tuple(param.shape)}"
        )
    if states:
        check_states(name, target, names, states, rowwise, pairs)
    check_grad_dtype(name, target, grad)
    return target


def check_grad_dtype(name, target, grad):
    """Refuse a gradient of another type than the parameter's."""
    if grad.dtype is not target.dtype and native(grad.dtype) != target.dtype:
        raise DTypeError(
            f"{name}: the gradient is {grad.dtype}, the parameter {target.dtype}; convert with .astype(...)"
        )


def check_merged(duplicates):
    """Refuse updates of one row after another where rows without gradient change too."""
    if duplicates == "sequential":
        raise ValueError(
            'duplicates="sequential" has no meaning where rows without gradient change too; '
            "pass lazy=True, which leaves them alone"
        )


def merged(rows, value):
    """Each row once, and the sum of its values in float64."""
    unique, inverse = np.unique(rows, return_inverse=True)
    return unique, added(inverse, value, len(unique))


def grad_steps(grad, duplicates, touches_all=False):
    """Steps of a definition, one after another: an index, and the gradient there as float64."""
    if touches_all and isinstance(grad, SelectedRows):
        check_merged(duplicates)
        return [(slice(None), added(grad.rows, grad.value, grad.height))]
    if not isinstance(grad, SelectedRows):
        return [(... if not grad.ndim else slice(None), grad.astype(np.float64))]
    if duplicates == "sequential":
        return [([row], g[None].astype(np.float64)) for row, g in zip(grad.rows, grad.value, strict=True)]
    return [merged(grad.rows, grad.value)]


def row_means(squares):
    """The mean of each row; 0 for rows of no elements."""
    if not squares.size:
        return np.zeros(squares.shape[:1])
    return squares.reshape(len(squares), -1).mean(axis=1)


def per_row(numbers, rows):
    """One number per row, in a shape that broadcasts over the rows."""
    return numbers.reshape(-1, *(1,) * (rows.ndim - 1))
