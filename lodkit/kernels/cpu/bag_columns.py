"""CPU part of lodkit/ops/bag_columns.py: each table is reduced right into its columns, by the loops of one reduction.

Tables whose bags have few numbers share a compiled call: to call from Python takes longer than they do.
"""

from __future__ import annotations

import functools

import numpy as np

from ...arrays import ALIGNED, AS_THEY_ARE, matrix, native
from ...arrays.ids import ids_in_range
from ...jit import jitable, parallel_kernel, prange, run, segments_in, settings
from ...ops.bag_columns import own_ids
from ...ops.shared import plain
from ..common.integers import needs_integers
from .primitives.gather import NO_WEIGHTS, rows_to_read
from .primitives.gradient_kernels import plain as plain_vector
from .primitives.reduce import plan_of, reach_of, reduce_in_tiles, reduce_into

#: Tables in a compiled call, which is compiled for so many whatever their number.
GROUP = 8
NO_GROUP_WEIGHTS = (NO_WEIGHTS,) * GROUP


@functools.cache
def group_kernel(kernel):
    """Kernel of ``count`` tables of one type and width: ``kernel`` over the columns of each. Threads share one alone.

    Tables go one after another, so that all bags of one find its rows in the cache. (Blocks of bags, of all tables in
    turn, took 1.3 of the time of tables of 640 KB: znver4.)
    """
    reduce_range = kernel.reduce_range

    @jitable(nrt=False)
    def reduce_table(values, ids, weights, padding, offsets, pad, divisor, chunk, block, ahead, first, last, at, out):
        columns = out[:, at : at + values.shape[1]]
        return reduce_range(
            values, ids, weights, padding, offsets, pad, divisor, chunk, block, ahead, first, last, columns
        )

    @parallel_kernel
    def kernel(count, tables, ids, weights, padding, offsets, pad, divisor, chunk, block, distance, near, starts, out):
        state, ahead, alone = 0, (distance, near), count == 1
        for c in prange(offsets[0][-1] // chunk + 1 if alone else 1):
            part = segments_in(offsets[0], chunk, c) if alone else range(len(out))
            for k in range(count):
                values, flat, w, ends, at = tables[k], ids[k], weights[k], offsets[k], starts[k]
                found = reduce_table(
                    *(values, flat, w, padding, ends, pad, divisor, chunk, block, ahead, part.start, part.stop, at, out)
                )
                state = max(state, found)
        return state

    return kernel


def reduce_columns(bags, padding_idx, reduce, pad_value, dtype, out):
    """Reduce the ids of each column into its columns of ``out``.

    Parameters
    ----------
    bags : Bags
        Of ``ops.bag_columns``.
    padding_idx, reduce, pad_value, dtype
        As ``reduce_into`` takes them.
    out : array of shape (segments, columns)
        A new one: where an id is no row it is left half-written.
    """
    if needs_integers(bags.columns[0][1].dtype, out.dtype):
        reduce_other_integers(bags, padding_idx, reduce, pad_value, dtype, out)
        return
    target = matrix(out)
    for plan, padding, few, columns in group_columns(bags, padding_idx, reduce, dtype):
        known, pad = plan.pad
        if known is not pad_value:
            pad = plan.keep_pad(pad_value)
        numbers = plan.divisor, settings.chunk_rows, settings.block_rows, plan.distance, plan.near_distance
        padding = -1 if padding is None else padding
        for first in range(0, len(columns), step := GROUP if few else 1):
            part = columns[first : first + step]
            if run_group(plan, few, part, padding, pad, numbers, target):
                for k, *_ in part:
                    finish_column(plan, bags, k, padding_idx, pad_value, out)


def reduce_other_integers(bags, padding_idx, reduce, pad_value, dtype, out):
    """Reduce columns of integers that kernels do not compute in, as ``reduce_into`` does one by one."""
    for column in bags.columns:
        k, table, _, weights, _, start, _, height, width = column
        ids, offsets = own_ids(plain, column)
        ids_in_range(ids, height, bags.label(k))
        found = reduce_into(table, ids, weights, padding_idx, offsets, reduce, pad_value, None, dtype)
        out[:, start : start + width] = found


def group_columns(bags, padding_idx, reduce, dtype):
    """Put columns of one plan together. Returns of each group the plan, the row of padding, whether its columns have
    few numbers, and the columns.

    Tables push each other out of the caches from one call to the next: the bytes of all say how rows are prefetched.
    Of 26 tables of 640 KB 4,096 bags of 20 took 0.75 of the time, 100 bags of 20 fresh ids 0.7 (znver4).
    """
    groups, threads_from, is_empty, reaches = {}, settings.parallel_from, 0 in bags.shape, (None, None)
    if bags.numbers >= settings.fetch_from:
        all_bytes = sum(column[1].nbytes for column in bags.columns)
        # Threads share the columns of many numbers alone.
        reaches = reach_of(all_bytes, bags.numbers, True), reach_of(all_bytes, settings.fetch_from, True)
    for column in bags.columns:
        _, table, _, weights, _, _, size, height, width = column
        if is_empty or not (height and width):
            ids_in_range(own_ids(plain, column)[0], height, bags.label(column[0]))
            if is_empty or not width:
                continue
        kind, few, padding = table.dtype, size * width < threads_from, padding_idx
        # Threads share the ids of a column from 0 on.
        if not few or kind not in AS_THEY_ARE or table.flags.num & ALIGNED != ALIGNED or not is_plain(weights):
            column, padding = to_plain(column, padding_idx)
            weights = column[3]
        of_weights = None if weights is None else weights.dtype
        key = kind, width, few, of_weights, padding
        group = groups.get(key)
        if group is None:
            facts = kind, 2, width, reduce, dtype, of_weights, True, None
            group = groups[key] = plan_of(facts, few, reaches[few]), padding, few, []
        group[-1].append(column)
    return groups.values()


def is_plain(weights):
    """Whether kernels read weights as they are."""
    return weights is None or (weights.dtype in AS_THEY_ARE and weights.flags.c_contiguous)


def to_plain(column, padding_idx):
    """A column as kernels read it, with its own ids alone, and the row of padding."""
    k, table, _, weights, _, *rest = column
    ids, offsets = own_ids(plain, column)
    table, ids, padding = rows_to_read(table, ids, padding_idx)
    table = matrix(np.require(table, native(table.dtype), "CA"))
    return (k, table, ids, None if weights is None else plain_vector(weights), offsets, *rest), padding


def run_group(plan, few, columns, padding, pad, numbers, out):
    """Run the kernel of a group. Returns its state."""
    count = len(columns)
    if count < GROUP:
        columns = columns + columns[:1] * (GROUP - count)
    _, tables, ids, weights, offsets, starts, *_ = zip(*columns, strict=True)
    if weights[0] is None:
        weights = NO_GROUP_WEIGHTS
    args = count, tables, ids, weights, padding, offsets, pad, *numbers, starts, out
    code = plan.group_code
    if code is None:
        code = plan.group_code = group_kernel(plan.kernel).entry(*args)
    return code(*args) if few else run(code, args)


def finish_column(plan, bags, k, padding_idx, pad_value, out):
    """Raise for an id that is no row; reduce the long segments, which the kernels leave out."""
    column = bags.columns[k]
    _, table, _, weights, _, start, *_ = column
    ids, offsets = own_ids(plain, column)
    ids_in_range(ids, len(table), bags.label(k))
    weights, columns = None if weights is None else plain_vector(weights), out[:, start : start + table.shape[1]]
    reduce_in_tiles(plan, table, ids, offsets, weights, pad_value, padding_idx, columns, True)
