"""CUDA kernels of lodkit/ops/id_lists.py: sort, then visit the runs of equal ids."""

from __future__ import annotations

import itertools

import numpy as np

from ...arrays.cuda import convert, copy_elements, elementwise, fill, ids_of, vector, view
from ...lod import LoDTensor, freeze
from ...ops import id_lists as ops
from ..common.integers import from_comparable, to_comparable
from .conversions import from_ids, integers, offsets_to_lengths
from .primitives import device as gpu
from .primitives.gather import gather, positions_of
from .primitives.group_by_value import LARGEST, extremes, run_of_each, runs_of_numbers
from .primitives.offsets import offsets_like
from .primitives.row_kernels import lower_bound, segment_of
from .primitives.small_group_by import runs_below


@ops.unique.kernel("cuda")
def unique(ids, /, *, return_inverse, return_counts):
    dtype = ops.prepare_unique(view(ids))
    found = runs_of_numbers(integers(to_comparable(gpu, convert(view(ids), dtype)), "ids"))
    # A new one: the array of the same memory has the type of what was compared.
    results = [convert(from_comparable(gpu, found.rows, dtype), dtype, new=True).array]
    if return_inverse:
        results.append(run_of_each(found).array)
    if return_counts:
        results.append(offsets_to_lengths(found.offsets))
    return tuple(results) if len(results) > 1 else results[0]


@elementwise
def _join(i, ids, offsets, samples, low, width, keys):
    """Join sample and id into one key: ids of a sample are together, and ascend."""
    keys[i] = segment_of(offsets, samples, i) * width + (vector.number(ids, i) - low)


@elementwise
def _part(i, keys, low, width, samples, ids):
    key = vector.number(keys, i)
    samples[i], ids[i] = key // width, key % width + low


@ops.merge_id_lists.kernel("cuda")
def merge_id_lists(*lists: LoDTensor):
    ops.check_samples(lists)
    views, count = [integers(x.values, f"list {i}") for i, x in enumerate(lists)], len(lists[0]._row_offsets()) - 1
    ends = [*itertools.accumulate(x.size for x in views)]
    ids = views[0].like((ends[-1],), np.int64)
    for x, end in zip(views, ends, strict=True):
        copy_elements(x, ids.part(end - x.size, end))
    (low, high), distinct = extremes(ids), None
    # A key then has no room for sample and id, but for the number of the run of the id.
    if (high - low + 1) * count > LARGEST:
        found = runs_of_numbers(ids)
        ids, distinct, low, high = run_of_each(found), found.rows, 0, len(found.rows) - 1
    width, keys = high - low + 1, ids.like(ids.shape)
    for x, y, end in zip(lists, views, ends, strict=True):
        offsets, start = offsets_like(y, x._row_offsets()).offsets, end - y.size
        _join(y.size, ids.part(start, end), offsets, count, low, width, keys.part(start, end))
    merged = runs_below(keys, max(width * count, 1)).rows
    samples, values = ids.like(merged.shape), ids.like(merged.shape)
    _part(merged.size, merged, low, width, samples, values)
    if distinct is not None:
        numbers, values = values, ids.like(merged.shape)
        gather(distinct, numbers, None, values)
    offsets = freeze(from_ids(samples, count).offsets.read())
    return LoDTensor._wrap(values.array, (*lists[0]._lod[:-1], offsets))


@elementwise
def _clear_first(run, offsets, order, kept):
    kept[vector.number(order, vector.number(offsets, run))] = 0


@elementwise
def _equal_integers(i, bits, magnitude, infinity, keys, kept):
    """Integers that are equal where floating numbers are; ``kept`` is 1 for those that are not NaN, else 0."""
    here = vector.number(bits, i)
    keys[i] = here if here & magnitude else 0
    kept[i] = 1 if here & magnitude <= infinity else 0


@ops.find_duplicate_elements.kernel("cuda")
def find_duplicate_elements(data, /):
    data = view(data)
    ops.check_elements(data)
    keys, kept = to_comparable(gpu, data), fill(data.like(data.shape, np.int64), 1)
    if data.dtype.kind == "f":
        bits, keys = convert(data, data.compute_dtype).as_integers(), data.like(data.shape, np.int64)
        infinity = int(np.array(np.inf, data.compute_dtype).view(bits.dtype))
        _equal_integers(data.size, bits, int(np.iinfo(bits.dtype).max), infinity, keys, kept)
    found = runs_of_numbers(keys)
    runs = len(found.rows)
    _clear_first(runs, found.offsets, found.order, kept)
    return positions_of(kept).array


@elementwise
def _search(i, queries, rows, offsets, order, runs, missing, out):
    """Last position of the run of every query, by bisection."""
    query = vector.number(queries, i)
    run = lower_bound(rows, 0, runs, query)
    out[i] = missing
    if run < runs and vector.number(rows, run) == query:
        out[i] = vector.number(order, vector.number(offsets, run + 1) - 1)


@ops.find.kernel("cuda")
def find(ids, queries, /, *, missing_value):
    queries = ids_of(queries, "queries")
    found, out = runs_of_numbers(integers(ids, "ids")), queries.like(queries.shape, np.int64)
    return _search.into(out, queries, *found[:3], len(found.rows), missing_value).array
