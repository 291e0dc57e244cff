"""Kernels of lodkit/ops/attention_lstm.py: each step takes all sequences that are not at their end, at once.

Sequences stand longest first, so that those of a step are the first rows. Products are the array library's; the softmax
of scores and the sum that they weigh are primitives of the device.
"""

from __future__ import annotations

import numpy as np

from ... import ops
from ...arrays import native
from ...lod import LoDTensor, freeze
from ...lod.offsets import lengths_to_offsets
from ...ops.attention_lstm import prepare
from ...ops.shared.recurrent import Steps
from ...registry import Dense
from .array_api import activate


def _sort_by_length(offsets, order):
    """The rows of x with the longest sequence first, and the offsets of the sequences in that order."""
    lengths = np.diff(offsets)[order]
    ends = lengths_to_offsets(lengths)
    return np.repeat(offsets[order] - ends[:-1], lengths) + np.arange(ends[-1]), freeze(ends)


class _Attention:
    """The mean of the rows of the first sequences, by scores that a cell adds to."""

    def __init__(self, on, xp, x, ends, scores, scale, shift):
        self.on, self.xp, self.x, self.ends = on, xp, x, ends
        self.scores, self.scale, self.shift = scores, scale, shift
        segments = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        self.segments, self.offsets = on.namespace_and_arrays(on.send(x, segments))[1], ends

    def mean(self, by_cell):
        """Of the first sequences, one for each number."""
        on, xp, count = self.on, self.xp, by_cell.shape[0]
        if len(self.offsets) != count + 1:
            # One array per count, so that offsets are sent once.
            self.offsets = freeze(self.ends[: count + 1].copy())
        n = int(self.offsets[-1])
        scores = self.scores[:n] + xp.take(by_cell, self.segments[:n], axis=0)
        scores = activate(xp, "relu", scores)
        if self.scale is not None:
            scores = activate(xp, "relu", scores * self.scale + self.shift)
        scores = on.to_contiguous(scores)
        shares = on.output((n,), self.x.dtype, None, self.x)
        on.softmax_rows(scores, self.offsets, False, shares)
        mean = on.reduce_into(on.part(self.x, 0, n), None, shares, None, self.offsets, "sum", 0.0)
        return on.namespace_and_arrays(mean)[1]


@ops.attention_lstm.kernel("cpu", "cuda")
def attention_lstm(
    on,
    x: LoDTensor,
    c0,
    attention_weight,
    weight,
    bias,
    h0: Dense | None,
    attention_bias: Dense | None,
    attention_scalar: Dense | None,
    attention_scalar_bias: Dense | None,
    /,
    *,
    level,
    gate_activation,
    cell_activation,
    candidate_activation,
):
    numbers = attention_bias, attention_scalar, attention_scalar_bias
    sizes = prepare(x, c0, attention_weight, weight, bias, h0, *numbers, level)
    steps = Steps(sizes.offsets, False)
    rows, ends = _sort_by_length(sizes.offsets, steps.order)
    if not len(rows) or not sizes.size:
        nothing = (on.zeros((len(rows), sizes.size), native(x.dtype), x.values) for _ in range(2))
        return tuple(map(x.with_values, nothing))
    kind = np.dtype(np.float32) if native(x.dtype) == np.float16 else native(x.dtype)
    source = on.to_contiguous(on.convert(on.take(x.values, on.send(x.values, rows)), kind))
    xp, values, cell, attend, w, add = on.namespace_and_arrays(source, c0, attention_weight, weight, bias)
    added, scale, shift = (
        None if each is None else xp.reshape(on.namespace_and_arrays(each)[1], (1,)) for each in numbers
    )
    attend, add = xp.reshape(attend, (-1,)), xp.reshape(add, (1, -1))
    first = on.namespace_and_arrays(on.send(x.values, steps.order))[1]
    cell = xp.take(cell, first, axis=0)
    hidden = xp.zeros_like(cell) if h0 is None else xp.take(on.namespace_and_arrays(h0)[1], first, axis=0)
    results = []
    with np.errstate(all="ignore"):
        scores = on.multiply_arrays(xp, values, attend[: sizes.width])
        scores = scores if added is None else scores + added
        shift = 0 if shift is None else shift
        attention = _Attention(on, xp, source, ends, scores, scale, shift)
        for count in steps.counts:
            cell, hidden = cell[:count], hidden[:count]
            mean = attention.mean(on.multiply_arrays(xp, cell, attend[sizes.width :]))
            gates = (
                on.multiply_arrays(xp, hidden, w[: sizes.size]) + on.multiply_arrays(xp, mean, w[sizes.size :]) + add
            )
            opened = activate(xp, gate_activation, gates[:, : 3 * sizes.size])
            forget_gate, input_gate, output_gate = (
                opened[:, i : i + sizes.size] for i in range(0, 3 * sizes.size, sizes.size)
            )
            cell = forget_gate * cell + input_gate * activate(xp, candidate_activation, gates[:, 3 * sizes.size :])
            hidden = output_gate * activate(xp, cell_activation, cell)
            results.append((hidden, cell))
    at = on.send(x.values, steps.places)
    found = (on.take(on.to_contiguous(xp.concat([*states])), at) for states in zip(*results, strict=True))
    with np.errstate(over="ignore"):
        return tuple(x.with_values(on.convert(states, native(x.dtype))) for states in found)
