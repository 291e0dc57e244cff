"""CPU kernels of lodkit/ops/id_lists.py: sort, then visit the runs of equal ids."""

from __future__ import annotations

import functools

import numpy as np

from ...arrays import integers, upcast
from ...jit import advance, njit, parallel_kernel, prange, segment_of, settings
from ...lod import LoDTensor, check_vector, freeze
from ...lod import offsets as _lod
from ...lod.copy_runs import copy_runs
from ...ops import id_lists as ops
from ..common.integers import from_comparable, to_comparable
from .conversions import offsets_to_segment_ids
from .primitives import device
from .primitives.sort import look_up, sort_numbers


@parallel_kernel
def _number_runs(order, starts, chunk, numbers):
    n = len(order)
    for c in prange((n + chunk - 1) // chunk):
        run = segment_of(starts, c * chunk)
        for i in range(c * chunk, min(n, (c + 1) * chunk)):
            run = advance(starts, run, i)
            numbers[order[i]] = run


@ops.unique.kernel("cpu")
def unique(ids, /, *, return_inverse, return_counts):
    dtype = ops.prepare_unique(ids)
    order, starts, distinct = sort_numbers(integers(to_comparable(device, ids.astype(dtype, copy=False)), "ids"))
    # The sorted array has room for all ids, so the distinct ones are copied.
    results = [np.array(from_comparable(device, distinct, dtype))]
    if return_inverse:
        inverse = np.empty(len(order), np.int64)
        _number_runs(len(order), order, starts, settings.chunk_rows, inverse)
        results.append(inverse)
    if return_counts:
        results.append(np.diff(starts))
    return tuple(results) if len(results) > 1 else results[0]


@njit
def _deal(order, starts, distinct, samples, ends, last, merged):
    """Append ids to their samples, in ascending order and each once; ``ends[s]`` is where the next id of s goes."""
    for run in range(len(distinct)):
        for i in range(starts[run], starts[run + 1]):
            s = samples[order[i]]
            if last[s] != run:
                last[s] = run
                merged[ends[s]] = distinct[run]
                ends[s] += 1


@ops.merge_id_lists.kernel("cpu")
def merge_id_lists(*lists: LoDTensor):
    ops.check_samples(lists)
    ids = np.concatenate([check_vector(x.values, f"list {i}") for i, x in enumerate(lists)])
    samples = np.concatenate([offsets_to_segment_ids(x._row_offsets()) for x in lists])
    # There is room for all ids of a sample.
    starts = functools.reduce(np.add, [x._row_offsets() for x in lists])[:-1]
    ends, merged = starts.copy(), np.empty_like(ids)
    _deal(*sort_numbers(ids), samples, ends, np.full(len(starts), -1), merged)
    offsets = _lod.lengths_to_offsets(ends - starts)
    values = np.empty(offsets[-1], np.int64)
    copy_runs(merged, (starts, ends), offsets, values)
    return LoDTensor._wrap(values, (*lists[0]._lod[:-1], freeze(offsets)))


def _equal_integers(numbers):
    """Integers that are equal where the numbers are: the bits of floating ones, without the sign of zero."""
    if numbers.dtype.kind != "f":
        return integers(to_comparable(device, numbers), "data")
    numbers = upcast(numbers) + 0.0
    return integers(numbers.view(np.int32 if numbers.itemsize == 4 else np.int64), "data")


@ops.find_duplicate_elements.kernel("cpu")
def find_duplicate_elements(data, /):
    ops.check_elements(data)
    order, starts, _ = sort_numbers(_equal_integers(data))
    repeated = data == data
    repeated[order[starts[:-1]]] = False
    return np.flatnonzero(repeated)


@ops.find.kernel("cpu")
def find(ids, queries, /, *, missing_value):
    queries = integers(queries, "queries")
    order, starts, distinct = sort_numbers(check_vector(ids, "ids"))
    found = np.empty(queries.shape, np.int64)
    last = order[starts[1:] - 1]
    look_up(queries.size, queries.reshape(-1), distinct, last, np.int64(missing_value), found.reshape(-1))
    return found
