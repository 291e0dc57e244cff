"""CUDA kernels of lodkit/ops/sequence_attention.py: a group of threads takes a row of a head through its sequence.

Each thread holds W columns in registers; a softmax runs along, rescaled where the maximum grows. No result is added up
by two groups, so nothing is atomic: the gradient by keys and values goes through the queries that see them.
"""

from __future__ import annotations

import functools
import math
import typing

import numpy as np

from ...arrays.cuda import convert, cuda, device, elementwise, fill, launch, vector
from ...jit import simd
from .primitives.offsets import offsets_like
from .primitives.reduce import VECTOR, width_of
from .primitives.row_kernels import exponential, segment_of, share_of

# Columns of a thread where a warp holds a head: 8 halves take too many registers.
WIDEST = 4
GROUP = 5  # exponent of 2 of the most threads of a group: a warp


@elementwise
def _fit(at, x, columns, wide, out):
    """Rows with other columns: zeros behind, or cut."""
    i, j = at // wide, at % wide
    vector.store(out, at, vector.load_where(j < columns, x, i * columns + j, 1))


@functools.cache
def _dot(width):
    @device
    def dot(a, b, bits, mask):
        """The sum of all products of a group, in each of its threads."""
        total, stride = simd.reduce(simd.add, simd.mul(a, b)), 1 << bits >> 1
        while stride > 0:
            total = simd.add(total, simd.like(total, cuda.shfl_xor_sync(mask, simd.lane(total, 0), stride)))
            stride >>= 1
        return total

    return dot


@device
def _mask_of(thread, bits):
    """Mask of the lanes of a thread's group."""
    first = thread & 31 & ~((1 << bits) - 1)
    return ((1 << (1 << bits)) - 1) << first


@functools.cache
def _attend_kernel(width, statistics):
    """Attention; or, for the gradient, each query's maximum, 1 / total, and mean of the gradients by its shares."""
    dot = _dot(width)

    @cuda.jit
    def kernel(
        query, key, value, grad, offsets, segments, heads, size, wide, scale, causal, bits, n, tops, shares, out
    ):
        thread = cuda.grid(1)
        at, j, mask = thread >> bits, (thread & ((1 << bits) - 1)) * width, _mask_of(thread, bits)
        while at < n:
            i, h = at // heads, at % heads
            s = segment_of(offsets, segments, i)
            q = vector.load_where(j < size, query, at * size + j, width)
            q = simd.mul(q, simd.like(q, scale))
            g = vector.load_where(statistics and j < wide, grad, at * wide + j, width)
            top, total = simd.full(query, 1, -np.inf), simd.full(query, 1, 0)
            result = simd.full(query, 1 if statistics else width, 0)
            for k in range(vector.number(offsets, s), i + 1 if causal else vector.number(offsets, s + 1)):
                seen = k * heads + h
                x = dot(q, vector.load_where(j < size, key, seen * size + j, width), bits, mask)
                v = vector.load_where(j < wide, value, seen * wide + j, width)
                if statistics:
                    v = dot(g, v, bits, mask)
                before, top = top, simd.maximum(top, x)
                less, share = exponential(before, top), exponential(x, top)
                total = simd.fma(total, less, share)
                less, share = simd.like(v, simd.lane(less, 0)), simd.like(v, simd.lane(share, 0))
                result = simd.fma(v, share, simd.mul(result, less))
            share = share_of(simd.like(total, 1), total)
            result = simd.mul(result, simd.like(result, simd.lane(share, 0)))
            if statistics:
                if j == 0:
                    vector.store(out, at, result)
                    vector.store(tops, at, top)
                    vector.store(shares, at, share)
            elif j < wide:
                vector.store(out, at * wide + j, result)
            at += cuda.gridsize(1) >> bits

    return kernel


@device
def _gradient_of(x, g, at, tops, shares, means):
    """The share of a score of a query, and the gradient by the score."""
    share = simd.mul(exponential(x, vector.load(tops, at, 1)), vector.load(shares, at, 1))
    return share, simd.mul(share, simd.sub(g, vector.load(means, at, 1)))


@functools.cache
def _query_kernel(width):
    """Gradient by the queries: each goes through the keys that it sees."""
    dot = _dot(width)

    @cuda.jit
    def kernel(
        query, key, value, grad, offsets, segments, heads, size, wide, scale, causal, bits, n, tops, shares, means, out
    ):
        thread = cuda.grid(1)
        at, j, mask = thread >> bits, (thread & ((1 << bits) - 1)) * width, _mask_of(thread, bits)
        while at < n:
            i, h = at // heads, at % heads
            s, result = segment_of(offsets, segments, i), simd.full(query, width, 0)
            q = vector.load_where(j < size, query, at * size + j, width)
            q = simd.mul(q, simd.like(q, scale))
            g = vector.load_where(j < wide, grad, at * wide + j, width)
            for row in range(vector.number(offsets, s), i + 1 if causal else vector.number(offsets, s + 1)):
                seen = row * heads + h
                k = vector.load_where(j < size, key, seen * size + j, width)
                v = vector.load_where(j < wide, value, seen * wide + j, width)
                x, y = dot(q, k, bits, mask), dot(g, v, bits, mask)
                _, by_score = _gradient_of(x, y, at, tops, shares, means)
                result = simd.fma(k, simd.like(k, simd.lane(by_score, 0)), result)
            if j < size:
                vector.store(out, at * size + j, simd.mul(result, simd.like(result, scale)))
            at += cuda.gridsize(1) >> bits

    return kernel


@functools.cache
def _key_kernel(width):
    """Gradients by the keys and values: each goes through the queries that see it."""
    dot = _dot(width)

    @cuda.jit
    def kernel(
        query, key, value, grad, offsets, segments, heads, size, wide, scale, causal, bits, n, tops, shares, means,
        by_key, by_value,
    ):  # fmt: skip
        thread = cuda.grid(1)
        at, j, mask = thread >> bits, (thread & ((1 << bits) - 1)) * width, _mask_of(thread, bits)
        while at < n:
            i, h = at // heads, at % heads
            s = segment_of(offsets, segments, i)
            key_sum, value_sum = simd.full(query, width, 0), simd.full(query, width, 0)
            k = vector.load_where(j < size, key, at * size + j, width)
            v = vector.load_where(j < wide, value, at * wide + j, width)
            for row in range(i if causal else vector.number(offsets, s), vector.number(offsets, s + 1)):
                from_query = row * heads + h
                q = vector.load_where(j < size, query, from_query * size + j, width)
                q = simd.mul(q, simd.like(q, scale))
                g = vector.load_where(j < wide, grad, from_query * wide + j, width)
                x, y = dot(q, k, bits, mask), dot(g, v, bits, mask)
                share, by_score = _gradient_of(x, y, from_query, tops, shares, means)
                key_sum = simd.fma(q, simd.like(q, simd.lane(by_score, 0)), key_sum)
                value_sum = simd.fma(g, simd.like(g, simd.lane(share, 0)), value_sum)
            if j < size:
                vector.store(by_key, at * size + j, key_sum)
            if j < wide:
                vector.store(by_value, at * wide + j, value_sum)
            at += cuda.gridsize(1) >> bits

    return kernel


class _Plan(typing.NamedTuple):
    """What the launches of a call share."""

    width: int
    bits: int
    heads: int
    inputs: list
    numbers: tuple

    def run(self, kernel, outputs, *others):
        """Launch a kernel, whose results are cut where heads are not whole vectors."""
        n = len(outputs[0]) * self.heads
        columns = [out.columns // self.heads for out in outputs]
        fitted = [_fit_heads(out, n, c, self.width, True) for out, c in zip(outputs, columns, strict=True)]
        launch(kernel, n << self.bits, *self.inputs, *self.numbers, self.bits, n, *others, *fitted)
        for out, c, x in zip(outputs, columns, fitted, strict=True):
            if x is not out:
                _fit.into(out, x, x.columns, c)


def _fit_heads(x, n, columns, width, empty=False):
    """Heads as whole and aligned vectors: as they are, or with zeros behind each of ``n``."""
    wide, align = _round_up(columns, width), min(VECTOR, width * x.dtype.itemsize)
    if wide == columns and x.pointer % align == 0:
        return x
    out = x.like((n, wide))
    if not empty:
        _fit.into(out, x, columns, wide) if x.size else fill(out, 0)
    return out


def _round_up(columns, width):
    return max(1, -(-columns // width)) * width


def _plan(query, key, value, grad, offsets, heads, scale, causal):
    n, size, wide = len(query) * heads, query.columns // heads, value.columns // heads
    width = min(WIDEST, width_of(math.gcd(size, wide), query, key, value, grad)) if size and wide else 1
    while width << GROUP < max(size, wide):
        width *= 2
    pairs = (query, size), (key, size), (value, wide), (grad, wide)
    inputs = [_fit_heads(x, n, columns, width) for x, columns in pairs]
    columns = _round_up(size, width), _round_up(wide, width)
    bits = (max(columns) // width - 1).bit_length()
    offsets, scale = offsets_like(query, offsets), query.compute_dtype.type(scale)
    numbers = offsets.offsets, len(offsets), heads, *columns, scale, int(causal)
    return _Plan(width, bits, heads, inputs, numbers)


def attend(query, key, value, offsets, heads, scale, causal, out):
    """Put the attention of every head of every sequence into ``out``; items are heads side by side."""
    plan = _plan(query, key, value, value, offsets, heads, scale, causal)
    plan.run(_attend_kernel(plan.width, False), (out,), value, value)  # without statistics


def attend_grad(query, key, value, grad, offsets, heads, scale, causal, outputs):
    """Put the gradients of ``attend`` by query, key and value into ``outputs``."""
    plan = _plan(query, key, value, convert(grad, value.dtype), offsets, heads, scale, causal)
    tops, shares, means = (query.like((len(query) * heads,), query.compute_dtype) for _ in range(3))
    numbers = *plan.numbers, plan.bits, len(tops)
    launch(_attend_kernel(plan.width, True), len(tops) << plan.bits, *plan.inputs, *numbers, tops, shares, means)
    plan.run(_query_kernel(plan.width), outputs[:1], tops, shares, means)
    plan.run(_key_kernel(plan.width), outputs[1:], tops, shares, means)
