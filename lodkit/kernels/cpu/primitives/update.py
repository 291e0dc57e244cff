"""Updates of a parameter in place: dense, or by the runs of equal rows, each read and written once."""

from __future__ import annotations

import functools

import numpy as np

from ....arrays import ALIGNED, AS_THEY_ARE, matrix, upcast, write_together
from ....jit import settings
from ....ops.shared.updates import TOO_MUCH, numbers_in
from ...common.optimizer_rules import Rule
from .merge import runs_of, single_runs
from .reduce import TILE, reduce_into
from .update_kernels import dense_kernel, rows_kernel, rowwise_kernel, spread_kernel, whole_width
from .update_states import AGAIN

TALL = 1 << 50  # above, a row and its position may not fit into one number
NO_RUNS = np.empty(0, np.int64)
DENSE_CHUNKS = 16  # a dense update reads in order: fewer, larger chunks


def record_like(value):
    """An array for the steps of the elements of a gradient."""
    return np.zeros(value.shape, np.promote_types(value.dtype, np.float32))


def rule_numbers(rule, dtype):
    """A rule's numbers, in the type that the parameter computes in."""
    return numbers_in(dtype, rule.numbers, rule.adjust)


def dense_loop(rule, param, states, grad, taken=None):
    """The loop of ``update_all`` for these arrays, and its lanes."""
    if rule.rowwise:
        return rows_loop(rule, param, states, grad)
    kernel = dense_kernel(rule.step, len(states), 1 + rule.pairs, bool(rule.adjust), taken is not None)
    return kernel, None


def rows_loop(rule, param, states, grad, duplicates="merge", taken=None):
    """The loop of ``update_rows`` for these arrays, and its lanes."""
    columns = matrix(param).shape[1]
    kernel = _runs_kernel(rule, columns, len(states), duplicates == "merge", False, taken is not None)
    return kernel, whole_width(columns, 16 if rule.pairs else 64)


def update_all(rule, param, states, grad, taken=None):
    """Step all of a parameter."""
    if rule.rowwise:
        starts = single_runs(param)
        update_runs(rule, param, states, starts[:-1], starts, starts[:-1], grad)
        return
    if param.dtype == np.float16:  # whose gradient may be float32, and whose states
        copies = [array.astype(np.float32) for array in (param, *states)]
        update_all(rule._replace(extra_writes=()), copies[0], copies[1:], upcast(np.ascontiguousarray(grad)), taken)
        _write((param, *states), copies, rule.extra_writes)
        return
    p, *states, g = (x.reshape(1, -1) for x in (param, *states, np.ascontiguousarray(grad, param.dtype)))
    kernel, _ = dense_loop(rule, p, states, g, taken)
    taken, numbers = g if taken is None else taken.reshape(1, -1), rule_numbers(rule, p.dtype)
    launch = _with_writes(rule, kernel) if rule.extra_writes else kernel
    launch(p.size, p, tuple(states), g, taken, numbers, DENSE_CHUNKS * settings.chunk_rows)


def _with_writes(rule, kernel):
    """A kernel that makes the rule's other writes, too."""
    return functools.partial(kernel.then, [(array, ..., value) for array, value in rule.extra_writes])


def _write(arrays, values, extra_writes=(), at=...):
    """Write what was computed in copies, and the other writes of a rule; an interrupt leaves all or none."""
    writes = [(array, at, value) for array, value in zip(arrays, values, strict=True)]
    write_together(writes + [(array, ..., value) for array, value in extra_writes])


def put_together(rows, values, arrays):
    """``array[rows] = value`` of each of some arrays, or of all rows for None; an interrupt leaves all or none."""
    _write(arrays, values, at=... if rows is None else rows)


def _shape(rule, columns, count):
    """The step, its width, the number of its states, and the numbers per element of each."""
    return rule.step, whole_width(columns, 16 if rule.pairs else 64), count, 1 + rule.pairs


# Asking Numba for an entry takes 80 us, an update of ten rows 4. The key holds no numbers of the rule: they are
# arguments, and a learning rate that moves would miss at every step.
@functools.lru_cache(256)
def compiled_small_update(step, rowwise, pairs, adjusts, columns, kinds, merge):
    """Compile an update by a handful of rows in any order; return its entry, which skips Numba's check of types.

    ``kinds`` are the types of the parameter, its gradient and the states. Returns None where they have no such update.
    """
    dtype, of_grad, *of_states = kinds
    if dtype not in AS_THEY_ARE or of_grad != dtype:
        return None
    rule = Rule(step, (), (0.0,) if adjusts else (), rowwise, pairs)
    kernel = _runs_kernel(rule, columns, len(of_states), merge, False, False)
    p, rows, numbers = np.empty((0, columns), dtype), np.empty(0, np.int64), np.empty(0, dtype)
    widths = [columns * (1 + pairs)] * len(of_states)
    if rowwise and widths:
        widths[-1] = 1
    states = tuple(np.empty((0, width), kind) for width, kind in zip(widths, of_states, strict=True))
    return kernel.entry(p, states, rows, rows, rows, p, numbers, p, numbers, 1, 1)


def _runs_kernel(rule, columns, count, merge, weighted, records):
    if rule.rowwise:
        width, full = whole_width(columns), max(count - 1, 0)
        # Without another state, a second prefetch takes 1.18 of the time for 16 columns, 1.06 for 32, 0.7 for 128.
        again = AGAIN if full or columns >= 128 else 0
        return rowwise_kernel(rule.step, width, full, count > 0, merge, bool(rule.adjust), weighted, again)
    return rows_kernel(*_shape(rule, columns, count), merge, bool(rule.adjust), weighted, records)


def choose_small_update(rule, param, states, value, duplicates):
    """The compiled update of a handful of rows, and whether arrays are reshaped for it; None for other arrays."""
    arrays = param, value, *states
    if any(x.flags.num & ALIGNED != ALIGNED for x in arrays):
        return None
    of_rule = rule.step, rule.rowwise, rule.pairs, bool(rule.adjust)
    columns, kinds = value.size // len(value), tuple(x.dtype for x in arrays)
    entry = compiled_small_update(*of_rule, columns, kinds, duplicates == "merge")
    return entry and (entry, any(x.ndim != 2 for x in arrays))


def update_rows(rule, param, states, grad, duplicates, taken=None, known=None):
    """Step the rows of a parameter that a gradient lists; ``known`` keeps the small update of arrays like these."""
    n, value = len(grad._rows), grad._value
    few = 0 < n <= settings.few_rows and n <= settings.block_rows and not grad.is_merged and grad.height <= TALL
    if few and taken is None and not rule.extra_writes and value.size:
        key = rule.step, bool(rule.adjust), duplicates
        small = known.get(key) if known else None
        if small is None:
            small = choose_small_update(rule, param, states, value, duplicates)
            if known is not None:
                known[key] = small
        if small:
            (entry, reshapes), p, g = small, param, value
            if reshapes:
                p, g, *states = [x.reshape(len(x), -1) for x in (param, value, *states)]
            if rule.adjust or not max(map(abs, rule.numbers), default=0.0) < TOO_MUCH:
                numbers = numbers_in(p.dtype, rule.numbers, rule.adjust)
            else:
                numbers = np.array(rule.numbers, p.dtype)
            entry(p, tuple(states), grad._rows, NO_RUNS, NO_RUNS, g, numbers, g, numbers, n, n)
            return
    order, starts, unique = runs_of(grad)
    update_runs(rule, param, states, unique, starts, order, value, duplicates, taken=taken)


def update_runs(rule, param, states, at, starts, order, value, duplicates="merge", scale=None, taken=None):
    """Step the rows ``at`` of a parameter, each by its rows of ``value``, in ``order``, times ``scale`` if any."""
    if param.dtype == np.float16:
        _update_runs_half(rule, param, states, at, starts, order, upcast(value), duplicates, scale, taken)
        return
    p, g = matrix(param), matrix(np.asarray(value, param.dtype))
    if not p.size or not len(at):
        _write((), (), rule.extra_writes)
        return
    if duplicates == "merge" and len(order) - len(at) >= TILE * settings.chunk_rows:
        g, order, starts, scale = _long_runs_summed(g, order, starts, scale)
    kernel = _runs_kernel(rule, p.shape[1], len(states), duplicates == "merge", scale is not None, taken is not None)
    states, numbers = tuple(map(matrix, states)), rule_numbers(rule, p.dtype)
    scale, taken = numbers if scale is None else scale, g if taken is None else matrix(taken)
    sizes = settings.chunk_rows, settings.block_rows
    launch = _with_writes(rule, kernel) if rule.extra_writes else kernel
    launch(p.shape[1] * len(order), p, states, at, order, starts, g, scale, taken, numbers, *sizes)


def spread_loop(rule, param, states):
    """The loop of ``update_all_rows`` for these arrays, and its lanes.

    Returns None where rows are no whole vectors of the type that they compute in.
    """
    wide = param.ndim > 1 and len(param) and whole_width(param.size // len(param)) >= 8
    if not wide or rule.rowwise or param.dtype == np.float16:
        return None
    shape = _shape(rule, matrix(param).shape[1], len(states))
    return spread_kernel(*shape, bool(rule.adjust)), shape[1]


def update_all_rows(rule, param, states, grad):
    """Apply a sparse gradient to every row (rows that it omits get gradient 0) without building the dense gradient.

    Returns False, and does nothing, where ``spread_loop`` gives none for such arrays.
    """
    loop = spread_loop(rule, param, states)
    if loop is None:
        return False
    order, starts, at = runs_of(grad)
    p, g = matrix(param), matrix(np.asarray(grad.value, param.dtype))
    if len(order) - len(at) >= TILE * settings.chunk_rows:
        g, order, starts, _ = _long_runs_summed(g, order, starts, None)
    kernel, _ = loop
    rows, states = max(1, DENSE_CHUNKS * settings.chunk_rows // p.shape[1]), tuple(map(matrix, states))
    launch = _with_writes(rule, kernel) if rule.extra_writes else kernel
    launch(p.size, p, states, at, order, starts, g, rule_numbers(rule, p.dtype), rows, settings.block_rows)
    return True


def _long_runs_summed(g, order, starts, scale):
    """The sums of runs, by all threads, where one is longer than the tiles of ``reduce_into``; else what was given."""
    if np.diff(starts).max() <= TILE * settings.chunk_rows:
        return g, order, starts, scale
    if scale is not None:
        g, order = g[order] * scale.reshape(-1, 1).astype(g.dtype, copy=False), np.arange(len(order))
    sums, single = reduce_into(g, order, None, None, starts, "sum", 0.0), np.arange(len(starts))
    return sums, single[:-1], single, None


def _update_runs_half(rule, param, states, at, *runs):
    """Step float16 rows as float32, and round them once."""
    arrays = (param, *states)
    copies = [array[at].astype(np.float32) for array in arrays]
    update_runs(rule._replace(extra_writes=()), copies[0], tuple(copies[1:]), np.arange(len(at)), *runs)
    _write(arrays, copies, rule.extra_writes, at)
