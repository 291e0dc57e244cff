"""Kernels of lodkit/ops/tensor_arrays.py: one copy of all rows, whose contiguous parts are the time steps."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ...lod import LoDTensor, freeze, values_of
from ...lod.levels import end_to_end
from ...ops import tensor_arrays as ops
from ...ops.lod_levels import levels_of
from ...registry import Dense
from .copy_by_plan import gather_by_plan
from .copy_plan import plan_parts


@ops.lod_tensor_to_array.kernel("cpu", "cuda")
def lod_tensor_to_array(on, x: LoDTensor, table, /, *, reverse):
    ops.prepare_steps(x, table)
    steps = gather_by_plan(on, plan_parts(x, table.level + 1, table._parts(reverse), (table._steps,)))
    values, below = steps.values, steps._lod[1:]
    bounds = pairwise(table._steps.tolist())
    return tuple(_cut(on, values, below, a, b) if below else on.part(values, a, b) for a, b in bounds)


def _cut(on, values, levels, start, stop):
    """The sequences ``start:stop`` of the first of these levels."""
    cut = []
    for offsets in levels:
        part = offsets[start : stop + 1]
        start, stop = part.item(0), part.item(-1)
        cut.append(freeze(part - start))
    return LoDTensor._wrap(on.part(values, start, stop), tuple(cut))


def _join_elements(on, table, array, reverse, out):
    ops.prepare_array(table, array)
    levels = (table._steps, *(end_to_end(x, "elements") for x in zip(*map(levels_of, array), strict=True)))
    steps = LoDTensor._wrap(on.join_rows([values_of(x) for x in array]), levels)
    return gather_by_plan(on, plan_parts(steps, 1, table._places(reverse), table._lod), out)


@ops.array_to_lod_tensor.kernel("cpu", "cuda")
def array_to_lod_tensor(on, table, /, *array: Dense, reverse, out=None):
    return _join_elements(on, table, array, reverse, out)


@ops.array_to_lod_tensor.kernel("cpu", "cuda")
def sequences_to_lod_tensor(on, table, /, *array: LoDTensor, reverse, out=None):
    return _join_elements(on, table, array, reverse, out)


# Elements come and go as they are on either device, so that a tape sees the same variables.


@ops.write_to_array.kernel("cpu")
@ops.write_to_array.kernel("cuda")
def write_to_array(*array: Dense, index, fill):
    return ops.write_element(array, index, fill)


@ops.write_to_array.kernel("cpu")
@ops.write_to_array.kernel("cuda")
def write_sequences(*array: LoDTensor, index, fill):
    return ops.write_element(array, index, fill)


@ops.read_from_array.kernel("cpu")
@ops.read_from_array.kernel("cuda")
def read_from_array(*array: Dense, index):
    return ops.element(array, index)


@ops.read_from_array.kernel("cpu")
@ops.read_from_array.kernel("cuda")
def read_sequences(*array: LoDTensor, index):
    return ops.element(array, index)


@ops.lod_array_length.kernel("cpu", "cuda")
def lod_array_length(on, *array: Dense):
    return on.send(array[0], np.array([len(array)]))


@ops.lod_array_length.kernel("cpu", "cuda")
def count_sequences(on, *array: LoDTensor):
    return on.send(array[0].values, np.array([len(array)]))
