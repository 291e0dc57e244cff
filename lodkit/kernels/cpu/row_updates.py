"""CPU kernels of lodkit/ops/row_updates.py: steps without a gradient, by the runs of the listed rows."""

from __future__ import annotations

import math

import numpy as np

from ...arrays import check_rows
from ...arrays.generic import refuse_overlap
from ...arrays.ids import checked_ids
from ...jit import njit
from ...ops.row_updates import (
    LONGEST,
    check_counter,
    iteration_number,
    rowwise_counter,
    sparse_lp_regularizer,
    sparse_normalize,
)
from ...ops.shared.updates import check_target
from ...registry import Dense
from ..common.optimizer_steps import lp_rule, normalize_rule
from .primitives.sort import sort_rows
from .primitives.update import update_runs


def _update(name, rule, param, rows, duplicates="merge"):
    """Step the listed rows, by a gradient that is 0: each once, or once for each time that it is listed."""
    check_target(name, check_rows(param, "param"))
    rows = checked_ids(rows, len(param), "rows").reshape(-1)
    refuse_overlap("param", param, (rows,))
    _, starts, unique = sort_rows(rows, len(param))
    starts = starts if duplicates == "sequential" else np.arange(len(unique) + 1)
    no_gradient, first = np.zeros((1, *param.shape[1:]), param.dtype), np.zeros(starts[-1], np.int64)
    update_runs(rule, param, (), unique, (first, starts), no_gradient, duplicates)
    return param


@sparse_normalize.kernel("cpu")
def normalize(param: Dense, rows: Dense, /, *, norm, use_max_norm):
    return _update("sparse_normalize", normalize_rule(norm, use_max_norm, param), param, rows)


@sparse_lp_regularizer.kernel("cpu")
def regularize(param: Dense, rows: Dense, /, *, p, reg_lambda, duplicates):
    return _update("sparse_lp_regularizer", lp_rule(p, reg_lambda), param, rows, duplicates)


@njit
def _count(prev_iter, counter, rows, now, rate):
    for row in rows:
        passed = max(0, now - max(prev_iter[row], now - LONGEST))
        counter[row] = 1 + math.exp(-passed * rate) * counter[row]
        prev_iter[row] = max(now, prev_iter[row])


@rowwise_counter.kernel("cpu")
def count(prev_iter: Dense, counter: Dense, rows: Dense, /, *, iteration, halflife):
    check_counter(prev_iter, counter)
    rows, now = checked_ids(rows, len(counter), "rows").reshape(-1), iteration_number(iteration)
    refuse_overlap("prev_iter", prev_iter, (rows, counter))
    refuse_overlap("counter", counter, (rows,))
    if halflife > 0:
        _count(prev_iter, counter, rows, now, math.log(2) / halflife)
    return prev_iter, counter
