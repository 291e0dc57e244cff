"""CPU kernels of lodkit/ops/optimizers.py: sgd of SelectedRows parameters."""

from __future__ import annotations

import numpy as np

from ...arrays.generic import refuse_overlap
from ...jit import njit
from ...jit.search import lower_bound
from ...lod.selected_rows import SelectedRows
from ...ops.optimizers import sgd
from ...ops.shared.updates import check_update, missing_row
from ...registry import Dense
from ..common.optimizer_steps import sgd_rule
from .primitives.update import runs_of, update_all, update_runs


@njit
def _find(keys, key_order, wanted, at):
    """Where each wanted row stands among the parameter's sorted keys; the first missing one, or -1."""
    for u in range(len(wanted)):
        k = lower_bound(keys, wanted[u])
        if k == len(keys) or keys[k] != wanted[u]:
            return u
        at[u] = key_order[k]
    return -1


@sgd.kernel("cpu")
def sgd_selected(param: SelectedRows, grad: SelectedRows, /, *, lr, duplicates):
    check_update("sgd", param, grad)
    refuse_overlap("param", param.value, (grad,))
    *runs, unique = runs_of(grad)
    keys = np.argsort(param.rows, kind="stable")
    at = np.empty(len(unique), np.int64)
    missing = _find(param.rows[keys], keys, unique, at)
    if missing >= 0:
        i, row = int(runs[0][runs[1][missing]]), unique[missing]
        raise missing_row(i, row)
    update_runs(sgd_rule(lr), param.value, (), at, runs, grad.value, duplicates)
    return param


@sgd.kernel("cpu")
def sgd_selected_dense(param: SelectedRows, grad: Dense, /, *, lr, duplicates):
    check_update("sgd", param, grad)
    refuse_overlap("param", param.value, (grad,))
    update_all(sgd_rule(lr), param.value, (), grad[param.rows])
    return param
