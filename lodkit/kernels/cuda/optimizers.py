"""CUDA kernels of lodkit/ops/optimizers.py: sgd of SelectedRows parameters."""

from __future__ import annotations

from ...arrays.cuda import vector
from ...arrays.cuda.elementwise import fill
from ...arrays.cuda.launch import cuda, launch
from ...arrays.cuda.memory import refuse_overlap
from ...lod.selected_rows import SelectedRows
from ...ops.optimizers import sgd
from ...ops.shared.updates import check_update, missing_row, repeated_row
from ...registry import Dense
from ..common.optimizer_steps import sgd_rule
from .primitives.gather import gather
from .primitives.merge import runs_of
from .primitives.offsets import upper_bound
from .primitives.update import update_all, update_runs
from .primitives.views import viewed


@cuda.jit
def _find(keys, key_order, count, wanted, runs, order, starts, at, missing):
    """Where each wanted row stands among the parameter's sorted keys; in missing[0], the first entry without."""
    u = cuda.grid(1)
    while u < runs:
        row = vector.number(wanted, u)
        k = upper_bound(keys, 0, count, row) - 1
        if k >= 0 and vector.number(keys, k) == row:
            at[u] = vector.number(key_order, k)
        else:
            vector.atomic_first(missing, 0, vector.number(order, vector.number(starts, u)))
        u += cuda.gridsize(1)


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
        update_runs(sgd_rule(lr), p.value, (), at, offsets, order, g.value, duplicates)
    return param


@sgd.kernel("cuda")
def sgd_selected_dense(param: SelectedRows, grad: Dense, /, *, lr, duplicates):
    (p, _, _), g = _keyed(param), viewed(grad)
    check_update("sgd", p, g)
    refuse_overlap("param", p.value, (g,))
    facing = p.value.like(p.value.shape)
    gather(g, p.rows, None, facing)
    update_all(sgd_rule(lr), p.value, (), facing)
    return param


def _keyed(param):
    """A SelectedRows parameter as Views, its rows in ascending order, and where they stand: each is listed once."""
    p = viewed(param)
    keys, _, order = runs_of(p)
    if len(keys) != len(p.rows):
        raise repeated_row("sgd")
    return SelectedRows._wrap(p.rows, p.value, p.height, merged=True), keys, order
