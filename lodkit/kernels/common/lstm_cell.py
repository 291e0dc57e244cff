"""A step of an LSTM cell and its gradient, over vectors, for all devices."""

from __future__ import annotations

from ...jit import jitable, simd


@jitable(inline=True)
def _slope(y):
    return simd.mul(y, simd.sub(simd.like(y, 1), y))


@jitable(inline=True)
def _tanh_slope(y):
    return simd.sub(simd.like(y, 1), simd.mul(y, y))


@jitable(inline=True)
def step(enter, keep, leave, candidate, cell):
    """The cell and the hidden state, from the sums of the gates and the cell before."""
    entering = simd.mul(simd.sigmoid(enter), simd.tanh(candidate))
    new = simd.fma(simd.sigmoid(keep), cell, entering)
    return new, simd.mul(simd.sigmoid(leave), simd.tanh(new))


@jitable(inline=True)
def step_grad(enter, keep, leave, candidate, cell, new, by_new, by_hidden):
    """Gradients by the five, from those by the results."""
    enter, keep, leave, candidate = simd.sigmoid(enter), simd.sigmoid(keep), simd.sigmoid(leave), simd.tanh(candidate)
    squashed = simd.tanh(new)
    by_new = simd.fma(simd.mul(by_hidden, leave), _tanh_slope(squashed), by_new)
    by_enter = simd.mul(simd.mul(by_new, candidate), _slope(enter))
    by_keep = simd.mul(simd.mul(by_new, cell), _slope(keep))
    by_leave = simd.mul(simd.mul(by_hidden, squashed), _slope(leave))
    by_candidate = simd.mul(simd.mul(by_new, enter), _tanh_slope(candidate))
    return by_enter, by_keep, by_leave, by_candidate, simd.mul(by_new, keep)
