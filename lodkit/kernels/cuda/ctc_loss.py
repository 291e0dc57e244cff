"""CUDA kernels of lodkit/ops/ctc_loss.py: a block per sequence, whose threads share the states of a frame.

Paths of all frames lie in memory, those of a loss only of two. Of labels that occur several times in a sequence one
thread adds the shares, in order: results are the same bits in every run.
"""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import cuda, device, launch, vector
from ...arrays.sizes import size_products, total_size
from ...jit import simd
from ...lod.offsets import lengths_to_offsets, segment_numbers
from ..common.ctc_loss import LOWEST_LOG, log_add, step
from .primitives.offsets import offsets_like

THREADS = 64


@device
def _log_of(logs, at):
    return simd.widen(vector.load(logs, at, 1))


@device
def _start(blanks, labels, first, count, lane):
    """The row before the first frame: only the first blank is reached."""
    j = lane
    while j <= count:
        blanks[first + j] = 0.0 if j == 0 else -np.inf
        labels[first + j] = -np.inf
        j += THREADS
    cuda.syncthreads()


@device
def _frame(logs, row, blank, numbers, start, count, back, blanks, labels, before, now, lane):
    """From the paths before a frame to those after it; ``back`` takes the labels from the last to the first."""
    log, j = _log_of(logs, row + blank), lane
    while j <= count:
        x, y = vector.load_written(blanks, before + j, 1), vector.load_written(labels, before + j, 1)
        label = vector.number(numbers, start + (count - 1 - j if back else j)) if j < count else -1
        last = vector.number(numbers, start + (count - j if back else j - 1)) if 0 < j < count else -1
        here = vector.load_written(labels, before + j + 1 if j < count else before, 1)
        x, y = step(x, y, here, simd.like(x, -np.inf if label == last else 0.0))
        vector.store(blanks, now + j, simd.add(x, log))
        if j < count:
            vector.store(labels, now + j + 1, simd.add(y, _log_of(logs, row + label)))
        j += THREADS
    if lane == 0:
        labels[now] = -np.inf
    cuda.syncthreads()


@cuda.jit
def _forward(
    logs, offsets, numbers, bounds, places, blank, classes, rows, by_times, zero_infinity, segments,
    blanks, labels, out,
):  # fmt: skip
    """The paths from the start, in ``rows`` rows in turn, or with 0 a row for each frame; and the losses."""
    s, lane = cuda.blockIdx.x, cuda.threadIdx.x
    while s < segments:
        start, first, place = vector.number(offsets, s), vector.number(bounds, s), vector.number(places, s)
        count, frames = vector.number(bounds, s + 1) - first, vector.number(offsets, s + 1) - start
        turns, width = rows if rows > 0 else frames + 1, count + 1
        _start(blanks, labels, place, count, lane)
        for t in range(frames):
            before, now = place + t % turns * width, place + (t + 1) % turns * width
            _frame(logs, (start + t) * classes, blank, numbers, first, count, False, blanks, labels, before, now, lane)
        if lane == 0:
            at = place + frames % turns * width + count
            total = log_add(vector.load_written(blanks, at, 1), vector.load_written(labels, at, 1))
            loss = -simd.lane(total, 0)
            if zero_infinity and loss == np.inf:
                loss = 0.0
            out[s] = loss / max(frames, 1) if by_times else loss
        s += cuda.gridDim.x


@device
def _share(path, back, log, loss):
    """The share of all paths that go through a state; ``back``, from the end, counts the frame's logarithm again."""
    return simd.exp(simd.like(log, path + back - max(simd.lane(log, 0), LOWEST_LOG) + loss))


@device
def _share_states(shares, room, logs, row, blank, numbers, first, count, ways, at, now, loss, lane):
    """The shares of a frame's states, of blanks and then of labels, from both ``ways``: from the start and the end."""
    blanks, labels, last_blanks, last_labels = ways
    log, k = _log_of(logs, row + blank), lane
    while k <= count:
        back = now + count - k
        vector.store(shares, room + k, _share(blanks[at + k], last_blanks[back], log, loss))
        if k < count:
            here = _log_of(logs, row + vector.number(numbers, first + k))
            vector.store(shares, room + count + 1 + k, _share(labels[at + k + 1], last_labels[back], here, loss))
        k += THREADS


@device
def _clear(out, at, stop, logs, lane):
    """Zeros, where no path has a probability."""
    k = at + lane
    while k < stop:
        vector.store(out, k, simd.like(vector.load(logs, 0, 1), 0))
        k += THREADS


@device
def _subtract(out, at, share, scale):
    x = vector.load_written(out, at, 1)
    vector.store(out, at, simd.sub(x, simd.narrow(out, simd.mul(simd.like(share, scale), share))))


@device
def _put(out, logs, row, blank, classes, numbers, start, count, follows, leads, shares, first, scale, lane):
    """The gradient of a frame's logits: their softmax less the shares of their states, times ``scale``."""
    j = lane
    while j < classes:
        x = simd.exp(vector.load(logs, row + j, 1))
        vector.store(out, row + j, simd.mul(x, simd.like(x, scale)))
        j += THREADS
    cuda.syncthreads()
    k = lane
    while k <= count:
        if k == count:
            total, j = vector.load_written(shares, first, 1), 1
            while j <= count:
                total = simd.add(total, vector.load_written(shares, first + j, 1))
                j += 1
            _subtract(out, row + blank, total, scale)
        elif vector.number(leads, start + k) > 0:
            total, j = vector.load_written(shares, first + count + 1 + k, 1), vector.number(follows, start + k)
            while j >= 0:
                total = simd.add(total, vector.load_written(shares, first + count + 1 + j - start, 1))
                j = vector.number(follows, j)
            _subtract(out, row + vector.number(numbers, start + k), total, scale)
        k += THREADS


@cuda.jit
def _backward(
    logs, offsets, numbers, bounds, places, follows, leads, blank, classes, by_times, segments,
    blanks, labels, losses, scales, last_blanks, last_labels, shares, out,
):  # fmt: skip
    """The paths from the end, two rows in turn, and the gradient of each frame on the way."""
    s, lane = cuda.blockIdx.x, cuda.threadIdx.x
    while s < segments:
        start, first, place = vector.number(offsets, s), vector.number(bounds, s), vector.number(places, s)
        count, frames = vector.number(bounds, s + 1) - first, vector.number(offsets, s + 1) - start
        width, room, loss = count + 1, 2 * (first + s), vector.number(losses, s)
        scale = vector.number(scales, s) / (max(frames, 1) if by_times else 1)
        _start(last_blanks, last_labels, room, count, lane)
        if loss == np.inf:
            _clear(out, start * classes, (start + frames) * classes, logs, lane)
        for i in range(frames if loss != np.inf else 0):
            t = frames - 1 - i
            row, before, now = (start + t) * classes, room + i % 2 * width, room + (i + 1) % 2 * width
            _frame(logs, row, blank, numbers, first, count, True, last_blanks, last_labels, before, now, lane)
            at, ways = place + (t + 1) * width, (blanks, labels, last_blanks, last_labels)
            _share_states(shares, room, logs, row, blank, numbers, first, count, ways, at, now, loss, lane)
            _put(out, logs, row, blank, classes, numbers, first, count, follows, leads, shares, room, scale, lane)
        s += cuda.gridDim.x


def _chains(numbers, bounds):
    """The next place of the same label in its sequence, -1 behind the last; and 1 where a label comes first."""
    segments = segment_numbers(bounds)
    order = np.lexsort((numbers, segments))
    here, there = order[:-1], order[1:]
    same = (numbers[here] == numbers[there]) & (segments[here] == segments[there])
    follows, leads = np.full(len(numbers), -1), np.ones(len(numbers), np.int64)
    follows[here[same]], leads[there[same]] = there[same], 0
    return follows, leads


def _send_arrays(logs, *arrays):
    """NumPy's arrays on the device; an empty one has an address."""
    return [logs.send(x if len(x) else np.zeros(1, np.int64)) for x in arrays]


def _paths(logs, offsets, numbers, bounds, places, rows, blank, by_times, zero_infinity):
    """Inputs on the device, the losses, and the paths that led to them."""
    logs = logs if logs.size else logs.like((1, logs.columns))
    out, room = logs.like((len(offsets) - 1,), np.float64), (int(places[-1]),)
    sent = [offsets_like(logs, offsets).offsets, *_send_arrays(logs, numbers, bounds, places)]
    blanks, labels = logs.like(room, np.float64), logs.like(room, np.float64)
    numbers = blank, logs.columns, rows, int(by_times), int(zero_infinity), len(out)
    launch(_forward, len(out) * THREADS, logs, *sent, *numbers, blanks, labels, out, block=THREADS)
    return logs, sent, blanks, labels, out


def losses(logs, offsets, numbers, bounds, blank, by_times, zero_infinity):
    """The loss of each sequence, in double precision, of the logarithms of the softmax."""
    places = 2 * (bounds + np.arange(len(bounds)))
    return _paths(logs, offsets, numbers, bounds, places, 2, blank, by_times, zero_infinity)[-1]


def gradient(logs, offsets, numbers, bounds, blank, scales, by_times):
    """The gradient by the logits of the losses times ``scales``."""
    states = np.diff(bounds) + 1
    places = lengths_to_offsets(size_products(np.diff(offsets) + 1, states, "frames * labels"))
    logs, sent, *paths = _paths(logs, offsets, numbers, bounds, places, 0, blank, False, False)
    room = [logs.like((2 * total_size(states, "the labels"),), np.float64) for _ in range(3)]
    inputs = *sent, *_send_arrays(logs, *_chains(numbers, bounds)), blank, logs.columns, int(by_times), len(states)
    out = logs.like(logs.shape)
    launch(_backward, len(states) * THREADS, logs, *inputs, *paths, scales, *room, out, block=THREADS)
    return out
