"""Updates of a parameter in place: dense, or by the runs of equal rows, each read and written once."""

from __future__ import annotations

import math
import operator

import numpy as np

from ....arrays import ALIGNED, AS_THEY_ARE, compute_dtype, is_half, matrix, to_dtype, upcast, write_together
from ....jit import run, settings
from ....ops.shared.updates import TOO_MUCH, numbers_in
from .gather import gather
from .merge import runs_of
from .reduce import TILE, reduce_into
from .update_kernels import (
    dense_kernel,
    rows_kernel,
    rowwise_dense_kernel,
    rowwise_kernel,
    rowwise_spread_kernel,
    spread_kernel,
    whole_width,
)
from .update_states import LANES, SECOND_DISTANCE

TALL = 1 << 50  # above, a row and its position may not fit into one number
NO_RUNS, _FLOAT32 = np.empty(0, np.int64), np.dtype(np.float32)
#: Lanes of a row that a kernel updates at a time, of numbers and of pairs of states.
MOST_LANES, MOST_PAIRS = 64, 16
DENSE_CHUNKS = 16  # a dense update reads in order: fewer, larger chunks


def as_float32(array):
    """A new array of the same numbers."""
    made = to_dtype(array, _FLOAT32)
    return made.copy() if made is array else made


def record_like(value):
    """An array for the steps of the elements of a gradient."""
    return np.zeros(value.shape, compute_dtype(value.dtype))


def rule_numbers(rule, dtype):
    """A rule's numbers, in the type that the parameter computes in."""
    return numbers_in(dtype, rule.numbers, rule.adjust)


def dense_loops(rule, param, states, grad, records=False):
    """The loop of ``update_all`` for these arrays, and its lanes."""
    if rule.rowwise:
        width, count = whole_width(matrix(param).shape[1], MOST_LANES), max(len(states) - 1, 0)
        return [(rowwise_dense_kernel(rule.step, width, count, bool(states), bool(rule.adjust)), width)]
    return [(dense_kernel(rule.step, len(states), 1 + rule.pairs, bool(rule.adjust), records), LANES)]


def rows_loops(rule, param, states, grad, duplicates="merge", everywhere=False, records=False, weighted=False):
    """The loop of ``rows_update`` for these arrays, and its lanes; of rows times a scale where they are weighted."""
    kinds = duplicates, everywhere, weighted, records
    return [_choose_rows_kernel(rule, matrix(param).shape[1], len(states), *kinds)]


def can_spread(rule, param):
    """Whether ``rows_update`` steps all rows, in less time than a dense gradient takes: they are whole vectors.

    A row-wise step goes over one row after another either way; of halves it may need copies in float32.
    """
    if not param.size:
        return False
    return not is_half(param.dtype) if rule.rowwise else whole_width(param.size // len(param)) >= 8


def needs_copies(rule, param, states, duplicates="merge"):
    """Whether halves are stepped as copies in float32: where kernels would round a row between two of its steps, or
    read the one number that a row-wise state has for it.
    """
    if not (rule.rowwise and is_half(param.dtype)):
        return False
    return duplicates == "sequential" or bool(states and is_half(states[-1].dtype))


def gradient_of(param, grad):
    """A gradient in C order as kernels take it: of halves it may be float32, since sums are not rounded before a step,
    else it has the type of the parameter.
    """
    sums = is_half(param.dtype) and grad.dtype == _FLOAT32
    return np.ascontiguousarray(grad, grad.dtype if sums else param.dtype)


def update_all(rule, param, states, grad, taken=None):
    """Step all of a parameter."""
    dense_update()(rule, param, states, grad, taken)


def dense_update():
    """Make the update of all of a parameter.

    It is for arrays of the types and layouts of its first call, and keeps the loop of these.
    """
    kernel = adapt = dtype = code = None

    def update_dense(rule, param, states, grad, taken=None):
        nonlocal kernel, adapt, dtype, code
        if not param.size:
            _write((), (), rule.extra_writes)
            return
        if kernel is None and needs_copies(rule, param, states):
            copies = [as_float32(array) for array in (param, *states)]
            update_all(rule._replace(extra_writes=()), copies[0], copies[1:], upcast(np.ascontiguousarray(grad)), taken)
            _write((param, *states), copies, rule.extra_writes)
            return
        grad = grad if grad.dtype is param.dtype and grad.flags.c_contiguous else gradient_of(param, grad)
        if kernel is None:
            # Before the kernel: another thread that finds that goes on with these.
            adapt, dtype = _choose_adapter(rule, (param, *states, grad)), compute_dtype(param.dtype)
            ((kernel, _),) = dense_loops(rule, param, states, grad, taken is not None)
        p, g, *states = [adapt(x) for x in (param, grad, *states)]
        taken, numbers = g if taken is None else taken.reshape(1, -1), numbers_in(dtype, rule.numbers, rule.adjust)
        chunk = DENSE_CHUNKS * settings.chunk_rows
        args = p, tuple(states), g, taken, numbers, max(1, chunk // p.shape[1]) if rule.rowwise else chunk
        if rule.extra_writes:
            _launch(rule, kernel, p.size, *args)
            return
        if code is None:
            kinds = tuple([(x.dtype, x.flags.aligned) for x in (p, *states, g, taken)])
            code = kernel.entries.get(kinds) or kernel.keep_entry(kinds, *args)
        if p.size < settings.parallel_from:
            code(*args)
        else:
            run(code, args)

    return update_dense


def _choose_adapter(rule, arrays):
    """What makes matrices of arrays as the loop of a dense update takes them: of rows, or of one row."""
    if rule.rowwise:
        return matrix
    plain = all(x.flags.num & ALIGNED == ALIGNED and x.dtype in AS_THEY_ARE for x in arrays)
    return _as_one_row if plain else lambda x: matrix(x.reshape(1, -1))


_as_one_row = operator.methodcaller("reshape", 1, -1)


def _launch(rule, kernel, size, *args):
    """Launch a kernel over so many numbers, which makes the rule's other writes, too."""
    if rule.extra_writes:
        kernel.then([(array, ..., value) for array, value in rule.extra_writes], size, *args)
    else:
        kernel(size, *args)


def _write(arrays, values, extra_writes=(), at=...):
    """Write what was computed in copies, and the other writes of a rule; an interrupt leaves all or none."""
    writes = [(array, at, value) for array, value in zip(arrays, values, strict=True)]
    write_together(writes + [(array, ..., value) for array, value in extra_writes])


def put_together(rows, values, arrays):
    """``array[rows] = value`` of each of some arrays, or of all rows for None; an interrupt leaves all or none."""
    _write(arrays, values, at=... if rows is None else rows)


def _choose_rows_kernel(rule, columns, count, duplicates, everywhere=False, weighted=False, records=False):
    """The kernel of an update by runs of gradient rows, for a parameter of so many columns, and its lanes."""
    merge, adjusts = duplicates == "merge", bool(rule.adjust)
    if rule.rowwise:
        width, full = whole_width(columns, MOST_LANES), max(count - 1, 0)
        # Without another state, a second prefetch takes 1.18 of the time for 16 columns, 1.06 for 32, 0.7 for 128.
        distance = SECOND_DISTANCE if full or columns >= 128 else 0
        if everywhere:
            return rowwise_spread_kernel(rule.step, width, full, count > 0, adjusts), width
        return rowwise_kernel(rule.step, width, full, count > 0, merge, adjusts, weighted, distance), width
    shape = rule.step, whole_width(columns, MOST_PAIRS if rule.pairs else MOST_LANES), count, 1 + rule.pairs
    if everywhere:
        return spread_kernel(*shape, adjusts), shape[1]
    return rows_kernel(*shape, merge, adjusts, weighted, records), shape[1]


def _choose_small_update(rule, param, states, grad, duplicates, everywhere):
    """Compiled code of an update by few numbers, and whether arrays are reshaped for it.

    No code for arrays that have no such update. Asking Numba for the code takes 80 us, an update of ten rows 4.
    """
    arrays, kinds = (param, *states, grad._value), tuple([x.dtype for x in (param, *states)])
    aligned = all(x.flags.num & ALIGNED == ALIGNED for x in arrays)
    if not aligned or param.dtype not in AS_THEY_ARE or grad._value.dtype != param.dtype:
        return None, False
    p, *states, g = (x.reshape(len(x), -1) for x in arrays)
    kernel, _ = _choose_rows_kernel(rule, p.shape[1], len(states), duplicates, everywhere)
    code, numbers = kernel.entries.get(kinds), np.empty(0, p.dtype)
    if code is None:
        args = p, tuple(states), NO_RUNS, NO_RUNS, NO_RUNS, g, numbers, g, numbers, 1, 1
        code = kernel.keep_entry(kinds, *args)
    return code, any(x.ndim != 2 for x in arrays)


def rows_update(duplicates, everywhere=False):
    """Make the update of the rows that a gradient lists; ``everywhere`` of all rows, the others by a gradient of 0.

    It is for arrays of the types and layouts of its first call, and keeps the code for few numbers of these, which
    sorts a handful of rows itself.
    """
    small = None

    def update_rows(rule, param, states, grad, taken=None):
        nonlocal small
        n, value = len(grad._rows), grad._value
        few = n <= settings.few_rows and n <= settings.block_rows and grad.height <= TALL
        alone = few or (value.size < settings.parallel_from and n < TILE * settings.chunk_rows)
        if alone and taken is None and not rule.extra_writes and value.size:
            if small is None:
                small = _choose_small_update(rule, param, states, grad, duplicates, everywhere)
            code, reshapes = small
            if code and not (everywhere and param.size >= settings.parallel_from):
                p, g, adjust = param, value, rule.adjust
                if reshapes:
                    p, g, *states = [x.reshape(len(x), -1) for x in (param, value, *states)]
                numbers = rule.numbers + adjust
                # Gradients without a bound have an infinite one, the last number.
                finite = numbers[:-1] if adjust and adjust[3] == math.inf else numbers
                if max(map(abs, finite), default=0.0) < TOO_MUCH:
                    numbers = np.array(numbers, p.dtype)
                else:
                    numbers = rule_numbers(rule, p.dtype)
                order, starts, at = (NO_RUNS, NO_RUNS, grad._rows) if few else runs_of(grad)
                chunk = len(p) if everywhere else n
                code(p, tuple(states), at, order, starts, g, numbers, g, numbers, chunk, settings.block_rows)
                return
        order, starts, unique = runs_of(grad)
        update_runs(rule, param, states, unique, starts, order, value, duplicates, taken=taken, everywhere=everywhere)

    return update_rows


def update_runs(
    rule, param, states, at, starts, order, value, duplicates="merge", scale=None, taken=None, everywhere=False
):
    """Step the rows ``at`` of a parameter, each by its rows of ``value``, in ``order``, times ``scale`` if any.

    With ``everywhere`` all other rows by a gradient of 0.
    """
    if needs_copies(rule, param, states, duplicates):
        _update_runs_half(rule, param, states, at, starts, order, upcast(value), duplicates, scale, taken)
        return
    p, g = matrix(param), matrix(gradient_of(param, value))
    if not p.size or not (everywhere or len(at)):
        _write((), (), rule.extra_writes)
        return
    if duplicates == "merge" and len(order) - len(at) >= TILE * settings.chunk_rows:
        g, order, starts, scale = _long_runs_summed(g, value, order, starts, scale)
    columns, weighted = p.shape[1], scale is not None
    kinds = duplicates, everywhere, weighted, taken is not None
    kernel, _ = _choose_rows_kernel(rule, columns, len(states), *kinds)
    states, numbers = tuple(map(matrix, states)), rule_numbers(rule, compute_dtype(param.dtype))
    scale, taken = scale if weighted else numbers, g if taken is None else matrix(taken)
    size, chunk = columns * len(order), settings.chunk_rows
    if everywhere:
        size, chunk = p.size, max(1, DENSE_CHUNKS * chunk // columns)
    _launch(rule, kernel, size, p, states, at, order, starts, g, scale, taken, numbers, chunk, settings.block_rows)


def _long_runs_summed(g, value, order, starts, scale):
    """The sums of runs, by all threads, where one is longer than the tiles of ``reduce_into``; else what was given.

    ``g`` is the matrix of ``value``.
    """
    if np.diff(starts).max() <= TILE * settings.chunk_rows:
        return g, order, starts, scale
    if is_half(value.dtype):
        g = matrix(upcast(value))
    if scale is not None:
        g, order = g[order] * scale.reshape(-1, 1).astype(g.dtype, copy=False), np.arange(len(order))
    sums, single = reduce_into(g, order, None, None, starts, "sum", 0.0), np.arange(len(starts))
    return sums, single[:-1], single, None


def _update_runs_half(rule, param, states, at, *runs):
    """Step rows of halves as float32, and round them once."""
    arrays = (param, *states)
    copies = [to_dtype(gather(array, at, None), _FLOAT32) for array in arrays]
    update_runs(rule._replace(extra_writes=()), copies[0], tuple(copies[1:]), np.arange(len(at)), *runs)
    _write(arrays, copies, rule.extra_writes, at)
