"""Updates of a table by the gradient of ``embedding_bag``, which is never stored."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..arrays import Scalar, check_gradient, check_rows
from ..lod import LoDTensor
from ..registry import Dense, op
from .embedding import check_bag, embedding_bag_grad
from .optimizers import adagrad, rowwise_adagrad
from .segments import check_weights
from .shared import plain
from .shared.updates import Duplicates, check_grad_dtype, check_rule, check_states, check_target

MeanPool = Literal["sum", "mean", "sqrt"]


def prepare_bag_update(on, name, param, ids, grad, moment, weights, pool, rowwise=False):
    """Check all inputs. Returns the bags, a LoDTensor of one id per row, and their ids."""
    bags = check_bag(ids)
    check_rows(param, "param")
    check_states(name, check_target(name, param), ("moment",), (moment,), rowwise)
    check_gradient(grad, (len(bags.row_offsets()) - 1, *param.shape[1:]))
    check_grad_dtype(name, param, grad)
    if weights is not None:
        check_weights(weights, len(bags.values), param.dtype, pool)
    flat = on.checked_ids(bags.values, len(param))
    read = (grad, flat) if weights is None else (grad, flat, weights)
    on.refuse_overlap("param", param, (*read, moment))
    on.refuse_overlap("moment", moment, read)
    return bags, flat


def _define(update, name, param, ids, grad, moment, weights, pool, **attrs):
    bags, _ = prepare_bag_update(plain, name, param, ids, grad, moment, weights, pool, update is rowwise_adagrad)
    by_rows = embedding_bag_grad.definition(param, bags, grad, weights, pool=pool)
    return update.definition(param, by_rows, moment, lazy=True, **attrs)


@op(updates=("param", "moment"))
def embedding_bag_adagrad(
    param: Dense,
    ids: LoDTensor,
    grad: Dense,
    moment: Dense,
    weights: Dense | None = None,
    /,
    *,
    lr: Scalar,
    pool: MeanPool = "sum",
    epsilon: float = 1e-6,
    duplicates: Duplicates = "merge",
    weight_decay: float = 0.0,
) -> tuple[Dense, Dense]:
    """``adagrad`` of a table by the gradient of ``embedding_bag``, in one pass over the rows; returns both.

    The same as ``adagrad(param, embedding_bag_grad(param, ids, grad, weights, pool=pool), moment, lazy=True)``
    without an array of one row per id. Caffe2's SparseAdagradFusedWithSparseLengths{Sum, Mean,
    WeightedSum}Gradient.

    Parameters
    ----------
    param : array of shape (height, *item)
        The table.
    ids : LoDTensor of int32 or int64
        The innermost sequences are the bags.
    grad : array of shape (bags, *item)
        Gradient of the result of ``embedding_bag``.
    moment : array like param
        Accumulated squares.
    weights : array of shape (number of ids,), optional
        Those of ``embedding_bag``, with sum and mean.
    lr : float or one-element array
    pool : {"sum", "mean", "sqrt"}
    epsilon, duplicates, weight_decay
        As in ``adagrad``; rows that no id names do not decay.

    Raises
    ------
    RowIndexError
        An id is negative or not below the height. Nothing was changed then.

    >>> param, moment = np.zeros((3, 1)), np.zeros((3, 1))
    >>> embedding_bag_adagrad(param, LoDTensor([2, 2, 1], [[2, 1]]), np.array([[1.], [3.]]), moment, lr=0.5)[1].ravel()
    array([0., 9., 4.])
    """
    check_rule(weight_decay=weight_decay, epsilon=epsilon)
    attrs = {"lr": lr, "epsilon": epsilon, "duplicates": duplicates, "weight_decay": weight_decay}
    return _define(adagrad, "embedding_bag_adagrad", param, ids, grad, moment, weights, pool, **attrs)


@op(updates=("param", "moment"))
def embedding_bag_rowwise_adagrad(
    param: Dense,
    ids: LoDTensor,
    grad: Dense,
    moment: Dense,
    weights: Dense | None = None,
    /,
    *,
    lr: Scalar,
    pool: MeanPool = "sum",
    epsilon: float = 1e-6,
    duplicates: Duplicates = "merge",
    weight_decay: float = 0.0,
) -> tuple[Dense, Dense]:
    """``rowwise_adagrad`` of a table by the gradient of ``embedding_bag``, in one pass over the rows; returns both.

    Caffe2's RowWiseSparseAdagradFusedWithSparseLengths{Sum, Mean, WeightedSum}Gradient, FBGEMM's fused
    exact_rowwise_adagrad.

    Parameters
    ----------
    moment : array of shape (height,)
        Accumulated means of squares, one per row.
    param, ids, grad, weights, lr, pool, epsilon, duplicates, weight_decay
        As in ``embedding_bag_adagrad``.

    >>> param, moment = np.zeros((3, 2)), np.zeros(3)
    >>> embedding_bag_rowwise_adagrad(param, LoDTensor([2, 1], [[2]]), np.array([[1., 3.]]), moment, lr=0.5)[1]
    array([0., 5., 5.])
    """
    check_rule(weight_decay=weight_decay, epsilon=epsilon)
    attrs = {"lr": lr, "epsilon": epsilon, "duplicates": duplicates, "weight_decay": weight_decay}
    return _define(rowwise_adagrad, "embedding_bag_rowwise_adagrad", param, ids, grad, moment, weights, pool, **attrs)


@embedding_bag_adagrad.example
def _(dtype):
    param = np.ones((3, 16), dtype)
    return [((param, LoDTensor(np.array([0, 2, 2]), [[1, 2]]), param[:2].copy(), param.copy()), {"lr": 0.1})]


@embedding_bag_rowwise_adagrad.example
def _(dtype):
    return [((*i[:3], i[3][:, 0].copy()), attrs) for i, attrs in embedding_bag_adagrad.example_function(dtype)]
