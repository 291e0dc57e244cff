"""Numbers moved at random, to be rounded to halves next."""

from __future__ import annotations

from ....arrays.cuda import device, elementwise, iota, vector
from ...common import random_rounding

_jittered = device(random_rounding.jitter_value)


@elementwise
def _jitter(i, values, rows, columns, seed, digits, least):
    place = vector.number(rows, i // columns) * columns + i % columns
    values[i] = _jittered(values[i], place, seed, digits, least)


def jitter(values, rows, seed, digits, least):
    """Move each number of float32 rows by its place in the table, whose rows these are; all of it for None."""
    if values.size:
        rows = iota(values, len(values) if values.ndim else 1) if rows is None else rows
        _jitter(values.size, values, rows, values.columns if values.ndim else 1, seed, digits, least)
