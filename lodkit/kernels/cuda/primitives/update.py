"""How an update of a parameter in place runs: dense, or by the runs of equal rows, each read and written once."""

from __future__ import annotations

import numpy as np

from ....arrays.cuda.elementwise import iota
from ....arrays.cuda.launch import launch
from ....arrays.cuda.memory import refuse_overlap, view
from ....errors import OutputError
from ....lod.selected_rows import SelectedRows
from ....ops.shared.updates import check_update, whole_gradient
from .merge import dense_rows, runs_of
from .offsets import Offsets
from .reduce import VECTOR, group_of, reduce_tiles, width_of
from .reduce_kernels import WARP
from .update_kernels import dense_kernel, rows_kernel, rowwise_kernel
from .views import viewed

NUMBERS = 4  # that a rule has at most


def update(name, rule, param, grad, states=(), *, duplicates="merge", touches_all=False, records=False):
    """Check everything, then step a parameter and its states.

    Parameters
    ----------
    name : str
        The operator's.
    rule : steps.Rule
    param, grad : array, and array or SelectedRows
    states : sequence of (name, array)
    duplicates : {"merge", "sequential"}
    touches_all : bool
        Whether rows without gradient change too.
    records : bool
        Whether to return what the gradient, or each of its rows one after another, took off the parameter.
    """
    param, grad, states = viewed(param), viewed(grad), [(what, view(array)) for what, array in states]
    check_update(name, param, grad, *states, rowwise=rule.rowwise, pairs=rule.pairs)
    written = [("param", param), *states]
    value = grad.value if isinstance(grad, SelectedRows) else grad
    for i, (what, array) in enumerate(written):
        refuse_overlap(what, array, (value, *(other for _, other in written[i + 1 :])))
    arrays = [array for _, array in states]
    if whole_gradient(grad, duplicates, touches_all):
        grad = view(dense_rows(grad))
    taken = value.like(value.shape) if records else None
    if isinstance(grad, SelectedRows):
        update_rows(rule, param, arrays, grad, duplicates, taken)
    elif rule.rowwise:
        every = iota(param, len(param) + 1)
        update_runs(rule, param, arrays, every, Offsets(every, len(param)), None, grad)
    else:
        update_all(rule, param, arrays, grad, taken)
    return None if taken is None else taken.array


def _numbers(rule, param):
    """Four numbers and the weight decay, in the type that the parameter computes in."""
    number = np.float64 if param.dtype == np.float64 else np.float32
    numbers = (*rule.numbers, *(0.0,) * (NUMBERS - len(rule.numbers)), rule.weight_decay)
    return [number(n) for n in numbers]


def _two(param, states):
    """The states, and the parameter where there is none."""
    return (*states, param, param)[:2]


def _width(rule, columns, param, grad, states):
    """How many elements of a row are stepped at once; each has two numbers of a state that is in pairs."""
    width = width_of(columns, param, grad, *states)
    if not rule.pairs:
        return width
    size, pointer = 2 * param.dtype.itemsize, states[0].pointer
    while width > 1 and pointer % min(VECTOR, width * size):
        width //= 2
    if pointer % size:
        raise OutputError(f"pairs must start at a multiple of {size} bytes, not at {pointer:#x}; pass a copy")
    return width


def update_all(rule, param, states, grad, taken=None):
    """Step all of a parameter."""
    width = _width(rule, param.size, param, grad, states)
    kernel = dense_kernel(rule.step, width, len(states), 1 + rule.pairs, bool(rule.weight_decay), taken is not None)
    taken = grad if taken is None else taken
    launch(kernel, param.size // width, param, *_two(param, states), grad, taken, *_numbers(rule, param), param.size)


def update_rows(rule, param, states, grad, duplicates, taken=None):
    """Step the rows of a parameter that a gradient lists."""
    if len(grad.rows) and param.size:
        at, offsets, order = runs_of(grad)
        update_runs(rule, param, states, at, offsets, order, grad.value, duplicates, taken=taken)


def update_runs(rule, param, states, at, offsets, order, value, duplicates="merge", scale=None, taken=None):
    """Step the rows ``at`` of a parameter, each by its run of rows of ``value``, times ``scale`` where there is one."""
    runs, starts, merge, columns = len(offsets), offsets.offsets, duplicates == "merge", param.columns
    if not runs or not columns:
        return
    if merge and offsets.tiles is not None:
        (value, starts), order, scale = reduce_tiles("sum", value, order, scale, None, offsets), None, None
    flags = order is not None, merge, bool(rule.weight_decay), scale is not None
    order, scale = (starts if x is None else x for x in (order, scale))
    arrays = param, *_two(param, states), at, order, starts, value, scale, value if taken is None else taken
    numbers = *_numbers(rule, param), columns
    if rule.rowwise:
        width = 1 if param.dtype == np.float64 else width_of(columns, param, value, *states[:-1])  # 2: 170 registers
        kernel = rowwise_kernel(rule.step, width, max(len(states) - 1, 0), bool(states), *flags)
        launch(kernel, runs * WARP, *arrays, *numbers, runs)
    else:
        width = _width(rule, columns, param, value, states)
        bits = group_of(columns, width)
        kernel = rows_kernel(rule.step, width, len(states), 1 + rule.pairs, *flags, taken is not None)
        launch(kernel, runs << bits, *arrays, *numbers, bits, runs)
