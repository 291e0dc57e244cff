"""CUDA kernels of lodkit/ops/row_updates.py: steps without a gradient, by the runs of the listed rows."""

from __future__ import annotations

import math

import numpy as np

from ...arrays import check_rows
from ...arrays.cuda import vector
from ...arrays.cuda.elementwise import fill, iota
from ...arrays.cuda.ids import checked_ids
from ...arrays.cuda.launch import cuda, launch
from ...arrays.cuda.memory import refuse_overlap, view
from ...jit import simd
from ...lod.selected_rows import SelectedRows
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
from .primitives.merge import runs_of
from .primitives.offsets import Offsets
from .primitives.update import update_runs


def _runs(rows, height):
    """The distinct rows, and the Offsets of their runs."""
    return runs_of(SelectedRows._wrap(rows, rows, height))[:2]


def _update(name, rule, param, rows, duplicates="merge"):
    """Step the listed rows, by a gradient that is 0: each once, or once for each time that it is listed."""
    check_target(name, check_rows(param, "param"))
    rows = checked_ids(rows, len(param), "rows")
    refuse_overlap("param", param, (rows,))
    if not rows.size:
        return param.array
    unique, runs = _runs(rows, len(param))
    if duplicates == "merge":
        runs = Offsets(iota(rows, len(unique) + 1), len(unique))
    no_gradient, first = fill(param.like((1, *param.shape[1:])), 0), fill(rows.like((runs.rows,), np.int64), 0)
    update_runs(rule, param, [], unique, runs, first, no_gradient, duplicates)
    return param.array


@sparse_normalize.kernel("cuda")
def normalize(param: Dense, rows: Dense, /, *, norm, use_max_norm):
    param = view(param)
    return _update("sparse_normalize", normalize_rule(norm, use_max_norm, param), param, rows)


@sparse_lp_regularizer.kernel("cuda")
def regularize(param: Dense, rows: Dense, /, *, p, reg_lambda, duplicates):
    return _update("sparse_lp_regularizer", lp_rule(p, reg_lambda), view(param), rows, duplicates)


@cuda.jit
def _count(prev_iter, counter, rows, starts, now, rate, runs):
    """Of a row that is listed several times, all but the first use come without delay: they count in full."""
    u = cuda.grid(1)
    while u < runs:
        row, uses = vector.number(rows, u), vector.number(starts, u + 1) - vector.number(starts, u)
        last, before = prev_iter[row], vector.load_written(counter, row, 1)
        passed = simd.like(before, max(0, now - max(last, now - LONGEST)))
        faded = simd.mul(before, simd.exp(simd.mul(passed, simd.like(before, -rate))))
        vector.store(counter, row, simd.add(faded, simd.like(before, uses)))
        prev_iter[row] = max(now, last)
        u += cuda.gridsize(1)


@rowwise_counter.kernel("cuda")
def count(prev_iter: Dense, counter: Dense, rows: Dense, /, *, iteration, halflife):
    prev, counts = view(prev_iter), view(counter)
    check_counter(prev, counts)
    rows, now = checked_ids(rows, len(counts), "rows"), iteration_number(iteration)
    refuse_overlap("prev_iter", prev, (rows, counts))
    refuse_overlap("counter", counts, (rows,))
    if halflife > 0 and rows.size:
        unique, runs = _runs(rows, len(counts))
        rate = counts.dtype.type(math.log(2) / halflife)
        launch(_count, len(unique), prev, counts, unique, runs.offsets, now, rate, len(unique))
    return prev_iter, counter
