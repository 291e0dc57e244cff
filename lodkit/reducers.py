"""The reductions, as plain functions of scalars that every device shares: how to step, and how to finish.

A device's kernel template runs ``step`` over the rows of a segment and ``finish`` once; a CPU template takes
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
    finish : callable
        ``finish(total, weight)``: weight is the number of rows, or the sum of their weights.
    adds : bool
        Whether steps add up (and so need blocks for accuracy, and may be weighted).
    """

    step: Callable
    finish: Callable
    adds: bool


def plus(total, x):
    return total + x


def larger(best, x):
    """The larger; NaN stays, the first of equals wins."""
    return x if x > best or x != x else best


def smaller(best, x):
    """The smaller; NaN stays, the first of equals wins."""
    return x if x < best or x != x else best


def as_it_is(total, weight):
    return total


def over_weight(total, weight):
    return total / weight


def over_root(total, weight):
    return total / weight**0.5


REDUCERS = {
    "sum": Reducer(plus, as_it_is, True),
    "mean": Reducer(plus, over_weight, True),
    "sqrt": Reducer(plus, over_root, True),
    "max": Reducer(larger, as_it_is, False),
    "min": Reducer(smaller, as_it_is, False),
    "logsumexp": Reducer(larger, as_it_is, False),
}
