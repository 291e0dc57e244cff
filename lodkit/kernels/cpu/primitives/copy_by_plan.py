"""Copies of rows by their numbers, and of runs of rows: what plans ask of the CPU."""

from __future__ import annotations

from ....arrays import matrix
from ....lod.copy_runs import move_runs as move_runs
from .gather import put_all


def structure(x):
    """Numbers that plans read, on the CPU."""
    return x


def scatter_rows(rows, values, out):
    """``out[rows[i]] = values[i]``, for rows that are listed once."""
    put_all(rows, matrix(values), matrix(out))
