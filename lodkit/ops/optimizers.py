"""Updates of a parameter in place, by a dense gradient or SelectedRows: one operator each."""

from __future__ import annotations

import numpy as np

from ..arrays import Scalar
from ..errors import RowIndexError
from ..lod import SelectedRows
from ..registry import Dense, op
from .shared import plain
from .shared.updates import (
    LEAST_DIVISOR,
    Duplicates,
    check_rule,
    check_update,
    grad_steps,
    learning_rate,
    merged,
    per_row,
    row_means,
)


def sort_keys(on, param):
    """Sort the rows of a SelectedRows parameter, each of which it must list once. Returns them and their order."""
    order, _, keys = on.sort_rows(param.rows, param.height)
    if len(keys) != len(param.rows):
        raise RowIndexError("sgd: param lists a row more than once, which row is to change? merge() it first")
    return keys, order


def prepare_selected(on, param, grad):
    """Check the update of a SelectedRows parameter by a gradient of either kind."""
    check_update("sgd", param, grad)
    on.refuse_overlap("param", param.value, (grad.value if isinstance(grad, SelectedRows) else grad,))


def missing_row(i, row):
    return RowIndexError(f"rows[{i}] = {row} of the gradient is no row of the SelectedRows parameter")


def _key_positions(param, rows):
    """The position of each row among those of a SelectedRows parameter."""
    keys = {int(key): i for i, key in enumerate(param.rows)}
    for i, row in enumerate(rows):
        if int(row) not in keys:
            raise missing_row(i, row)
    return np.array([keys[int(row)] for row in rows], np.int64)


@op(updates=True)
def sgd(
    param: Dense | SelectedRows, grad: Dense | SelectedRows, /, *, lr: Scalar, duplicates: Duplicates = "merge"
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
    selected = isinstance(param, SelectedRows)
    if selected:
        sort_keys(plain, param)
    target, lr = check_update("sgd", param, grad), learning_rate(lr)
    if not isinstance(grad, SelectedRows):
        grad = grad[param.rows] if selected else grad
        target -= (lr * grad.astype(np.float64)).astype(target.dtype)
        return param
    rows = _key_positions(param, grad.rows) if selected else grad.rows
    if duplicates == "sequential":
        for row, g in zip(rows, grad.value, strict=True):
            target[row] = target[row] - lr * g.astype(np.float64)
    else:
        rows, value = merged(rows, grad.value)
        target[rows] = target[rows] - lr * value
    return param


@op(updates=("param", "moment"))
def adagrad(
    param: Dense,
    grad: Dense | SelectedRows,
    moment: Dense,
    /,
    *,
    lr: Scalar,
    epsilon: float = 1e-6,
    duplicates: Duplicates = "merge",
    weight_decay: float = 0.0,
    decay: float = 1.0,
    lazy: bool = False,
) -> tuple[Dense, Dense]:
    """``moment = decay * moment + grad**2; param -= lr * grad / (sqrt(moment) + epsilon)``, in place; returns both.

    Paddle's adagrad, Caffe2's Adagrad and SparseAdagrad. SelectedRows touch only their rows, which equals
    the dense update: rows without gradient stay, unless there is decay.

    Parameters
    ----------
    moment : array like param
        Accumulated squares; usually zeros at first.
    lr : float or one-element array
    duplicates : {"merge", "sequential"}
        Rows that SelectedRows lists twice: updated once by their sum, or one after another (Caffe2).
    weight_decay : float
        Share of the parameter that is added to the gradient.
    decay : float
        Factor of the moment at each step.
    lazy : bool
        True if SelectedRows leave other rows alone even where there is decay, as Caffe2 does; else those decay as with
        the dense gradient.

    >>> param, moment = np.zeros((3, 1)), np.zeros((3, 1))
    >>> adagrad(param, SelectedRows([2, 2], [[1.], [2.]], 3), moment, lr=0.5, epsilon=0.0)[0].ravel()
    array([ 0. ,  0. , -0.5])
    """
    check_update("adagrad", param, grad, ("moment",), (moment,))
    check_rule(weight_decay=weight_decay, decay=decay, epsilon=epsilon)
    lr = learning_rate(lr)
    for where, g in grad_steps(grad, duplicates, not lazy and (weight_decay != 0 or decay != 1)):
        g = g + weight_decay * param[where]
        square = decay * moment[where].astype(np.float64) + g * g
        with np.errstate(invalid="ignore", divide="ignore"):
            step = lr * g / np.maximum(np.sqrt(square) + epsilon, LEAST_DIVISOR)
        moment[where] = square
        param[where] = param[where] - step
    return param, moment


@op(updates=("param", "moment"))
def rowwise_adagrad(
    param: Dense,
    grad: Dense | SelectedRows,
    moment: Dense,
    /,
    *,
    lr: Scalar,
    epsilon: float = 1e-6,
    duplicates: Duplicates = "merge",
    weight_decay: float = 0.0,
    lazy: bool = False,
) -> tuple[Dense, Dense]:
    """adagrad with one moment per row, the mean of the row's squares: ``moment[i] += mean(grad[i]**2)``; returns both.

    Caffe2's RowWiseSparseAdagrad, FBGEMM's exact_rowwise_adagrad: the state of a table takes the memory of one column.

    Parameters
    ----------
    moment : array of shape (rows of param,)
    lr, epsilon, duplicates, weight_decay, lazy
        As in adagrad.

    >>> param, moment = np.zeros((3, 2)), np.zeros(3)
    >>> rowwise_adagrad(param, SelectedRows([2], [[3., 4.]], 3), moment, lr=1.0)[1]
    array([ 0. ,  0. , 12.5])
    """
    check_update("rowwise_adagrad", param, grad, ("moment",), (moment,), rowwise=True)
    check_rule(weight_decay=weight_decay, epsilon=epsilon)
    lr = learning_rate(lr)
    for where, g in grad_steps(grad, duplicates, not lazy and weight_decay != 0):
        g = g + weight_decay * param[where]
        square = moment[where] + row_means(g * g)
        with np.errstate(invalid="ignore", divide="ignore"):
            step = lr * g / per_row(np.maximum(np.sqrt(square) + epsilon, LEAST_DIVISOR), g)
        moment[where] = square
        param[where] = param[where] - step
    return param, moment


def accumulators(squared, linear):
    """The names of the states of ftrl, and these."""
    return (("squared",), (squared,)) if linear is None else (("squared", "linear"), (squared, linear))


@op(updates=("param", "squared", "linear"))
def ftrl(
    param: Dense,
    grad: Dense | SelectedRows,
    squared: Dense,
    linear: Dense | None = None,
    /,
    *,
    lr: Scalar,
    beta: float = 1.0,
    l1: float = 0.0,
    l2: float = 0.0,
    duplicates: Duplicates = "merge",
) -> tuple[Dense, ...]:
    """FTRL-Proximal, in place; returns the parameter and its accumulators.

    ``n = squared + grad**2; linear += grad - (sqrt(n) - sqrt(squared)) / lr * param``, and then
    ``param = (l1 * sign(linear) - linear) / ((beta + sqrt(n)) / lr + l2)`` where ``|linear| > l1``, else 0.
    Caffe2's Ftrl and SparseFtrl. SelectedRows touch only their rows, which equals the dense update of a
    parameter that its accumulators give: zeros at first, and after any step.

    Parameters
    ----------
    squared, linear : arrays like param
        Accumulated squares and adjusted gradients; usually zeros at first. Or one array of shape
        ``(*param.shape, 2)`` with both side by side, which is faster for rows of a tall table (Caffe2's n_z).
    lr : float or one-element array
        Larger than 0; often called alpha.
    beta, l1, l2 : float
        ``l1`` makes parameters exactly 0.
    duplicates : {"merge", "sequential"}
        Rows that SelectedRows lists twice: updated once by their sum, or one after another (Caffe2).

    >>> states = np.zeros((2, 2)), np.zeros((2, 2))
    >>> ftrl(np.zeros((2, 2)), SelectedRows([1], [[3., 0.5]], 2), *states, lr=1.0, l1=1.0)[0]
    array([[ 0. ,  0. ],
           [-0.5,  0. ]])
    """
    check_update("ftrl", param, grad, *accumulators(squared, linear), pairs=linear is None)
    n, adjusted = (squared[..., 0], squared[..., 1]) if linear is None else (squared, linear)
    lr = learning_rate(lr)
    check_rule(lr=lr, beta=beta, l1=l1, l2=l2)
    for where, g in grad_steps(grad, duplicates):
        before, w = n[where].astype(np.float64), param[where].astype(np.float64)
        square = before + g * g
        z = adjusted[where] + g - (np.sqrt(square) - np.sqrt(before)) / lr * w
        divisor = np.maximum((beta + np.sqrt(square)) / lr + l2, LEAST_DIVISOR)
        n[where], adjusted[where] = square, z
        param[where] = (np.clip(z, -l1, l1) - z) / divisor
    return (param, squared) if linear is None else (param, squared, linear)


def example_of(*states, **attrs):
    """Example of an update with a dense and with a sparse gradient; states are like the parameter[:, state]."""

    def example(dtype):
        param = np.ones((3, 20), dtype)
        grads = param.copy(), SelectedRows([2, 0, 2], param.copy(), 3)
        return [((param.copy(), g, *(param[:, s].copy() for s in states)), {"lr": 0.1, **attrs}) for g in grads]

    return example


ALL = slice(None)  # of the columns of the parameter: a state of its shape, where 0 is a number per row
sgd.example(example_of())
adagrad.example(example_of(ALL))
rowwise_adagrad.example(example_of(0))
ftrl.example(example_of(ALL, ALL))
