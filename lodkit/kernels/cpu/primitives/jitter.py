"""Numbers moved at random, to be rounded to halves next."""

from __future__ import annotations

import numpy as np

from ....arrays import matrix
from ....jit import jitable, parallel_kernel, prange, settings
from ...common import random_rounding

_jittered = jitable(random_rounding.jitter_value)


@parallel_kernel
def _jitter(values, rows, seed, digits, least, chunk):
    count, columns = values.shape
    for c in prange((count + chunk - 1) // chunk):
        for i in range(c * chunk, min(count, (c + 1) * chunk)):
            for j in range(columns):
                values[i, j] = _jittered(values[i, j], rows[i] * columns + j, seed, digits, least)


def jitter(values, rows, seed, digits, least):
    """Move each number of float32 rows by its place in the table, whose rows these are; all of it for None."""
    if values.size:
        flat = matrix(values)
        rows = np.arange(len(flat)) if rows is None else rows
        _jitter(flat.size, flat, rows, seed, digits, least, settings.chunk_rows)
