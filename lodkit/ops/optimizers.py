"""Updates of a parameter in place, by a dense gradient or SelectedRows: one operator each."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..arrays import check_values, native, writable
from ..checks import Scalar
from ..errors import DTypeError, RowIndexError, ShapeMismatchError
from ..registry import Dense, op
from ..selected_rows import SelectedRows
from .selected_rows import added

LEAST_DIVISOR = float(np.finfo(np.float32).smallest_normal)  # 0 / 0, with epsilon = 0, is no step
Duplicates = Literal["merge", "sequential"]


def learning_rate(lr):
    """A number, of a number or a one-element array."""
    return lr if type(lr) is float else float(np.asarray(lr).reshape(-1)[0])


def repeated_row(name):
    return RowIndexError(f"{name}: param lists a row more than once, which row is to change? merge() it first")


def missing_row(i, row):
    return RowIndexError(f"rows[{i}] = {row} of the gradient is no row of the SelectedRows parameter")


def check_update(name, param, grad, *states):
    """Everything that can be wrong, before anything is written."""
    target = param
    if isinstance(param, SelectedRows):
        target = param.value
        if not param.is_merged and len(np.unique(param.rows)) != len(param.rows):
            raise repeated_row(name)
    check_values(target.dtype, name, floating=True)
    if grad.shape != param.shape:
        raise ShapeMismatchError(
            f"{name}: the gradient has shape {tuple(grad.shape)}, the parameter {tuple(param.shape)}"
        )
    writable(target, name + ": param")
    for what, array in states:
        writable(array, f"{name}: {what}")
        if array.shape != target.shape:
            raise ShapeMismatchError(f"{name}: {what} has shape {array.shape}, the parameter {target.shape}")
        if array.dtype != target.dtype:
            raise DTypeError(
                f"{name}: {what} is {array.dtype}, the parameter {target.dtype}; convert with .astype(...)"
            )
    if native(grad.dtype) != target.dtype:
        raise DTypeError(
            f"{name}: the gradient is {grad.dtype}, the parameter {target.dtype}; convert with .astype(...)"
        )
    return target


def key_positions(param, rows):
    """Where each row's key stands in a SelectedRows parameter."""
    keys = {int(key): i for i, key in enumerate(param.rows)}
    for i, row in enumerate(rows):
        if int(row) not in keys:
            raise missing_row(i, row)
    return np.array([keys[int(row)] for row in rows], np.int64)


def merged(rows, value):
    """Each row once, with the sum of its values, and the values as float64."""
    unique, inverse = np.unique(rows, return_inverse=True)
    return unique, added(inverse, value, len(unique))


def _facing(param, grad) -> Dense:
    """The rows of a dense gradient that the parameter has."""
    return grad[param.rows] if isinstance(param, SelectedRows) else grad


@op(updates=True)
def sgd(
    param: Dense | SelectedRows,
    grad: Dense | SelectedRows,
    /,
    *,
    lr: Scalar,
    duplicates: Duplicates = "merge",
) -> Dense | SelectedRows:
    """``param -= lr * grad``, in place; returns the parameter.

    One operator for a dense gradient and SelectedRows, as the SelectedRows design asks; a SelectedRows
    parameter takes a SelectedRows gradient whose rows it has (Paddle).

    Parameters
    ----------
    lr : float or one-element array
    duplicates : {"merge", "sequential"}
        Rows that SelectedRows lists twice: updated once by their sum, or one after another (Caffe2).

    >>> param = np.ones((3, 1))
    >>> sgd(param, SelectedRows([2, 2], [[1.], [2.]], 3), lr=0.5).ravel()
    array([ 1. ,  1. , -0.5])
    """
    target, lr = check_update("sgd", param, grad), learning_rate(lr)
    if not isinstance(grad, SelectedRows):
        target -= (lr * _facing(param, grad).astype(np.float64)).astype(target.dtype)
        return param
    rows = key_positions(param, grad.rows) if isinstance(param, SelectedRows) else grad.rows
    if duplicates == "sequential":
        for row, g in zip(rows, grad.value, strict=True):
            target[row] = target[row] - lr * g.astype(np.float64)
    else:
        rows, value = merged(rows, grad.value)
        target[rows] = target[rows] - lr * value
    return param


@sgd.infer_rule
def _(param, grad, *, lr, duplicates="merge"):
    return param


@op(updates=True)
def adagrad(
    param: Dense,
    grad: Dense | SelectedRows,
    moment: Dense,
    /,
    *,
    lr: Scalar,
    epsilon: float = 1e-6,
    duplicates: Duplicates = "merge",
) -> tuple[Dense, Dense]:
    """``moment += grad**2; param -= lr * grad / (sqrt(moment) + epsilon)``, in place; returns both.

    Paddle's adagrad, Caffe2's Adagrad and SparseAdagrad. SelectedRows touch only their rows, which equals
    the dense update, as rows without gradient stay.

    Parameters
    ----------
    moment : array like param
        Accumulated squares; usually zeros at first.
    lr : float or one-element array
    duplicates : {"merge", "sequential"}
        Rows that SelectedRows lists twice: updated once by their sum, or one after another (Caffe2).

    >>> param, moment = np.zeros((3, 1)), np.zeros((3, 1))
    >>> adagrad(param, SelectedRows([2, 2], [[1.], [2.]], 3), moment, lr=0.5, epsilon=0.0)[0].ravel()
    array([ 0. ,  0. , -0.5])
    """
    check_update("adagrad", param, grad, ("moment", moment))
    lr = learning_rate(lr)
    if not isinstance(grad, SelectedRows):
        updates = [(..., grad.astype(np.float64))]
    elif duplicates == "sequential":
        updates = [(row, g.astype(np.float64)) for row, g in zip(grad.rows, grad.value, strict=True)]
    else:
        updates = [merged(grad.rows, grad.value)]
    for where, g in updates:
        square = moment[where] + g * g
        with np.errstate(invalid="ignore", divide="ignore"):
            step = lr * g / np.maximum(np.sqrt(square) + epsilon, LEAST_DIVISOR)
        moment[where] = square
        param[where] = param[where] - step
    return param, moment


@adagrad.infer_rule
def _(param, grad, moment, *, lr, epsilon=1e-6, duplicates="merge"):
    return param, moment


@sgd.example
def _(dtype):
    param = np.ones((3, 20), dtype if dtype.kind == "f" else np.float32)
    sparse = SelectedRows([2, 0, 2], param.copy(), 3)
    return [((param, param.copy()), {"lr": 0.1}), ((param.copy(), sparse), {"lr": 0.1})]


@adagrad.example
def _(dtype):
    return [((*inputs, inputs[0].copy()), attrs) for inputs, attrs in sgd.example_function(dtype)]
