"""Updates of a parameter in place: dense, or by the runs of equal rows, each read and written once."""

from __future__ import annotations

import functools

import numpy as np

from ....arrays.cuda import View, convert, copy_elements, elementwise, fill, iota, launch, view
from ....base.errors import OutputError
from ....lod import SelectedRows
from ....ops.shared.updates import numbers_in
from .gather import put_rows
from .merge import runs_of, sort_gradient
from .offsets import Offsets, settings
from .reduce import VECTOR, group_of, width_of
from .reduce_kernels import WARP
from .sorted_runs import sums_of_tiles
from .update_kernels import dense_kernel, rows_kernel, rowwise_dense_kernel, rowwise_kernel

NUMBERS = 7  # of a rule, at most


def record_like(value):
    """A View for the steps of the elements of a gradient."""
    return value.like(value.shape)


def single_runs(rows):
    """Offsets of runs of one row each."""
    return Offsets(iota(rows, len(rows) + 1), len(rows))


def _rule_numbers(rule, param):
    """The rule's numbers and those of its adjustment, in the type that the parameter computes in."""
    kind = np.dtype(np.float64 if param.dtype == np.float64 else np.float32)
    padded = (*rule.numbers, *(0.0,) * (NUMBERS - len(rule.numbers)))
    return tuple(numbers_in(kind, padded, rule.adjust or (0.0,) * 4))


def _fill_states(param, states):
    """Three states, the parameter in place of absent ones."""
    return (*states, param, param, param)[:3]


def _width(rule, columns, param, grad, states):
    """Elements of a row to step at once; each has two numbers of a state that is in pairs."""
    width = width_of(columns, param, grad, *states)
    if not rule.pairs:
        return width
    size, pointer = 2 * param.dtype.itemsize, states[0].pointer
    while width > 1 and pointer % min(VECTOR, width * size):
        width //= 2
    if pointer % size:
        raise OutputError(f"pairs must start at a multiple of {size} bytes, not at {pointer:#x}; pass a copy")
    return width


def dense_loops(rule, param, states, grad, records=False):
    """The loop of ``update_all`` for these arrays, and the elements that each thread steps at once."""
    # Made dense, SelectedRows lie as the parameter does.
    grad = param if isinstance(grad, SelectedRows) else grad
    return [_choose_dense_kernel(rule, param, states, grad, param.size, records=records)]


def rows_loops(rule, param, states, grad, duplicates="merge", everywhere=False, records=False, weighted=False):
    """The loops of ``rows_update`` for sorted arrays without tiles, and the elements that each thread steps at once.

    Of rows times a scale where they are weighted.
    """
    value = grad.value if isinstance(grad, SelectedRows) else grad
    flags = True, 0, True, duplicates == "merge", bool(rule.adjust), weighted
    listed = _choose_rows_kernel(rule, param, states, value, flags, records)
    return [listed, _choose_idle_kernel(rule, param, states)] if everywhere else [listed]


def _choose_dense_kernel(rule, param, states, grad, columns, **how):
    """The kernel of all of a parameter, and the elements that each thread steps at once, a part of so many columns."""
    if rule.rowwise:
        width, how = _rowwise_width(param, grad, states), {"idle": how.get("idle", False)}
        shape = width, max(len(states) - 1, 0), bool(states), bool(rule.adjust)
        return rowwise_dense_kernel(rule.step, *shape, **how), width
    width = _width(rule, columns, param, grad, states)
    return dense_kernel(rule.step, width, len(states), 1 + rule.pairs, bool(rule.adjust), **how), width


def _rowwise_width(param, value, states):
    """Elements of a row to step at once: two columns of float64 per thread would take 170 registers."""
    return 1 if param.dtype == np.float64 else width_of(param.columns, param, value, *states[:-1])


def _choose_rows_kernel(rule, param, states, value, flags, records):
    """The kernel of an update by runs of gradient rows, and the elements that each thread steps at once."""
    if rule.rowwise:
        width = _rowwise_width(param, value, states)
        return rowwise_kernel(rule.step, width, max(len(states) - 1, 0), bool(states), *flags), width
    width = _width(rule, param.columns, param, value, states)
    return rows_kernel(rule.step, width, len(states), 1 + rule.pairs, *flags, records), width


def _choose_idle_kernel(rule, param, states):
    """The kernel of the rows that a gradient does not list, and the elements that each thread steps at once."""
    return _choose_dense_kernel(rule, param, states, param, param.columns, idle=True)


def update_all(rule, param, states, grad, taken=None):
    """Step all of a parameter."""
    grad = view(grad)
    if param.size:
        ((kernel, width),) = dense_loops(rule, param, states, grad, taken is not None)
        _launch_dense(rule, kernel, width, param, states, grad, grad if taken is None else taken)
    _write_also(rule)


def dense_update():
    """Make the update of all of a parameter."""
    return update_all


def _launch_dense(rule, kernel, width, param, states, grad, taken):
    args = param, *_fill_states(param, states), grad, taken, *_rule_numbers(rule, param), param.columns
    if rule.rowwise:
        launch(kernel, len(param) * WARP, *args, len(param))
    else:
        launch(kernel, param.size // width, *args, param.size)


@elementwise
def _flag_row(i, rows, height, flags):
    row = rows[i]
    if 0 <= row < height:
        flags[row] = 1


def _prepare_idle_rows(rule, param, states, grad):
    """Flag the rows that a gradient lists; returns what steps the others by a gradient of 0, which is in no memory."""
    rows, flags = view(grad._rows), fill(param.like((len(param),), np.uint8), 0)
    _flag_row(rows.size, rows, len(param), flags)
    kernel, width = _choose_idle_kernel(rule, param, states)
    return functools.partial(_launch_dense, rule, kernel, width, param, states, param, flags)


def _write_also(rule):
    """Make the rule's other writes. An interrupt may come before them: launches are several."""
    for array, value in rule.extra_writes:
        copy_elements(value, array) if isinstance(value, View) else fill(array, value)


def put_together(rows, values, arrays):
    """``array[rows] = value`` of each of some arrays, or of all rows for None."""
    for array, value in zip(arrays, values, strict=True):
        value = convert(value, array.dtype)
        copy_elements(value, array) if rows is None else put_rows(rows, value, array)


def rows_update(duplicates, everywhere=False):
    """Make the update of the rows that a gradient lists; ``everywhere`` of all rows, the others by a gradient of 0."""

    def update_rows(rule, param, states, grad, taken=None):
        before = _prepare_idle_rows(rule, param, states, grad) if everywhere and param.size else None
        if not len(grad._rows) or not param.size:
            if before:
                before()
            _write_also(rule)
            return
        if grad.is_merged:
            at, starts, order = runs_of(grad)
        else:
            (at, order), starts = sort_gradient(grad), None
        update_runs(rule, param, states, at, starts, order, grad.value, duplicates, taken=taken, before=before)

    return update_rows


def can_spread(rule, param):
    """Return True: ``rows_update`` steps all rows of any parameter."""
    return True


def update_runs(rule, param, states, at, starts, order, value, duplicates="merge", scale=None, taken=None, before=None):
    """Step the rows ``at`` of a parameter, each by its rows of ``value``, in ``order``, times ``scale`` if any.

    ``before`` is called when all memory is there that the step needs.

    The runs of ``order`` are those of ``starts``; those of equal ids, which are sorted in ``at``, where that is None.
    """
    merge, columns, by_ids = duplicates == "merge", param.columns, starts is None
    count = len(at) if by_ids else len(starts)
    if not count or not columns:
        _write_also(rule)
        return
    levels, tiles, groups = 0, value, value
    if merge and (by_ids or starts.rows > count):
        levels, tiles, groups = sums_of_tiles(at, starts, order, value, scale, len(param))
    offsets = at if by_ids else starts.offsets
    flags = by_ids, levels, order is not None, merge, bool(rule.adjust), scale is not None
    order, scale = offsets if order is None else order, offsets if scale is None else scale
    taken_by = value if taken is None else taken
    arrays = param, *_fill_states(param, states), at, order, offsets, value, scale, taken_by, tiles, groups
    numbers = *_rule_numbers(rule, param), settings.run_rows, len(param), columns
    kernel, width = _choose_rows_kernel(rule, param, states, value, flags, taken is not None)
    if before:
        before()
    if rule.rowwise:
        launch(kernel, count * WARP, *arrays, *numbers, count)
    else:
        bits = group_of(columns, width)
        launch(kernel, count << bits, *arrays, *numbers, bits, count)
    _write_also(rule)
