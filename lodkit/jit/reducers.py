"""Reductions as plain functions of scalars, shared by all devices: a step and a divisor.

Kernel templates run ``step`` over the rows of a segment and divide once; CPU templates take the vector form of ``step``
from ``lodkit.jit.simd``. logsumexp and logmeanexp run twice: for the maximum, and over the shifted exponentials.
"""

from __future__ import annotations

import enum
import typing
from collections.abc import Callable


class Divisor(enum.IntEnum):
    """Divisor of a reduction's total."""

    NOTHING = 0
    WEIGHT = 1
    ROOT_OF_WEIGHT = 2


class Reducer(typing.NamedTuple):
    """Reduction of a segment.

    Attributes
    ----------
    step : callable
        ``step(accumulated, value)``.
    divisor : callable or None
        The result is ``total / divisor(weight)``; weight is the number of rows, or the sum of their weights.
    start : float or None
        Initial value; None to start from the first row.
    """

    step: Callable
    divisor: Callable | None
    start: float | None


def plus(total, x):
    return total + x


def times(total, x):
    return total * x


def larger(best, x):
    """The larger; NaN stays, the first of equals wins."""
    return x if x > best or x != x else best


def smaller(best, x):
    """The smaller; NaN stays, the first of equals wins."""
    return x if x < best or x != x else best


def whole_weight(weight):
    return weight


def root_of(weight):
    return weight**0.5


REDUCERS = {
    "sum": Reducer(plus, None, 0.0),
    "mean": Reducer(plus, whole_weight, 0.0),
    "sqrt": Reducer(plus, root_of, 0.0),
    "prod": Reducer(times, None, 1.0),
    "max": Reducer(larger, None, None),
    "min": Reducer(smaller, None, None),
    "logsumexp": Reducer(larger, None, None),
    "logmeanexp": Reducer(larger, whole_weight, None),
}
