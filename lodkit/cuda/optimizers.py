"""CUDA kernels of lodkit/ops/optimizers.py. Sparse updates sort, then update each row once, in one pass."""

from __future__ import annotations

import numpy as np

from .. import steps
from ..ops.optimizers import adagrad, check_update, learning_rate, missing_row, repeated_row, sgd
from ..registry import Dense
from ..selected_rows import SelectedRows
from . import vector
from ._elements import fill
from ._offsets import last_at_most
from ._reduce import group_of, reduce_pieces, width_of
from ._rows import copy_rows
from ._updates import dense_kernel, rows_kernel
from .launch import cuda, launch
from .memory import refuse_overlap, viewed
from .selected_rows import runs_of


def _numbers(param, lr, epsilon):
    """Learning rate and epsilon, in the type that the parameter computes in."""
    number = np.float64 if param.dtype == np.float64 else np.float32
    return number(learning_rate(lr)), number(epsilon)


def _dense(step, param, moment, grad, lr, epsilon=0.0):
    """Update all of ``param`` (and ``moment``, where the optimizer has one)."""
    arrays = (param, grad) if moment is None else (param, grad, moment)
    width = width_of(param.size, *arrays)
    kernel, state = dense_kernel(step, width, moment is not None), param if moment is None else moment
    launch(kernel, param.size // width, param, state, grad, *_numbers(param, lr, epsilon), param.size)


def _sparse(step, param, moment, grad, duplicates, lr, epsilon=0.0):
    """Update the rows of ``param`` (and ``moment``) that a gradient lists."""
    if len(grad.rows) and param.size:
        at, offsets, order = runs_of(grad)
        _by_runs(step, param, moment, at, offsets, order, grad.value, duplicates, lr, epsilon)


def _by_runs(step, param, moment, at, offsets, order, value, duplicates, lr, epsilon=0.0):
    """Update the rows ``at`` of ``param``, each by its run of rows of ``value``."""
    starts, merge, columns = offsets.offsets, duplicates == "merge", param.columns
    if merge and offsets.pieces is not None:
        (value, starts), order = reduce_pieces("sum", value, order, None, None, offsets), None
    width = width_of(columns, param, value, *(() if moment is None else (moment,)))
    bits, gather = group_of(columns, width), order is not None
    kernel = rows_kernel(step, width, moment is not None, gather, merge)
    state, order = param if moment is None else moment, order if gather else starts
    numbers = _numbers(param, lr, epsilon)
    launch(kernel, len(at) << bits, param, state, at, order, starts, value, *numbers, columns, bits, len(at))


@cuda.jit
def _find(keys, key_order, count, wanted, runs, order, starts, at, missing):
    """Where each wanted row stands among the parameter's sorted keys; in missing[0], the first entry without."""
    u = cuda.grid(1)
    while u < runs:
        row = vector.number(wanted, u)
        k = last_at_most(keys, count - 1, row)
        if vector.number(keys, k) == row:
            at[u] = vector.number(key_order, k)
        else:
            vector.atomic_first(missing, 0, vector.number(order, vector.number(starts, u)))
        u += cuda.gridsize(1)


@sgd.kernel("cuda")
def sgd_dense(param: Dense, grad: Dense, /, *, lr, duplicates):
    p, g = viewed(param), viewed(grad)
    check_update("sgd", p, g)
    refuse_overlap("param", p, (g,))
    _dense(steps.sgd, p, None, g, lr)
    return param


@sgd.kernel("cuda")
def sgd_rows(param: Dense, grad: SelectedRows, /, *, lr, duplicates):
    p, g = viewed(param), viewed(grad)
    check_update("sgd", p, g)
    refuse_overlap("param", p, (g.value,))
    _sparse(steps.sgd, p, None, g, duplicates, lr)
    return param


@sgd.kernel("cuda")
def sgd_selected(param: SelectedRows, grad: SelectedRows, /, *, lr, duplicates):
    (p, keys, key_order), g = _keyed(param), viewed(grad)
    check_update("sgd", p, g)
    refuse_overlap("param", p.value, (g.value,))
    if not len(g.rows):
        return param
    if not len(p.rows):
        raise missing_row(0, int(g.rows.part(0, 1).read()[0]))
    rows, offsets, order = runs_of(g)
    at, missing = rows.like(rows.shape), fill(rows.like((1,)), -1)
    launch(_find, len(rows), keys, key_order, len(keys), rows, len(rows), order, offsets.offsets, at, missing)
    i = int(missing.read()[0])
    if i >= 0:
        raise missing_row(i, int(g.rows.part(i, i + 1).read()[0]))
    if p.value.size:
        _by_runs(steps.sgd, p.value, None, at, offsets, order, g.value, duplicates, lr)
    return param


@sgd.kernel("cuda")
def sgd_selected_dense(param: SelectedRows, grad: Dense, /, *, lr, duplicates):
    (p, _, _), g = _keyed(param), viewed(grad)
    check_update("sgd", p, g)
    refuse_overlap("param", p.value, (g,))
    facing = p.value.like(p.value.shape)
    copy_rows(g, p.rows, None, facing)
    _dense(steps.sgd, p.value, None, facing, lr)
    return param


def _keyed(param):
    """A SelectedRows parameter as Views, its rows in ascending order, and where they stand: each is listed once."""
    p = viewed(param)
    keys, _, order = runs_of(p)
    if len(keys) != len(p.rows):
        raise repeated_row("sgd")
    return SelectedRows._wrap(p.rows, p.value, p.height, merged=True), keys, order


@adagrad.kernel("cuda")
def adagrad_dense(param: Dense, grad: Dense, moment: Dense, /, *, lr, epsilon, duplicates):
    p, g, m = viewed(param), viewed(grad), viewed(moment)
    check_update("adagrad", p, g, ("moment", m))
    refuse_overlap("param", p, (g, m))
    refuse_overlap("moment", m, (g,))
    _dense(steps.adagrad, p, m, g, lr, epsilon)
    return param, moment


@adagrad.kernel("cuda")
def adagrad_rows(param: Dense, grad: SelectedRows, moment: Dense, /, *, lr, epsilon, duplicates):
    p, g, m = viewed(param), viewed(grad), viewed(moment)
    check_update("adagrad", p, g, ("moment", m))
    refuse_overlap("param", p, (g.value, m))
    refuse_overlap("moment", m, (g.value,))
    _sparse(steps.adagrad, p, m, g, duplicates, lr, epsilon)
    return param, moment
