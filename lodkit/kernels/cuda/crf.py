"""CUDA kernels of lodkit/ops/crf.py: a warp takes a sequence step by step, each thread some of its tags.

All is computed from logarithms, in double precision.
"""

from __future__ import annotations

import functools

import numpy as np

from ...arrays.cuda import convert, copy_elements, cuda, device, elementwise, launch, vector
from ...jit import simd
from .primitives.offsets import offsets_like
from .primitives.reduce_kernels import FULL_WARP_MASK, WARP
from .primitives.row_kernels import advance, segment_of

# The gradient by transitions is summed in parts of ROWS rows, at most MAX_PARTS of them.
ROWS, MAX_PARTS = 64, 1024


@functools.cache
def _combiner(best):
    @device
    def combine(out, emission, at, transition, first, stride, tags):
        """The maximum, or the logarithm of the sum, of the scores of all ways to a tag from the step at ``at``."""
        top = simd.full(out, 1, -np.inf)
        for k in range(tags):
            x = simd.add(vector.load_written(out, at + k, 1), vector.load(emission, at + k, 1))
            top = simd.maximum(top, simd.add(x, vector.load(transition, first + k * stride, 1)))
        if best:
            return top
        shift, total = simd.zero_nonfinite(top), simd.full(out, 1, 0)
        for k in range(tags):
            x = simd.add(vector.load_written(out, at + k, 1), vector.load(emission, at + k, 1))
            x = simd.add(x, vector.load(transition, first + k * stride, 1))
            total = simd.add(total, simd.exp(simd.sub(x, shift)))
        return simd.add(simd.log(total), shift)

    return combine


_log_sum = _combiner(False)


@functools.cache
def _walk_kernel(best):
    """Combined scores of all ways to each tag of each step, without its own emission; ``back``: from the last step."""
    combine = _combiner(best)

    @cuda.jit
    def kernel(emission, transition, offsets, tags, segments, back, out):
        s, lane = cuda.grid(1) >> 5, cuda.grid(1) & (WARP - 1)
        while s < segments:
            start, stop = vector.number(offsets, s), vector.number(offsets, s + 1)
            for k in range(stop - start):
                i, j = stop - 1 - k if back else start + k, lane
                near = (i + 1 if back else i - 1) * tags
                while j < tags:
                    first, stride = ((2 + j) * tags, 1) if back else (2 * tags + j, tags)
                    if k == 0:
                        x = vector.load(transition, back * tags + j, 1)
                    else:
                        x = combine(out, emission, near, transition, first, stride, tags)
                    vector.store(out, i * tags + j, x)
                    j += WARP
                cuda.syncwarp(FULL_WARP_MASK)
            s += cuda.gridsize(1) >> 5

    return kernel


@device
def _tag(labels, i, tags):
    """A label; unchecked ones are clamped."""
    return min(max(vector.number(labels, i), 0), tags - 1)


@elementwise
def _lose(s, before, emission, transition, labels, offsets, tags, totals, out):
    """Logarithm of the sum over all ways through a sequence, and by how much the labels' score is less."""
    start, stop = vector.number(offsets, s), vector.number(offsets, s + 1)
    total, score = simd.full(before, 1, 0), simd.full(before, 1, 0)
    if start < stop:
        total = _log_sum(before, emission, (stop - 1) * tags, transition, tags, 1, tags)
        first, last = _tag(labels, start, tags), _tag(labels, stop - 1, tags)
        score = simd.add(vector.load(transition, first, 1), vector.load(transition, tags + last, 1))
        for i in range(start, stop):
            tag, row = _tag(labels, i, tags), 2 + _tag(labels, max(i - 1, start), tags)
            score = simd.add(score, vector.load(emission, i * tags + tag, 1))
            score = simd.add(score, vector.load_where(i > start, transition, row * tags + tag, 1))
    vector.store(totals, s, total)
    vector.store(out, s, simd.sub(total, score))


@device
def _shift(totals, s):
    total = vector.load(totals, s, 1)
    return simd.zero_at_minus_inf(total, total)


@elementwise
def _differentiate_rows(at, before, emission, after, labels, grads, totals, offsets, segments, tags, out):
    """Gradient by an emission: the share of all ways that have the tag, less 1 for the label."""
    i, j = at // tags, at % tags
    s = segment_of(offsets, segments, i)
    x = simd.add(simd.add(vector.load(before, at, 1), vector.load(emission, at, 1)), vector.load(after, at, 1))
    share = simd.exp(simd.sub(x, _shift(totals, s)))
    less = simd.full(out, 1, 1 if _tag(labels, i, tags) == j else 0)
    vector.store(out, at, simd.mul(vector.load(grads, s, 1), simd.sub(share, less)))


@device
def _pair(i, s, k, j, before, emission, after, transition, labels, grads, totals, tags):
    """Gradient by the transition from tag k to j at step i: the share of all ways that have it, less the labels'."""
    left, right = (i - 1) * tags + k, i * tags + j
    x = simd.add(vector.load(before, left, 1), vector.load(emission, left, 1))
    x = simd.add(x, vector.load(transition, (2 + k) * tags + j, 1))
    x = simd.add(x, simd.add(vector.load(emission, right, 1), vector.load(after, right, 1)))
    share = simd.exp(simd.sub(x, _shift(totals, s)))
    met = _tag(labels, i - 1, tags) == k and _tag(labels, i, tags) == j
    return simd.mul(vector.load(grads, s, 1), simd.sub(share, simd.like(share, 1 if met else 0)))


@elementwise
def _differentiate_pairs(
    at, before, emission, after, transition, labels, grads, totals, offsets, segments, tags, rows, part, by_rows, out
):
    """Gradient by an element of the transitions, of the steps of a part of the rows."""
    entry, first = at % ((tags + 2) * tags), at // ((tags + 2) * tags) * part
    r, j, s, total = entry // tags, entry % tags, segment_of(offsets, segments, first), simd.full(out, 1, 0)
    for i in range(first, min(first + part, rows)):
        s = advance(offsets, s, i)
        start, stop = vector.number(offsets, s), vector.number(offsets, s + 1)
        if r < 2:
            total = simd.add(total, vector.load_where(i == (stop - 1 if r else start), by_rows, i * tags + j, 1))
        elif i > start:
            x = _pair(i, s, r - 2, j, before, emission, after, transition, labels, grads, totals, tags)
            total = simd.add(total, x)
    vector.store(out, at, total)


@elementwise
def _sum_parts(at, sums, parts, count, out):
    total = simd.full(sums, 1, 0)
    for p in range(parts):
        total = simd.add(total, vector.load(sums, p * count + at, 1))
    vector.store(out, at, total)


@elementwise
def _trace(s, before, emission, transition, labels, compares, offsets, tags, out):
    """The best path of a sequence, from its last step to the first; NaN is the highest score."""
    start, i = vector.number(offsets, s), vector.number(offsets, s + 1) - 1
    first, stride = tags, 1
    while i >= start:
        at, tag, most = i * tags, 0, 0.0
        for k in range(tags):
            x = vector.number(before, at + k) + vector.number(emission, at + k)
            x += vector.number(transition, first + k * stride)
            if k == 0 or (most == most and not x <= most):
                tag, most = k, x
        out[i] = tag
        if compares:
            out[i] = 1 if vector.number(labels, i) == tag else 0
        first, stride = 2 * tags + tag, tags
        i -= 1


def _prepare(values, transition, offsets):
    """Both in double precision, and offsets, number of tags and number of sequences."""
    offsets = offsets_like(values, offsets)
    numbers = offsets.offsets, values.columns, len(offsets)
    return convert(values, np.float64), convert(transition, np.float64), numbers


def _walk(emission, transition, numbers, best=False, back=False):
    out = emission.like(emission.shape)
    launch(_walk_kernel(best), numbers[-1] * WARP, emission, transition, *numbers, int(back), out)
    return out


def _totals(before, emission, transition, labels, numbers):
    offsets, tags, segments = numbers
    totals, losses = (emission.like((segments,)) for _ in range(2))
    _lose(segments, before, emission, transition, labels, offsets, tags, totals, losses)
    return totals, losses


def losses(values, transition, labels, offsets, out):
    """Put the negative log-likelihood of each sequence into ``out``."""
    emission, transition, numbers = _prepare(values, transition, offsets)
    before = _walk(emission, transition, numbers)
    copy_elements(_totals(before, emission, transition, convert(labels, np.int64), numbers)[1], out)


def gradients(values, transition, labels, grad, offsets, by_emission, by_transition):
    """Put the gradients of the losses by the emissions and the transitions into the last two."""
    emission, transition, numbers = _prepare(values, transition, offsets)
    (offsets, tags, segments), rows = numbers, len(values)
    before, after = (_walk(emission, transition, numbers, back=back) for back in (False, True))
    labels = convert(labels, np.int64)
    totals, _ = _totals(before, emission, transition, labels, numbers)
    given, by_rows = (labels, convert(grad, np.float64), totals, offsets, segments, tags), emission.like(emission.shape)
    _differentiate_rows.into(by_rows, before, emission, after, *given)
    part = max(ROWS, -(-rows // MAX_PARTS))
    sums = emission.like((-(-rows // part), *transition.shape))
    _differentiate_pairs.into(sums, before, emission, after, transition, *given, rows, part, by_rows)
    copy_elements(by_rows, by_emission)
    _sum_parts.into(by_transition, sums, len(sums), transition.size)


def decode(values, transition, labels, offsets, out):
    """Put the best path of each sequence into ``out``; with labels, whether they are on it."""
    emission, transition, (offsets, tags, segments) = _prepare(values, transition, offsets)
    before = _walk(emission, transition, (offsets, tags, segments), best=True)
    given, compares = (out, 0) if labels is None else (convert(labels, np.int64), 1)
    _trace(segments, before, emission, transition, given, compares, offsets, tags, out)
