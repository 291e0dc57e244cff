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
from .primitives.gather import NO_WEIGHTS, rows_to_read
from .primitives.gradient_kernels import plain as to_kernel
from .primitives.reduce import keep_plan, plans, reach_of, reduce_in_tiles

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

    Many bags find a table where the others have left it in the caches: that of all tables says how rows are prefetched,
    0.75 of the time of 26 tables of 640 KB (znver4).
    """
    target, groups, all_bytes = matrix(out), {}, 0
    threads_from, fetch_from = settings.parallel_from, settings.fetch_from
    for column in bags.columns:
        k, table, _, weights, _, start, size = column
        kind, (height, width), padding = table.dtype, table.shape, padding_idx
        if not (height and out.size):
            ids_in_range(own_ids(plain, column)[0], height, bags.label(k))
        if not (width and out.size):
            continue
        size *= width
        few, reach = size < threads_from, None
        if not few:
            all_bytes = all_bytes or sum(column[1].nbytes for column in bags.columns)
            reach = reach_of(all_bytes, size, True)
        elif size >= fetch_from:
            reach = reach_of(table.nbytes, size, True)
        key = kind, width, few, reach, None if weights is None else weights.dtype
        if kind not in AS_THEY_ARE or table.flags.num & ALIGNED != ALIGNED:
            ids, offsets = own_ids(plain, column)
            table, ids, padding = rows_to_read(table, ids, padding)
            table = matrix(np.require(table, native(kind), "CA"))
            column, key = (k, table, ids, weights, offsets, start, size), (*key, padding)
        elif not few:
            # Threads share the ids of a column from 0 on.
            ids, offsets = own_ids(plain, column)
            column = k, table, ids, weights, offsets, start, size
        if weights is not None and not (weights.dtype in AS_THEY_ARE and weights.flags.c_contiguous):
            column = (*column[:3], to_kernel(weights), *column[4:])
        group = groups.get(key)
        if group is None:
            of_weights = None if weights is None else column[3].dtype
            plan_key = kind, 2, width, reduce, dtype, of_weights, True, few, reach, None
            group = groups[key] = plans.get(plan_key) or keep_plan(plan_key), padding, few, []
        group[-1].append(column)
    for plan, padding, few, columns in groups.values():
        known, pad = plan.pad
        if known is not pad_value:
            pad = plan.keep_pad(pad_value)
        numbers = plan.divisor, settings.chunk_rows, settings.block_rows, plan.distance, plan.near_distance
        padding = -1 if padding is None else padding
        for first in range(0, len(columns), step := GROUP if few else 1):
            part = columns[first : first + step]
            if run_group(plan, few, part, padding, pad, numbers, target):
                for k, *_ in part:
                    finish_column(plan, bags, k, padding_idx, reduce, pad_value, out)


def run_group(plan, few, columns, padding, pad, numbers, out):
    """Run the kernel of a group. Returns its state."""
    count = len(columns)
    if count < GROUP:
        columns = columns + columns[:1] * (GROUP - count)
    _, tables, ids, weights, offsets, starts, _ = zip(*columns, strict=True)
    if weights[0] is None:
        weights = NO_GROUP_WEIGHTS
    args = count, tables, ids, weights, padding, offsets, pad, *numbers, starts, out
    code = plan.group_code
    if code is None:
        code = plan.group_code = group_kernel(plan.kernel).entry(*args)
    return code(*args) if few else run(code, args)


def finish_column(plan, bags, k, padding_idx, reduce, pad_value, out):
    """Raise for an id that is no row; reduce the long segments, which the kernels leave out."""
    column = bags.columns[k]
    _, table, _, weights, _, start, _ = column
    ids, offsets = own_ids(plain, column)
    ids_in_range(ids, len(table), bags.label(k))
    columns = out[:, start : start + table.shape[1]]
    reduce_in_tiles(plan, table, ids, weights, padding_idx, offsets, reduce, pad_value, columns, True)
