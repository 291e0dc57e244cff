"""CPU kernels of lodkit/ops/optimizers.py. Sparse updates sort, then update each row once, in one pass."""

from __future__ import annotations

import numpy as np

from ..arrays import matrix, refuse_overlap
from ..errors import RowIndexError
from ..jit import jitable, njit, prange, settings, threaded
from ..ops.optimizers import adagrad, check_update, learning_rate, sgd
from ..registry import Dense
from ..selected_rows import SelectedRows
from ._rows import first_at_least, wide
from ._sort import sort_rows


@jitable
def _add_up(value, order, start, stop, total):
    """The sum of a run's rows, in double precision."""
    for d in range(len(total)):
        total[d] = 0
    for p in range(start, stop):
        row = order[p]
        for d in range(len(total)):
            total[d] += value[row, d]


@jitable
def _sgd_row(row, g, lr):
    for d in range(len(row)):
        row[d] -= lr * row.dtype.type(g[d])


@jitable
def _adagrad_row(row, moment, g, lr, epsilon):
    for d in range(len(row)):
        step = row.dtype.type(g[d])
        square = moment[d] + step * step
        moment[d] = square
        row[d] -= lr * step / (np.sqrt(square) + epsilon)


@threaded
def _sgd_dense(param, grad, lr, chunk):
    for c in prange((len(param) + chunk - 1) // chunk):
        stop = min(len(param), (c + 1) * chunk)
        _sgd_row(param[c * chunk : stop], grad[c * chunk : stop], lr)


@threaded
def _adagrad_dense(param, grad, moment, lr, epsilon, chunk):
    for c in prange((len(param) + chunk - 1) // chunk):
        a, b = c * chunk, min(len(param), (c + 1) * chunk)
        _adagrad_row(param[a:b], moment[a:b], grad[a:b], lr, epsilon)


@threaded
def _sgd_rows(param, at, order, starts, value, lr, merge, chunk):
    """Chunks of runs that start in the same ``chunk`` rows of the sorted gradient."""
    for c in prange((len(order) + chunk - 1) // chunk):
        total = np.empty(value.shape[1], np.float64)
        for u in range(first_at_least(starts, c * chunk), min(len(at), first_at_least(starts, (c + 1) * chunk))):
            start, stop = starts[u], starts[u + 1]
            if merge and stop - start > 1:
                _add_up(value, order, start, stop, total)
                _sgd_row(param[at[u]], total, lr)
            else:
                for p in range(start, stop):
                    _sgd_row(param[at[u]], value[order[p]], lr)


@threaded
def _adagrad_rows(param, at, moment, order, starts, value, lr, epsilon, merge, chunk):
    """Chunks of runs that start in the same ``chunk`` rows of the sorted gradient."""
    for c in prange((len(order) + chunk - 1) // chunk):
        total = np.empty(value.shape[1], np.float64)
        for u in range(first_at_least(starts, c * chunk), min(len(at), first_at_least(starts, (c + 1) * chunk))):
            start, stop = starts[u], starts[u + 1]
            if merge and stop - start > 1:
                _add_up(value, order, start, stop, total)
                _adagrad_row(param[at[u]], moment[at[u]], total, lr, epsilon)
            else:
                for p in range(start, stop):
                    _adagrad_row(param[at[u]], moment[at[u]], value[order[p]], lr, epsilon)


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


def _half(target, at, states, update):
    """Update float16 rows: as float32, rounded once."""
    copies = [array[at].astype(np.float32) for array in (target, *states)]
    update(*map(matrix, copies), np.arange(len(at)))
    for array, copy in zip((target, *states), copies, strict=True):
        array[at] = copy


@sgd.kernel("cpu")
def sgd_dense(param: Dense, grad: Dense, /, *, lr, duplicates):
    check_update("sgd", param, grad)
    refuse_overlap("param", param, (grad,))
    lr = np.float32(learning_rate(lr)) if param.dtype != np.float64 else learning_rate(lr)
    p, g = wide(param).reshape(-1), wide(np.ascontiguousarray(grad, param.dtype)).reshape(-1)
    _sgd_dense(p.size, p, g, lr, max(settings.chunk_rows * 16, 1))
    if param.dtype == np.float16:
        param[...] = p.reshape(param.shape)
    return param


@sgd.kernel("cpu")
def sgd_rows(param: Dense, grad: SelectedRows, /, *, lr, duplicates):
    check_update("sgd", param, grad)
    refuse_overlap("param", param, (grad,))
    order, starts, unique = _runs(grad)
    _sgd(param, unique, order, starts, grad.value, lr, duplicates)
    return param


@sgd.kernel("cpu")
def sgd_selected(param: SelectedRows, grad: SelectedRows, /, *, lr, duplicates):
    check_update("sgd", param, grad)
    refuse_overlap("param", param.value, (grad,))
    order, starts, unique = _runs(grad)
    keys = np.argsort(param.rows, kind="stable")
    at = np.empty(len(unique), np.int64)
    missing = _find(param.rows[keys], keys, unique, at)
    if missing >= 0:
        i, row = int(order[starts[missing]]), unique[missing]
        raise RowIndexError(f"rows[{i}] = {row} of the gradient is no row of the SelectedRows parameter")
    _sgd(param.value, at, order, starts, grad.value, lr, duplicates)
    return param


@sgd.kernel("cpu")
def sgd_selected_dense(param: SelectedRows, grad: Dense, /, *, lr, duplicates):
    check_update("sgd", param, grad)
    refuse_overlap("param", param.value, (grad,))
    value = np.ascontiguousarray(grad[param.rows])
    positions = np.arange(len(param.rows) + 1)
    _sgd(param.value, positions[:-1], positions[:-1], positions, value, lr, duplicates)
    return param


def _sgd(target, at, order, starts, value, lr, duplicates):
    value, lr, merge = matrix(wide(value)), learning_rate(lr), duplicates == "merge"

    def update(rows, where):
        number = rows.dtype.type(lr)
        _sgd_rows(value.size, rows, where, order, starts, value, number, merge, settings.chunk_rows)

    if target.dtype == np.float16:
        _half(target, at, (), update)
    else:
        update(matrix(target), at)


@adagrad.kernel("cpu")
def adagrad_dense(param: Dense, grad: Dense, moment: Dense, /, *, lr, epsilon, duplicates):
    check_update("adagrad", param, grad, ("moment", moment))
    refuse_overlap("param", param, (grad, moment))
    refuse_overlap("moment", moment, (grad,))
    p, g, m = (wide(np.ascontiguousarray(a, param.dtype)).reshape(-1) for a in (param, grad, moment))
    number = p.dtype.type
    _adagrad_dense(p.size, p, g, m, number(learning_rate(lr)), number(epsilon), max(settings.chunk_rows * 16, 1))
    if param.dtype == np.float16:
        param[...], moment[...] = p.reshape(param.shape), m.reshape(param.shape)
    return param, moment


@adagrad.kernel("cpu")
def adagrad_rows(param: Dense, grad: SelectedRows, moment: Dense, /, *, lr, epsilon, duplicates):
    check_update("adagrad", param, grad, ("moment", moment))
    refuse_overlap("param", param, (grad, moment))
    refuse_overlap("moment", moment, (grad,))
    order, starts, unique = _runs(grad)
    value, merge = matrix(wide(grad.value)), duplicates == "merge"

    def update(rows, moments, where):
        n = rows.dtype.type
        numbers = n(learning_rate(lr)), n(epsilon), merge, settings.chunk_rows
        _adagrad_rows(value.size, rows, where, moments, order, starts, value, *numbers)

    if param.dtype == np.float16:
        _half(param, unique, (moment,), update)
    else:
        update(matrix(param), matrix(moment), unique)
    return param, moment
