"""Updates of listed rows of a table that need no gradient: norms, regularizers, counters."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..arrays import FLOATING, Drafts, Scalar, cast_to, check_rows, writable
from ..base.errors import DTypeError, ShapeMismatchError
from ..registry import Dense, op
from .shared import plain
from .shared.updates import Duplicates, check_rule, check_target

DOCS_PAGE = "update"
SEARCH_WORDS = {
    "sparse_normalize": "max_norm, renorm, embedding_renorm",
    "sparse_lp_regularizer": "l1, l2 regularisation, weight decay of rows",
    "rowwise_counter": "frequency of rows, count usage",
}


def prepare_rows(on, name, param, rows):
    """Check a parameter and the rows of it to update. Returns these as a vector."""
    check_target(name, check_rows(param, "param"))
    given, rows = rows, on.checked_ids(rows, len(param), "rows")
    on.refuse_overlap("param", param, (given,))
    return rows if rows.ndim == 1 else rows.reshape(-1)


@op(updates=True, types=FLOATING)
def sparse_normalize(param: Dense, rows: Dense, /, *, norm: float = 1.0, use_max_norm: bool = True) -> Dense:
    """Scale each listed row to the Euclidean norm ``norm``, in place: those whose norm is larger, or all.

    The operator corresponds to Caffe2's SparseNormalize. A row that is listed twice is scaled once.

    Parameters
    ----------
    param : array of shape (height, *item)
    rows : array of int32 or int64
    norm : float
        Larger than 0.
    use_max_norm : bool
        True if rows of a smaller norm stay as they are.

    Raises
    ------
    RowIndexError
        A row is negative or not below the height. Nothing was changed then.

    >>> sparse_normalize(np.array([[3., 4.], [0.3, 0.4], [6., 8.]]), [0, 1])
    array([[0.6, 0.8],
           [0.3, 0.4],
           [6. , 8. ]])
    """
    check_rule(norm=norm)
    rows = np.unique(prepare_rows(plain, "sparse_normalize", param, rows))
    with Drafts(param) as (scaled,):
        for row in rows:
            w = param[row].astype(np.float64)
            factor = norm / (np.sqrt((w * w).sum()) + 1e-12)
            scaled[row] = w * (np.minimum(factor, 1.0) if use_max_norm else factor)
    return param


@op(updates=True, types=FLOATING)
def sparse_lp_regularizer(
    param: Dense, rows: Dense, /, *, p: Literal[1, 2] = 2, reg_lambda: float = 1e-5, duplicates: Duplicates = "merge"
) -> Dense:
    """Shrink the listed rows towards 0, in place: by the amount (p = 1) or the share (p = 2) ``reg_lambda``.

    The operator corresponds to Caffe2's SparseLpRegularizer.

    Parameters
    ----------
    param : array of shape (height, *item)
    rows : array of int32 or int64
    p : {1, 2}
    reg_lambda : float
        In (0, 1).
    duplicates : {"merge", "sequential"}
        Rows that are listed twice: shrunk once, or once for each time (Caffe2).

    Raises
    ------
    RowIndexError
        A row is negative or not below the height. Nothing was changed then.

    >>> sparse_lp_regularizer(np.array([[3., -0.1], [5., 6.]]), [0], p=1, reg_lambda=0.5)
    array([[2.5, 0. ],
           [5. , 6. ]])
    """
    check_rule(reg_lambda=reg_lambda)
    rows = prepare_rows(plain, "sparse_lp_regularizer", param, rows)
    with Drafts(param) as (shrunk,):
        for at in rows[:, None] if duplicates == "sequential" else [np.unique(rows)]:
            w = shrunk[at].astype(np.float64)
            shrunk[at] = np.sign(w) * np.maximum(np.abs(w) - reg_lambda, 0) if p == 1 else w * (1 - reg_lambda)
    return param


def prepare_counter(on, prev_iter, counter, rows, iteration):
    """Check the vectors to update, rows and iteration. Returns the rows as a vector, and the iteration as an int."""
    if prev_iter.ndim != 1 or tuple(prev_iter.shape) != tuple(counter.shape):
        raise ShapeMismatchError(
            "rowwise_counter: prev_iter and counter must be vectors of one length, "
            f"got shapes {tuple(prev_iter.shape)} and {tuple(counter.shape)}"
        )
    if writable(prev_iter, "rowwise_counter: prev_iter").dtype != np.int64:
        remedy = cast_to(np.int64, "prev_iter", prev_iter.dtype)
        raise DTypeError(f"rowwise_counter: prev_iter must be int64, not {prev_iter.dtype}; {remedy}")
    if writable(counter, "rowwise_counter: counter").dtype not in (np.float32, np.float64):
        remedy = cast_to(np.float64, "counter", counter.dtype)
        raise DTypeError(f"rowwise_counter: counter must be float32 or float64, not {counter.dtype}; {remedy}")
    given, now = rows, iteration_number(iteration)
    rows = on.checked_ids(rows, len(counter), "rows")
    on.refuse_overlap("prev_iter", prev_iter, (given, counter))
    on.refuse_overlap("counter", counter, (given,))
    return rows if rows.ndim == 1 else rows.reshape(-1), now


# The difference of the iterations of two uses fits int64.
MAX_ITERATION_GAP = 1 << 62


def iteration_number(iteration):
    """An int, of a number or a one-element array."""
    number = iteration if type(iteration) is int else np.asarray(iteration).item()
    if number % 1 != 0:
        raise ValueError(f"iteration must be a whole number, got {number}")
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError(f"iteration must be a number of int64, got {number}")
    return int(number)


@op(updates=("prev_iter", "counter"), types={"counter": FLOATING})
def rowwise_counter(
    prev_iter: Dense, counter: Dense, rows: Dense, /, *, iteration: Scalar, halflife: float
) -> tuple[Dense, Dense]:
    """Count uses of rows, with older ones fading: ``counter = 1 + 2**(-d / halflife) * counter``.

    ``d`` is the number of iterations since the row's last use, ``prev_iter``; both change in place and are returned.
    A row that is listed twice counts twice. The operator corresponds to Caffe2's RowWiseCounter.

    Parameters
    ----------
    prev_iter : int64 array of shape (height,)
    counter : float array of shape (height,)
    rows : array of int32 or int64
    iteration : int or one-element array
    halflife : float
        In iterations; with 0 or less nothing changes.

    Raises
    ------
    RowIndexError
        A row is negative or not below the height. Nothing was changed then.

    >>> rowwise_counter(np.array([0, 7]), np.array([4., 4.]), [0], iteration=10, halflife=10)
    (array([10,  7]), array([3., 4.]))
    """
    rows, now = prepare_counter(plain, prev_iter, counter, rows, iteration)
    with Drafts(prev_iter, counter) as (last, counts):
        for row in rows if halflife > 0 else ():
            passed = max(0, now - int(last[row]))
            counts[row] = 1 + np.exp2(-passed / halflife) * counts[row]
            last[row] = max(now, last[row])
    return prev_iter, counter


@sparse_normalize.example
def _(dtype):
    param = np.ones((3, 16), dtype)
    return [((param, np.array([0, 2, 2])), {})]


sparse_lp_regularizer.example(sparse_normalize.example_function)
rowwise_counter.example(
    lambda dtype: [((np.zeros(3, np.int64), np.ones(3), np.array([0, 2])), {"iteration": 3, "halflife": 2.0})]
)
