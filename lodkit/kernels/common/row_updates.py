"""Kernels of lodkit/ops/row_updates.py: steps without a gradient, by the runs of the listed rows."""

from __future__ import annotations

import math

import numpy as np

from ...ops import row_updates as ops
from .optimizer_rules import lp_rule, normalize_rule

INT64 = np.dtype(np.int64)


def _update(on, name, rule, param, rows, duplicates="merge"):
    """Step the listed rows, by a gradient of zeros: each once, or once for each time that it is listed."""
    rows = ops.prepare_rows(on, name, param, rows)
    if rows.size:
        _, starts, unique = on.sort_rows(rows, len(param))
        if duplicates == "merge":
            rows, starts = unique, on.single_runs(unique)
        no_gradient = on.zeros((1, *param.shape[1:]), param.dtype, param)
        first = on.zeros((rows.size,), INT64, rows)
        on.update_runs(rule, param, (), unique, starts, first, no_gradient, duplicates)
    return param


@ops.sparse_normalize.kernel("cpu", "cuda")
def sparse_normalize(on, param, rows, /, *, norm, use_max_norm):
    return _update(on, "sparse_normalize", normalize_rule(norm, use_max_norm, param), param, rows)


@ops.sparse_lp_regularizer.kernel("cpu", "cuda")
def sparse_lp_regularizer(on, param, rows, /, *, p, reg_lambda, duplicates):
    return _update(on, "sparse_lp_regularizer", lp_rule(p, reg_lambda), param, rows, duplicates)


@ops.rowwise_counter.kernel("cpu", "cuda")
def rowwise_counter(on, prev_iter, counter, rows, /, *, iteration, halflife):
    rows, now = ops.prepare_counter(on, prev_iter, counter, rows, iteration)
    if halflife > 0 and rows.size:
        least = max(now - ops.MAX_ITERATION_GAP, -(1 << 63))
        on.row_updates.count(prev_iter, counter, rows, now, least, math.log(2) / halflife)
    return prev_iter, counter
