"""CPU kernels of lodkit/ops/sequence_attention.py: a tile of queries meets all keys of its sequence.

The scores of a tile, a strip as wide as its sequence, stay in the cache. Heads and sequences run in parallel.
"""

from __future__ import annotations

import functools

import numpy as np

from ...arrays import matrix, native
from ...jit import jitable, parallel_kernel, prange, segment_of, settings
from .primitives.products import LANES, products
from .primitives.strips import clear, copy, is_finite, round_up, steps

# Beside its scores, a row takes as long as this number of scores.
ROW = 64
# An element counts as this number of elements of other kernels when threads are chosen.
WORK = 16
TILE = 48  # queries of a strip, a multiple of ROWS


@jitable
def _longest_rows(offsets, first, stop, step):
    """Rows of the longest of some sequences, up to a multiple of ``step``."""
    most = 0
    for s in range(first, stop):
        most = max(most, offsets[s + 1] - offsets[s])
    return round_up(most, step)


@jitable
def _empty_rows(rows, columns, like):
    return np.empty((rows, columns), like.dtype)


@functools.cache
def _attend(width):
    """One head of a sequence: the queries ``first : last`` meet the keys ``start : stop``."""
    do, (softmax, _) = products(width), steps(width)
    multiply, pack, pack_turned = do.multiply, do.pack, do.pack_turned

    @jitable(nrt=False)
    def attend(query, key, value, h, start, stop, first, last, size, wide, scale, causal, scratch, out):
        queries, keys, values, strip, result, shares = scratch
        seen = (last if causal else stop) - start
        pack_turned(key, start, seen, h * size, size, keys)
        pack(value, start, seen, h * wide, wide, 1, values)
        tile = TILE if not causal or is_finite(value, start, seen, h * wide, wide) else 1
        for i in range(first, last, tile):
            rows = min(tile, last - i)
            depth = i + rows - start if causal else seen
            limit = round_up(depth, width)
            for r in range(rows):
                copy(query, i + r, h * size, size, scale, queries, r, 0)
            multiply(queries, keys, size, size, rows, limit, False, strip)
            for r in range(rows):
                shares[r, 0] = softmax(strip, r, i + r + 1 - start if causal else seen, limit)
            multiply(strip, values, depth, seen, rows, wide, False, result)
            for r in range(rows):
                copy(result, r, 0, wide, shares[r, 0], out, i + r, h * wide)

    return attend


@functools.cache
def _attend_kernel(width):
    attend = _attend(width)

    @jitable
    def scratch_for(most, size, wide, like):
        columns = round_up(wide, width)
        keys, values = _empty_rows(most * size, width, like), _empty_rows(most * columns, width, like)
        strip, result = _empty_rows(TILE, most + width, like), _empty_rows(TILE, columns, like)
        shares = _empty_rows(TILE, 1, like)
        return _empty_rows(TILE, size, like), keys, values, strip, result, shares

    @parallel_kernel
    def kernel(query, key, value, like, offsets, heads, scale, causal, parts, out):
        size, wide = query.shape[1] // heads, value.shape[1] // heads
        for p in prange(heads * (len(parts) - 1)):
            begin, end = parts[p // heads], parts[p // heads + 1]
            head = segment_of(offsets, begin) if begin < end else 0
            tail = segment_of(offsets, end - 1) + 1 if begin < end else 0
            scratch = scratch_for(_longest_rows(offsets, head, tail, width), size, wide, like)
            for s in range(head, tail):
                start, stop = offsets[s], offsets[s + 1]
                first, last = max(begin, start), min(end, stop)
                attend(query, key, value, p % heads, start, stop, first, last, size, wide, scale, causal, scratch, out)

    return kernel


@functools.cache
def _differentiate(width):
    """One head of a sequence: tile by tile, the gradients of the scores, and what they give to queries and keys."""
    do, (softmax, gradient) = products(width), steps(width)
    multiply, turned, pack, pack_turned = do.multiply, do.multiply_turned, do.pack, do.pack_turned

    @jitable(nrt=False)
    def prepare(key, value, h, start, seen, size, wide, by_sequence):
        keys, turned_keys, turned_values, by_keys, by_values = by_sequence
        pack(key, start, seen, h * size, size, 1, keys)
        pack_turned(key, start, seen, h * size, size, turned_keys)
        pack_turned(value, start, seen, h * wide, wide, turned_values)
        clear(by_keys, seen)
        clear(by_values, seen)

    @jitable(nrt=False)
    def scores(query, grad, h, start, i, rows, depth, size, wide, scale, causal, by_sequence, by_tile):
        _, turned_keys, turned_values, _, _ = by_sequence
        queries, packed_queries, grads, packed_grads, strip, by_scores, _ = by_tile
        limit = round_up(depth, width)
        for r in range(rows):
            copy(query, i + r, h * size, size, scale, queries, r, 0)
            copy(grad, i + r, h * wide, wide, 1, grads, r, 0)
        pack(query, i, rows, h * size, size, scale, packed_queries)
        pack(grad, i, rows, h * wide, wide, 1, packed_grads)
        multiply(queries, turned_keys, size, size, rows, limit, False, strip)
        multiply(grads, turned_values, wide, wide, rows, limit, False, by_scores)
        for r in range(rows):
            count = i + r + 1 - start if causal else depth
            gradient(strip, by_scores, r, softmax(strip, r, count, limit), count, limit)

    @jitable(nrt=False)
    def differentiate(query, key, value, grad, h, start, stop, size, wide, scale, causal, by_sequence, by_tile, out):
        keys, _, _, by_keys, by_values = by_sequence
        _, packed_queries, _, packed_grads, strip, by_scores, by_queries = by_tile
        by_query, by_key, by_value = out
        seen = stop - start
        prepare(key, value, h, start, seen, size, wide, by_sequence)
        known = is_finite(query, start, seen, h * size, size) and is_finite(key, start, seen, h * size, size)
        tile = TILE if not causal or (known and is_finite(grad, start, seen, h * wide, wide)) else 1
        for i in range(start, stop, tile):
            rows = min(tile, stop - i)
            depth = i + rows - start if causal else seen
            scores(query, grad, h, start, i, rows, depth, size, wide, scale, causal, by_sequence, by_tile)
            turned(strip, packed_grads, rows, rows, depth, wide, True, by_values)
            turned(by_scores, packed_queries, rows, rows, depth, size, True, by_keys)
            multiply(by_scores, keys, depth, seen, rows, size, False, by_queries)
            for r in range(rows):
                copy(by_queries, r, 0, size, scale, by_query, i + r, h * size)
        for r in range(seen):
            copy(by_keys, r, 0, size, 1, by_key, start + r, h * size)
            copy(by_values, r, 0, wide, 1, by_value, start + r, h * wide)

    return differentiate


@functools.cache
def _gradient_kernel(width):
    differentiate = _differentiate(width)

    @jitable
    def sequence_scratch(most, size, wide, like):
        a, b = round_up(size, width), round_up(wide, width)
        by_keys, by_values = _empty_rows(most, a, like), _empty_rows(most, b, like)
        turned = _empty_rows(most * size, width, like), _empty_rows(most * wide, width, like)
        return _empty_rows(most * a, width, like), *turned, by_keys, by_values

    @jitable
    def tile_scratch(most, size, wide, like):
        a, b = round_up(size, width), round_up(wide, width)
        queries, grads = _empty_rows(TILE, size, like), _empty_rows(TILE, wide, like)
        packed_queries, packed_grads = _empty_rows(TILE * a, width, like), _empty_rows(TILE * b, width, like)
        strip, by_scores = _empty_rows(TILE, most + width, like), _empty_rows(TILE, most + width, like)
        return queries, packed_queries, grads, packed_grads, strip, by_scores, _empty_rows(TILE, a, like)

    @parallel_kernel
    def kernel(query, key, value, grad, like, offsets, heads, scale, causal, parts, by_query, by_key, by_value):
        size, wide = query.shape[1] // heads, value.shape[1] // heads
        out = by_query, by_key, by_value
        for p in prange(heads * (len(parts) - 1)):
            h, first, last = p % heads, parts[p // heads], parts[p // heads + 1]
            most = _longest_rows(offsets, first, last, width)
            a, b = sequence_scratch(most, size, wide, like), tile_scratch(most, size, wide, like)
            for s in range(first, last):
                start, stop = offsets[s], offsets[s + 1]
                differentiate(query, key, value, grad, h, start, stop, size, wide, scale, causal, a, b, out)

    return kernel


def _parts(offsets, of_rows):
    """Bounds of parts of equal work: of rows, or of whole sequences."""
    lengths = np.diff(offsets).astype(np.float64)
    work = np.concatenate([[0], np.cumsum(lengths * (lengths + ROW))])
    # Rows of this number stay in the cache over all heads.
    count = 1 + int(offsets[-1]) // max(1, settings.chunk_rows // 16)
    equal = np.linspace(0, work[-1], count + 1)
    parts = np.interp(equal, work, offsets).astype(np.int64) if of_rows else np.searchsorted(work, equal)
    parts[-1] = offsets[-1] if of_rows else len(lengths)
    return parts


def _run(make, inputs, offsets, heads, scale, causal, parts, outputs):
    dtype = native(inputs[0].dtype)
    inputs = [matrix(x.astype(dtype, copy=False)) for x in inputs]
    like = np.empty(0, np.float32 if dtype == np.float16 else dtype)
    work, scale = sum(x.size for x in inputs) * WORK, like.dtype.type(scale)
    kernel, results = make(LANES[like.dtype.name]), map(matrix, outputs)
    kernel(work, *inputs, like, offsets, heads, scale, causal, parts, *results)


def attend(query, key, value, offsets, heads, scale, causal, out):
    """Put the attention of every head of every sequence into ``out``; items are heads side by side."""
    _run(_attend_kernel, (query, key, value), offsets, heads, scale, causal, _parts(offsets, True), (out,))


def attend_grad(query, key, value, grad, offsets, heads, scale, causal, outputs):
    """Put the gradients of ``attend`` by query, key and value into ``outputs``."""
    inputs, parts = (query, key, value, grad), _parts(offsets, False)
    _run(_gradient_kernel, inputs, offsets, heads, scale, causal, parts, outputs)
