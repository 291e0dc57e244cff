"""The reductions, as plain functions of scalars that every device shares: how to step, and by what to divide.

A device's kernel template runs ``step`` over the rows of a segment and divides once; a CPU template takes
the vector form of ``step`` from ``lodkit.simd``. logsumexp steps twice: for the maximum, and over the
exponentials that it shifts.
"""

from __future__ import annotations

import typing
from collections.abc import Callable


class Reducer(typing.NamedTuple):
    """How a segment is reduced.

    Attributes
    ----------
    step : callable
        ``step(so far, value)``.
    divisor : callable or None
        The result is ``total / divisor(weight)``; weight is the number of rows, or the sum of their weights.
    adds : bool
        Whether steps add up (and so need blocks for accuracy, and may be weighted).
    """

    step: Callable
    divisor: Callable | None
    adds: bool


def plus(total, x):
    return total + x


def larger(best, x):
    """The larger; NaN stays, the first of equals wins."""
    return x if x > best or x != x else best


def smaller(best, x):
    """The smaller; NaN stays, the first of equals wins."""
    return x if x < best or x != x else best


def all_of(weight):
    return weight


def root_of(weight):
    return weight**0.5


REDUCERS = {
    "sum": Reducer(plus, None, True),
    "mean": Reducer(plus, all_of, True),
    "sqrt": Reducer(plus, root_of, True),
    "max": Reducer(larger, None, False),
    "min": Reducer(smaller, None, False),
    "logsumexp": Reducer(larger, None, False),
}
