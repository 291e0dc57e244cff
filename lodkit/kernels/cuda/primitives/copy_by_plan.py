"""Copies of rows by their numbers, and of runs of rows: what plans, which are made on the CPU, ask of a GPU."""

from __future__ import annotations

from ....lod import LoDTensor
from .copy_runs import move_runs as move_runs
from .gather import put_rows


def structure(x):
    """Numbers that plans read, on the CPU. Synchronises with the device."""
    if x is None:
        return None
    return x.with_values(x.values.read()) if isinstance(x, LoDTensor) else x.read()


def scatter_rows(rows, values, out):
    """``out[rows[i]] = values[i]``, for rows that are listed once."""
    put_rows(out.send(rows), values, out)
