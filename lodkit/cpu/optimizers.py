"""CPU kernels of lodkit/ops/optimizers.py. Sparse updates sort, then update each row once, in one pass."""

from __future__ import annotations

import numpy as np

from ..arrays import matrix, refuse_overlap, wide
from ..jit import njit, settings
from ..ops.optimizers import adagrad, check_update, learning_rate, missing_row, sgd
from ..registry import Dense
from ..selected_rows import SelectedRows
from ._rows import first_at_least
from ._sort import bits_below, sort_rows
from ._updates import adagrad_step, dense_kernel, few_kernel, rows_kernel, sgd_step, whole_width

TALL = 1 << 50  # above, a row and its position may not fit into one number
DENSE_CHUNKS = 16  # a dense update reads in order: fewer, larger chunks


@njit
def _find(keys, key_order, wanted, at):
    """Where each wanted row stands among the parameter's sorted keys; the first missing one, or -1."""
    for u in range(len(wanted)):
        k = first_at_least(keys, wanted[u])
        if k == len(keys) or keys[k] != wanted[u]:
            return u
        at[u] = key_order[k]
    return -1


def _runs(grad):
    """A gradient's runs; one that is merged already is its own."""
    if grad.is_merged:
        positions = np.arange(len(grad.rows) + 1)
        return positions[:-1], positions, grad.rows
    return sort_rows(grad.rows, grad.height)


def _dense(step, param, moment, grad, lr, epsilon=0.0):
    """Update all of ``param`` (and ``moment``, where the optimizer has one)."""
    arrays = (param, param if moment is None else moment, np.ascontiguousarray(grad, param.dtype))
    p, m, g = (wide(array).reshape(1, -1) for array in arrays)
    number = p.dtype.type
    kernel = dense_kernel(step, moment is not None)
    kernel(p.size, p, m, g, number(lr), number(epsilon), DENSE_CHUNKS * settings.chunk_rows)
    if param.dtype == np.float16:
        param[...] = p.reshape(param.shape)
        if moment is not None:
            moment[...] = m.reshape(param.shape)


def _sparse(step, param, moment, grad, duplicates, lr, epsilon=0.0):
    """Update the rows of ``param`` (and ``moment``) that a gradient lists."""
    n = len(grad.rows)
    if n > settings.few_rows or grad.is_merged or param.dtype == np.float16 or grad.height > TALL:
        order, starts, unique = _runs(grad)
        _by_runs(step, param, moment, unique, (order, starts), grad.value, duplicates, lr, epsilon)
    elif n and grad.value.size:
        p, number = matrix(param), param.dtype.type
        kernel = few_kernel(step, whole_width(p.shape[1]), moment is not None, duplicates == "merge")
        m = p if moment is None else matrix(moment)
        kernel(p, m, grad.rows, matrix(grad.value), number(lr), number(epsilon), bits_below(n))


def _by_runs(step, param, moment, at, runs, value, duplicates, lr, epsilon=0.0):
    """Update the rows ``at`` of ``param``, each by its run of rows of ``value``."""
    if param.dtype == np.float16:
        _by_runs_half(step, param, moment, at, runs, value, duplicates, lr, epsilon)
        return
    order, starts = runs
    p, g, number = matrix(param), matrix(value), param.dtype.type
    if p.size and len(at):
        kernel = rows_kernel(step, whole_width(p.shape[1]), moment is not None, duplicates == "merge")
        m = p if moment is None else matrix(moment)
        kernel(g.size, p, m, at, order, starts, g, number(lr), number(epsilon), settings.chunk_rows)


def _by_runs_half(step, param, moment, at, runs, value, *options):
    """Update float16 rows as float32, and round them once."""
    targets = [array for array in (param, moment) if array is not None]
    copies = [array[at].astype(np.float32) for array in targets]
    _by_runs(step, copies[0], None if moment is None else copies[1], np.arange(len(at)), runs, wide(value), *options)
    for array, copy in zip(targets, copies, strict=True):
        array[at] = copy


@sgd.kernel("cpu")
def sgd_dense(param: Dense, grad: Dense, /, *, lr, duplicates):
    check_update("sgd", param, grad)
    refuse_overlap("param", param, (grad,))
    _dense(sgd_step, param, None, grad, learning_rate(lr))
    return param


@sgd.kernel("cpu")
def sgd_rows(param: Dense, grad: SelectedRows, /, *, lr, duplicates):
    check_update("sgd", param, grad)
    refuse_overlap("param", param, (grad.value,))
    _sparse(sgd_step, param, None, grad, duplicates, learning_rate(lr))
    return param


@sgd.kernel("cpu")
def sgd_selected(param: SelectedRows, grad: SelectedRows, /, *, lr, duplicates):
    check_update("sgd", param, grad)
    refuse_overlap("param", param.value, (grad,))
    *runs, unique = _runs(grad)
    keys = np.argsort(param.rows, kind="stable")
    at = np.empty(len(unique), np.int64)
    missing = _find(param.rows[keys], keys, unique, at)
    if missing >= 0:
        i, row = int(runs[0][runs[1][missing]]), unique[missing]
        raise missing_row(i, row)
    _by_runs(sgd_step, param.value, None, at, runs, grad.value, duplicates, learning_rate(lr))
    return param


@sgd.kernel("cpu")
def sgd_selected_dense(param: SelectedRows, grad: Dense, /, *, lr, duplicates):
    check_update("sgd", param, grad)
    refuse_overlap("param", param.value, (grad,))
    _dense(sgd_step, param.value, None, grad[param.rows], learning_rate(lr))
    return param


@adagrad.kernel("cpu")
def adagrad_dense(param: Dense, grad: Dense, moment: Dense, /, *, lr, epsilon, duplicates):
    check_update("adagrad", param, grad, ("moment", moment))
    refuse_overlap("param", param, (grad, moment))
    refuse_overlap("moment", moment, (grad,))
    _dense(adagrad_step, param, moment, grad, learning_rate(lr), epsilon)
    return param, moment


@adagrad.kernel("cpu")
def adagrad_rows(param: Dense, grad: SelectedRows, moment: Dense, /, *, lr, epsilon, duplicates):
    check_update("adagrad", param, grad, ("moment", moment))
    refuse_overlap("param", param, (grad.value, moment))
    refuse_overlap("moment", moment, (grad.value,))
    _sparse(adagrad_step, param, moment, grad, duplicates, learning_rate(lr), epsilon)
    return param, moment
