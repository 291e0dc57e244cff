"""Copies of rows by their numbers, and of runs of rows: what plans, which are made on the CPU, ask of a GPU."""

from __future__ import annotations

from ....arrays.cuda.memory import output
from ....arrays.cuda.views import View
from ....lod.lod_tensor import LoDTensor
from .copy_runs import move_runs as move_runs
from .gather import gather, put_rows


def structure(x):
    """Numbers that plans read, on the CPU. Synchronises with the device."""
    if x is None:
        return None
    return x.with_values(x.values.read()) if isinstance(x, LoDTensor) else x.read()


def take_rows(data, rows, out=None):
    """``data[rows]``, for rows that are there: a View of their numbers, or NumPy's."""
    out = output(data, (len(rows), *data.shape[1:]), data.dtype, out)
    gather(data, rows if type(rows) is View else data.send(rows), None, out)
    return out


def scatter_rows(rows, values, out):
    """``out[rows[i]] = values[i]``, for rows that are listed once."""
    put_rows(out.send(rows), values, out)
