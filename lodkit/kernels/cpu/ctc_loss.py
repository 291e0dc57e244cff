"""CPU kernels of lodkit/ops/ctc_loss.py: sequences in parallel, the states of a frame in vectors.

The paths from the end are those from the start of the sequence and its labels reversed.
"""

from __future__ import annotations

import numpy as np

from ...jit import jitable, parallel_kernel, prange, simd
from ..common.ctc_loss import LOWEST_LOG, log_add, step

# Several registers: exp and log are long chains, which overlap.
LANES = 32
CLASS_LANES = 16  # classes of a step
# A frame counts as this number of elements of other kernels when threads are chosen.
WORK = 512


@jitable
def _start(rows, count):
    """Paths of each blank and, behind a place that stays empty, of each label: a row before the first frame, others."""
    width = (count + LANES) // LANES * LANES
    blanks, labels = np.empty((rows, width)), np.empty((rows, width + 1))
    blanks[0], labels[0], labels[:, 0] = -np.inf, -np.inf, -np.inf
    blanks[0, 0] = 0.0
    return blanks, labels


@jitable
def _label_tables(labels, first, count, back):
    """The labels of a sequence in order or ``back``, what it takes to skip a blank before each, and room for logs."""
    width = (count + LANES) // LANES * LANES
    names, skips, logs = np.empty(count, np.int64), np.zeros((1, width)), np.full((1, width), -np.inf)
    for j in range(count):
        names[j] = labels[first + (count - 1 - j if back else j)]
        if j and names[j] == names[j - 1]:
            skips[0, j] = -np.inf
    return names, skips, logs


@jitable(nrt=False)
def _frame(logs, row, blank, names, skips, found, blanks, labels, before, now):
    """From the paths before a frame, a row of ``blanks`` and ``labels``, to those after it, another row."""
    for j in range(len(names)):
        found[0, j] = logs[row, names[j]]
    log = np.float64(logs[row, blank])
    for j in range(0, blanks.shape[1], LANES):
        x, y = simd.load(blanks, before, j, LANES), simd.load(labels, before, j, LANES)
        here, skip = simd.load(labels, before, j + 1, LANES), simd.load(skips, 0, j, LANES)
        x, y = step(x, y, here, skip)
        simd.store(blanks, now, j, simd.add(x, simd.like(x, log)))
        simd.store(labels, now, j + 1, simd.add(y, simd.load(found, 0, j, LANES)))


@jitable(nrt=False)
def _total(blanks, labels, row, count):
    """The logarithm of the probability of the paths that end in the last label or the blank behind it."""
    return simd.lane(log_add(simd.load(blanks, row, count, 1), simd.load(labels, row, count, 1)), 0)


@parallel_kernel
def _losses(logs, offsets, numbers, bounds, blank, by_times, zero_infinity, out):
    for s in prange(len(out)):
        count, frames = bounds[s + 1] - bounds[s], offsets[s + 1] - offsets[s]
        blanks, labels = _start(2, count)
        names, skips, found = _label_tables(numbers, bounds[s], count, False)
        for t in range(frames):
            _frame(logs, offsets[s] + t, blank, names, skips, found, blanks, labels, t % 2, (t + 1) % 2)
        loss = -_total(blanks, labels, frames % 2, count)
        out[s] = 0.0 if zero_infinity and np.isinf(loss) else loss / max(frames, 1) if by_times else loss


@jitable(nrt=False)
def _shares(blanks, labels, row, last_blanks, last_labels, now, log, found, total, shares):
    """The shares of all paths that go through each state at a frame: its blanks, its labels.

    Paths from the end count the frame too, whose logarithms they are taken from again.
    """
    count, log = len(found), max(log, LOWEST_LOG)
    for k in range(count + 1):
        shares[0, k] = blanks[row, k] + last_blanks[now, count - k] - log - total
    for k in range(count):
        log = max(found[count - 1 - k], LOWEST_LOG)
        shares[1, k] = labels[row, k + 1] + last_labels[now, count - k] - log - total
    for j in range(0, shares.shape[1], LANES):
        for r in range(2):
            simd.store(shares, r, j, simd.exp(simd.load(shares, r, j, LANES)))


@jitable(nrt=False)
def _put(logs, row, blank, turned, shares, scale, out):
    """The gradient of a frame's logits: their softmax less the shares of their states, times ``scale``."""
    classes, count, blanks = logs.shape[1], len(turned), 0.0
    for j in range(0, classes, CLASS_LANES):
        x = simd.exp(simd.load_first(logs, row, j, CLASS_LANES, classes - j, 0.0))
        simd.store_first(out, row, j, simd.mul(x, simd.like(x, scale)), classes - j)
    for k in range(count + 1):
        blanks += shares[0, k]
    out[row, blank] -= scale * blanks
    for k in range(count):
        out[row, turned[count - 1 - k]] -= scale * shares[1, k]


@jitable
def _walk_back(logs, start, frames, numbers, first, count, blank, blanks, labels, total, scale, out):
    """The paths from the end, and the gradient of each frame on the way."""
    last_blanks, last_labels = _start(2, count)
    turned, skips, found = _label_tables(numbers, first, count, True)
    shares = np.full((2, blanks.shape[1]), -np.inf)
    for i in range(frames):
        t, now = frames - 1 - i, (i + 1) % 2
        _frame(logs, start + t, blank, turned, skips, found, last_blanks, last_labels, i % 2, now)
        log = np.float64(logs[start + t, blank])
        _shares(blanks, labels, t + 1, last_blanks, last_labels, now, log, found[0, :count], total, shares)
        _put(logs, start + t, blank, turned, shares, scale, out)


@parallel_kernel
def _gradient(logs, offsets, numbers, bounds, blank, scales, by_times, out):
    for s in prange(len(scales)):
        start, count, frames = offsets[s], bounds[s + 1] - bounds[s], offsets[s + 1] - offsets[s]
        blanks, labels = _start(frames + 1, count)
        names, skips, found = _label_tables(numbers, bounds[s], count, False)
        for t in range(frames):
            _frame(logs, start + t, blank, names, skips, found, blanks, labels, t, t + 1)
        total, scale = _total(blanks, labels, frames, count), scales[s] / (max(frames, 1) if by_times else 1)
        if total == -np.inf:
            out[start : start + frames] = 0
        else:
            _walk_back(logs, start, frames, numbers, bounds[s], count, blank, blanks, labels, total, scale, out)


def _work(logs, numbers):
    return WORK * len(logs) + logs.size + len(numbers)


def losses(logs, offsets, numbers, bounds, blank, by_times, zero_infinity):
    """The loss of each sequence, in double precision, of the logarithms of the softmax."""
    out = np.empty(len(offsets) - 1)
    _losses(_work(logs, numbers), logs, offsets, numbers, bounds, blank, by_times, zero_infinity, out)
    return out


def gradient(logs, offsets, numbers, bounds, blank, scales, by_times):
    """The gradient by the logits of the losses times ``scales``."""
    out = np.empty_like(logs)
    _gradient(_work(logs, numbers), logs, offsets, numbers, bounds, blank, scales, by_times, out)
    return out
