"""CPU kernels of lodkit/ops/crf.py: sums over all ways through a sequence, from both ends, in double precision."""

from __future__ import annotations

import numpy as np

from ...jit import jitable, parallel_kernel, prange, simd
from ...ops.crf import reversed_chain
from .primitives.chains import W, log_total, spread, walk_best, walk_logs, walk_scaled, weigh
from .primitives.strips import round_up

# The gradient by transitions is summed in parts of ROWS rows, at most MAX_PARTS of them.
ROWS, MAX_PARTS = 256, 64


@jitable(nrt=False)
def _score(emission, start, stop, transition, labels):
    """The score of the labels of a sequence."""
    total = transition[0, labels[start]] + transition[1, labels[stop - 1]]
    for i in range(start, stop):
        total += emission[i, labels[i]]
        if i > start:
            total += transition[2 + labels[i - 1], labels[i]]
    return total


@jitable
def _empty_rows(offsets, first, last, columns):
    """Rows for the longest of some sequences."""
    most = 1
    for s in range(first, last):
        most = max(most, offsets[s + 1] - offsets[s])
    return np.empty((most, columns))


@jitable(nrt=False)
def _add_scaled(start, n, tags, exps, grad, row, right, rows, by_emission, by_transition):
    """Add the gradients of a sequence from scaled sums: before and after each step, shares of its emissions."""
    before, after, shares = rows
    for i in range(n):
        total = simd.full(right, W, 0)
        for j in range(0, right.shape[1], W):
            lanes = simd.mul(simd.load(shares, i, j, W), simd.load(after, i, j, W))
            simd.store(right, 0, j, lanes)
            total = simd.fma(simd.load(before, i, j, W), lanes, total)
        scale = grad / simd.lane(simd.reduce(simd.add, total), 0)
        for j in range(0, right.shape[1], W):
            lanes = simd.mul(simd.load(right, 0, j, W), simd.full(right, W, scale))
            simd.store(right, 0, j, lanes)
            simd.store(by_emission, start + i, j, simd.mul(simd.load(before, i, j, W), lanes))
        if i > 0:
            for j in range(0, right.shape[1], W):
                lanes = simd.load(right, 0, j, W)
                for k in range(tags):
                    share = simd.mul(simd.load(exps, 2 + k, j, W), lanes)
                    x = simd.fma(spread(row, 0, k, share), share, simd.load(by_transition, 2 + k, j, W))
                    simd.store(by_transition, 2 + k, j, x)
        weigh(before, shares, i, row)


@jitable(nrt=False)
def _add_logs(emission, start, n, tags, logs, total, grad, rows, by_emission, by_transition):
    """Add the gradients of a sequence from the logarithms of sums."""
    before, after, _ = rows
    shift = total if total != -np.inf else 0.0
    for i in range(n):
        for j in range(0, before.shape[1], W):
            e, rest = simd.load(emission, start + i, j, W), simd.load(after, i, j, W)
            x = simd.add(simd.add(simd.load(before, i, j, W), e), rest)
            g = simd.like(x, grad)
            simd.store(by_emission, start + i, j, simd.mul(g, simd.exp(simd.sub(x, simd.like(x, shift)))))
            for k in range(tags if i > 0 else 0):
                left = before[i - 1, k] + emission[start + i - 1, k]
                x = simd.add(simd.like(x, left), simd.load(logs, 2 + k, j, W))
                x = simd.sub(simd.add(x, simd.add(e, rest)), simd.like(x, shift))
                x = simd.fma(g, simd.exp(x), simd.load(by_transition, 2 + k, j, W))
                simd.store(by_transition, 2 + k, j, x)


@jitable(nrt=False)
def _add_labels(start, stop, labels, tags, grad, by_emission, by_transition):
    """Take what the labels have from the gradients; the first and the last step's are those of row 0 and 1."""
    for i in range(start, stop):
        by_emission[i, labels[i]] -= grad
        if i > start:
            by_transition[2 + labels[i - 1], labels[i]] -= grad
    for j in range(tags):
        by_transition[0, j] += by_emission[start, j]
        by_transition[1, j] += by_emission[stop - 1, j]


@jitable(nrt=False)
def _differentiate(emission, start, n, tags, tables, total, scaled, grad, work, by_emission, by_transition):
    row, right, rows = work
    before, after, shares = rows
    logs, backward_logs, exps, backward_exps, _ = tables
    if scaled:
        scale = walk_scaled(shares, backward_exps, tags, n, True, row, after)
        scaled = scale == scale
        if not scaled:
            walk_logs(emission, start, logs, tags, n, False, row, before)
    if scaled:
        _add_scaled(start, n, tags, exps, grad, row, right, rows, by_emission, by_transition)
    else:
        walk_logs(emission, start, backward_logs, tags, n, True, row, after)
        _add_logs(emission, start, n, tags, logs, total, grad, rows, by_emission, by_transition)


@jitable
def _work(offsets, first, last, columns):
    """A row, another, and rows for the longest of some sequences: before and after each step, and shares."""
    before, after = _empty_rows(offsets, first, last, columns), _empty_rows(offsets, first, last, columns)
    return np.zeros((1, columns)), np.zeros((1, columns)), (before, after, _empty_rows(offsets, first, last, columns))


@parallel_kernel
def _chain_kernel(emission, labels, grads, offsets, parts, tags, tables, losses, by_emission, by_transition):
    """The losses; and their gradients, if ``grads`` are given."""
    for p in prange(len(parts) - 1):
        sums, work = by_transition[p], _work(offsets, parts[p], parts[p + 1], emission.shape[1])
        row, _, (before, _, shares) = work
        for s in range(parts[p], parts[p + 1]):
            start, stop = offsets[s], offsets[s + 1]
            n = stop - start
            if n == 0:
                continue
            total, scaled = log_total(emission, start, n, tags, tables, row, shares, before)
            losses[s] = total - _score(emission, start, stop, tables[0], labels)
            if len(grads):
                _differentiate(emission, start, n, tags, tables, total, scaled, grads[s], work, by_emission, sums)
                _add_labels(start, stop, labels, tags, grads[s], by_emission, sums)


@jitable(nrt=False)
def _find_best(before, i, emission, at, matrix, k, tags):
    """The first tag with the highest score; NaN is the highest."""
    best, most = 0, before[i, 0] + emission[at, 0] + matrix[k, 0]
    for j in range(1, tags):
        x = before[i, j] + emission[at, j] + matrix[k, j]
        if most == most and not x <= most:
            best, most = j, x
    return best


@parallel_kernel
def _path_kernel(emission, labels, offsets, parts, tags, forward, backward, out):
    for p in prange(len(parts) - 1):
        first, last, columns = parts[p], parts[p + 1], emission.shape[1]
        row, before = np.empty((1, columns)), _empty_rows(offsets, first, last, columns)
        for s in range(first, last):
            start, n, k = offsets[s], offsets[s + 1] - offsets[s], 0
            walk_best(emission, start, forward, tags, n, False, row, before)
            for i in range(n - 1, -1, -1):
                tag = _find_best(before, i, emission, start + i, backward, k, tags)
                out[start + i] = tag == labels[start + i] if len(labels) else tag
                k = 2 + tag


def _pad_columns(x, number):
    """A matrix in double precision with whole vectors as rows."""
    out = np.full((len(x), round_up(x.shape[1], W)), number, np.float64)
    out[:, : x.shape[1]] = x
    return out


def _tables(transition):
    """Scores forwards and backwards, exponentials of both, scaled to a maximum of 1, and the maxima."""
    scores = transition.astype(np.float64)
    shifts = np.array([scores[0].max(), scores[1].max(), scores[2:].max()])
    with np.errstate(all="ignore"):
        exps = np.exp(scores - np.repeat(shifts, [1, 1, len(scores) - 2])[:, None])
    return *(_pad_columns(x, 1) for x in (scores, reversed_chain(scores), exps, reversed_chain(exps))), shifts


def _arguments(values, labels, offsets):
    """The padded emissions, the number of elements that a kernel counts, labels, offsets, and bounds of its parts."""
    emission, tags = _pad_columns(values, -np.inf), values.shape[1]
    labels = np.empty(0, np.int64) if labels is None else labels
    count = min(MAX_PARTS, 1 + len(values) // ROWS)
    parts = np.searchsorted(offsets, np.linspace(0, len(values), count + 1))
    parts[-1] = len(offsets) - 1
    return emission.size * (1 + tags // 4), emission, labels, offsets, parts, tags


def _run(values, transition, labels, grads, offsets):
    """Losses, and gradients by the rows, and by the transitions for each part, where ``grads`` are given."""
    work, emission, labels, offsets, parts, tags = _arguments(values, labels, offsets)
    shape = emission.shape if len(grads) else (0, 0)
    losses, by_rows = np.zeros(len(offsets) - 1), np.empty(shape)
    sums = np.zeros((len(parts) - 1, len(transition), shape[1]))
    _chain_kernel(work, emission, labels, grads, offsets, parts, tags, _tables(transition), losses, by_rows, sums)
    return losses, by_rows[:, :tags], sums.sum(axis=0)[:, :tags]


def losses(values, transition, labels, offsets, out):
    """Put the negative log-likelihood of each sequence into ``out``."""
    with np.errstate(over="ignore"):
        out[...] = _run(values, transition, labels, np.empty(0), offsets)[0]


def gradients(values, transition, labels, grad, offsets, by_emission, by_transition):
    """Put the gradients of the losses by the emissions and the transitions into the last two."""
    with np.errstate(over="ignore"):
        _, by_emission[...], by_transition[...] = _run(values, transition, labels, grad.astype(np.float64), offsets)


def decode(values, transition, labels, offsets, out):
    """Put the best path of each sequence into ``out``; with labels, whether they are on it."""
    work, *arguments = _arguments(values, labels, offsets)
    _path_kernel(work, *arguments, *_tables(transition)[:2], out)
