"""Updates of a parameter in place: dense, or by the runs of equal rows, each read and written once."""

from __future__ import annotations

import functools

import numpy as np

from ....arrays import matrix, upcast
from ....jit import settings
from .merge import runs_of, single_runs
from .reduce import TILE, reduce_rows
from .sort import bits_below
from .update_kernels import dense_kernel, few_kernel, rows_kernel, rowwise_kernel, spread_kernel, whole_width

TALL = 1 << 50  # above, a row and its position may not fit into one number
DENSE_CHUNKS = 16  # a dense update reads in order: fewer, larger chunks


def record_like(value):
    """An array for the steps of the elements of a gradient."""
    return np.zeros(value.shape, np.promote_types(value.dtype, np.float32))


def _rule_numbers(rule, dtype):
    """A rule's numbers, in the type that the parameter computes in."""
    return np.array((*rule.numbers, *rule.adjust), dtype)


def update_all(rule, param, states, grad, taken=None):
    """Step all of a parameter."""
    if rule.rowwise:
        starts = single_runs(param)
        update_runs(rule, param, states, starts[:-1], starts, starts[:-1], grad)
        return
    half = param.dtype == np.float16  # whose gradient may be float32
    arrays = (param, *states, np.ascontiguousarray(grad, None if half else param.dtype))
    p, *upcasts, g = (upcast(array).reshape(1, -1) for array in arrays)
    kernel = dense_kernel(rule.step, len(states), 1 + rule.pairs, bool(rule.adjust), taken is not None)
    taken = g if taken is None else taken.reshape(1, -1)
    kernel(p.size, p, tuple(upcasts), g, taken, _rule_numbers(rule, p.dtype), DENSE_CHUNKS * settings.chunk_rows)
    if half:
        olds = param, *states
        _round_once(olds, [done.reshape(old.shape) for old, done in zip(olds, (p, *upcasts), strict=True)])


def _round_once(halves, upcasts, at=...):
    """Round stepped float32 to float16; too large becomes inf, as in compiled code: an error would leave half of it."""
    with np.errstate(all="ignore"):
        for half, done in zip(halves, upcasts, strict=True):
            half[at] = done


def _shape(rule, columns, count):
    """The step, its width, the number of its states, and the numbers per element of each."""
    return rule.step, whole_width(columns, 16 if rule.pairs else 64), count, 1 + rule.pairs


@functools.lru_cache(256)  # these take 0.8 us, and an update of ten rows 7
def _kernel_of_few(rule, columns, count, merge, dtype):
    return few_kernel(*_shape(rule, columns, count), merge), _rule_numbers(rule, dtype)


def update_rows(rule, param, states, grad, duplicates, taken=None):
    """Step the rows of a parameter that a gradient lists."""
    n, plain = len(grad.rows), not (rule.rowwise or rule.adjust or taken is not None or len(states) > 2)
    few = n <= settings.few_rows and n <= settings.block_rows and not grad.is_merged
    if not few or not plain or param.dtype == np.float16 or grad.height > TALL:
        order, starts, unique = runs_of(grad)
        update_runs(rule, param, states, unique, starts, order, grad.value, duplicates, taken=taken)
    elif n and grad.value.size:
        p = matrix(param)
        first, second = [*map(matrix, states), p, p][:2]
        kernel, numbers = _kernel_of_few(rule, p.shape[1], len(states), duplicates == "merge", p.dtype)
        kernel(p, first, second, grad.rows, matrix(grad.value), numbers, bits_below(n))


def update_runs(rule, param, states, at, starts, order, value, duplicates="merge", scale=None, taken=None):
    """Step the rows ``at`` of a parameter, each by its rows of ``value``, in ``order``, times ``scale`` if any."""
    if param.dtype == np.float16:
        _update_runs_half(rule, param, states, at, starts, order, upcast(value), duplicates, scale, taken)
        return
    p, g = matrix(param), matrix(np.asarray(value, param.dtype))
    if not p.size or not len(at):
        return
    if duplicates == "merge" and len(order) - len(at) >= TILE * settings.chunk_rows:
        g, order, starts, scale = _long_runs_summed(g, order, starts, scale)
    flags = duplicates == "merge", bool(rule.adjust), scale is not None
    if rule.rowwise:
        width = whole_width(p.shape[1])
        kernel = rowwise_kernel(rule.step, width, max(len(states) - 1, 0), bool(states), *flags)
    else:
        kernel = rows_kernel(*_shape(rule, p.shape[1], len(states)), *flags, taken is not None)
    states, numbers = tuple(map(matrix, states)), _rule_numbers(rule, p.dtype)
    scale, taken = numbers if scale is None else scale, g if taken is None else matrix(taken)
    sizes = settings.chunk_rows, settings.block_rows
    kernel(p.shape[1] * len(order), p, states, at, order, starts, g, scale, taken, numbers, *sizes)


def update_spread(rule, param, states, grad):
    """Step all rows of a parameter as by the dense gradient that SelectedRows are, which is never made.

    Returns False, and does nothing, where rows are no whole vectors of the type that they compute in.
    """
    wide = param.ndim > 1 and len(param) and whole_width(param.size // len(param)) >= 8
    if not wide or rule.rowwise or param.dtype == np.float16:
        return False
    order, starts, at = runs_of(grad)
    p, g = matrix(param), matrix(np.asarray(grad.value, param.dtype))
    if len(order) - len(at) >= TILE * settings.chunk_rows:
        g, order, starts, _ = _long_runs_summed(g, order, starts, None)
    kernel = spread_kernel(*_shape(rule, p.shape[1], len(states)), bool(rule.adjust))
    rows, states = max(1, DENSE_CHUNKS * settings.chunk_rows // p.shape[1]), tuple(map(matrix, states))
    kernel(p.size, p, states, at, order, starts, g, _rule_numbers(rule, p.dtype), rows, settings.block_rows)
    return True


def _long_runs_summed(g, order, starts, scale):
    """The sums of runs, by all threads, where one is longer than the tiles of ``reduce_rows``; else what was given."""
    if np.diff(starts).max() <= TILE * settings.chunk_rows:
        return g, order, starts, scale
    if scale is not None:
        g, order = g[order] * scale.reshape(-1, 1).astype(g.dtype, copy=False), np.arange(len(order))
    sums, single = np.empty((len(starts) - 1, g.shape[1]), g.dtype), np.arange(len(starts))
    reduce_rows("sum", g, order, None, None, starts, g.dtype.type(0), sums)
    return sums, single[:-1], single, None


def _update_runs_half(rule, param, states, at, *runs):
    """Step float16 rows as float32, and round them once."""
    arrays = (param, *states)
    copies = [array[at].astype(np.float32) for array in arrays]
    update_runs(rule, copies[0], tuple(copies[1:]), np.arange(len(at)), *runs)
    _round_once(arrays, copies, at)
