"""A step of an LSTM cell and its gradient, over vectors, for all devices."""

from __future__ import annotations

from ...jit import jitable, simd
from .gates import SIGMOID, TANH, slope


@jitable(inline=True)
def step(input_gate, forget_gate, output_gate, candidate, cell):
    """The cell and the hidden state, from the sums of the gates and the cell before."""
    entering = simd.mul(simd.sigmoid(input_gate), simd.tanh(candidate))
    new = simd.fma(simd.sigmoid(forget_gate), cell, entering)
    return new, simd.mul(simd.sigmoid(output_gate), simd.tanh(new))


@jitable(inline=True)
def step_grad(input_gate, forget_gate, output_gate, candidate, cell, new, by_new, by_hidden):
    """Gradients by the five, from those by the results."""
    input_gate, forget_gate, output_gate = (
        simd.sigmoid(input_gate),
        simd.sigmoid(forget_gate),
        simd.sigmoid(output_gate),
    )
    candidate, squashed = simd.tanh(candidate), simd.tanh(new)
    by_new = simd.add(by_new, slope(TANH, squashed, simd.mul(by_hidden, output_gate)))
    by_input = slope(SIGMOID, input_gate, simd.mul(by_new, candidate))
    by_forget = slope(SIGMOID, forget_gate, simd.mul(by_new, cell))
    by_output = slope(SIGMOID, output_gate, simd.mul(by_hidden, squashed))
    by_candidate = slope(TANH, candidate, simd.mul(by_new, input_gate))
    return by_input, by_forget, by_output, by_candidate, simd.mul(by_new, forget_gate)
