"""Gates of recurrent layers, as steps over vectors, for all devices. Activations are numbers in ACTIVATIONS."""

from __future__ import annotations

from ...jit import jitable, simd
from ...ops.shared.recurrent import ACTIVATIONS

RELU, SIGMOID, TANH = map(ACTIVATIONS.index, ("relu", "sigmoid", "tanh"))
_NUMBERS = {"identity": ACTIVATIONS.index("identity"), "relu": RELU, "sigmoid": SIGMOID, "tanh": TANH}


def number_functions(*names):
    """The numbers of activations that the functions below know."""
    return tuple(_NUMBERS[name] for name in names)


@jitable(inline=True)
def activate(kind, x):
    if kind == SIGMOID:
        return simd.sigmoid(x)
    if kind == TANH:
        return simd.tanh(x)
    if kind == RELU:
        return simd.maximum(x, simd.like(x, 0))
    return x


@jitable(inline=True)
def sigmoid_backward(y, g):
    return simd.mul(g, simd.mul(y, simd.sub(simd.like(y, 1), y)))


@jitable(inline=True)
def tanh_backward(y, g):
    return simd.mul(g, simd.sub(simd.like(y, 1), simd.mul(y, y)))


@jitable(inline=True)
def relu_backward(y, g):
    return simd.zero_unless_positive(g, y)


@jitable(inline=True)
def slope(kind, y, g):
    """``g`` times the derivative of an activation, from its result y."""
    if kind == SIGMOID:
        return sigmoid_backward(y, g)
    if kind == TANH:
        return tanh_backward(y, g)
    if kind == RELU:
        return relu_backward(y, g)
    return g


@jitable(inline=True)
def clip(x, bound):
    bound = simd.like(x, bound)
    return simd.minimum(simd.maximum(x, simd.sub(simd.like(x, 0), bound)), bound)


@jitable(inline=True)
def clip_grad(g, x, bound):
    """``g`` where x is inside the bound, else 0; everywhere without a bound, which is infinite then."""
    if bound + bound == bound:
        return g
    size = simd.maximum(x, simd.sub(simd.like(x, 0), x))
    return simd.zero_unless_positive(g, simd.sub(simd.like(x, bound), size))


@jitable(inline=True)
def lstm_step(sums, before, peepholes, kinds, limit):
    """One step of an LSTM, from the sums of its gates, the cell before and the peepholes.

    Returns the four gates, the cell and the hidden state.
    """
    candidate, input_gate, forget_gate, output_gate = sums
    to_input, to_forget, to_output = peepholes
    gate, candidate_kind, cell_kind = kinds
    candidate = activate(candidate_kind, candidate)
    input_gate = activate(gate, simd.fma(before, to_input, input_gate))
    forget_gate = activate(gate, simd.fma(before, to_forget, forget_gate))
    cell = clip(simd.fma(before, forget_gate, simd.mul(candidate, input_gate)), limit)
    output_gate = activate(gate, simd.fma(cell, to_output, output_gate))
    hidden = simd.mul(output_gate, activate(cell_kind, cell))
    return (candidate, input_gate, forget_gate, output_gate), cell, hidden


@jitable(inline=True)
def lstm_step_grad(gates, cell, before, g, by_cell, peepholes, kinds, limit):
    """The gradients of a step by the sums of its gates and by the cell before, from those by its hidden state and cell.

    The hidden state is returned too, last.
    """
    candidate, input_gate, forget_gate, output_gate = gates
    to_input, to_forget, to_output = peepholes
    gate, candidate_kind, cell_kind = kinds
    y = activate(cell_kind, cell)
    by_output = slope(gate, output_gate, simd.mul(g, y))
    by_cell = simd.add(by_cell, slope(cell_kind, y, simd.mul(g, output_gate)))
    by_cell = clip_grad(simd.fma(by_output, to_output, by_cell), cell, limit)
    by_candidate = slope(candidate_kind, candidate, simd.mul(by_cell, input_gate))
    by_input = slope(gate, input_gate, simd.mul(by_cell, candidate))
    by_forget = slope(gate, forget_gate, simd.mul(by_cell, before))
    by_before = simd.fma(by_input, to_input, simd.fma(by_forget, to_forget, simd.mul(by_cell, forget_gate)))
    return (by_candidate, by_input, by_forget, by_output), by_before, simd.mul(output_gate, y)


@jitable(inline=True)
def gru_mix(update, candidate, before, origin_mode):
    """The state of a GRU: the candidate in the share of the update gate, the state before in the rest; or the reverse.

    Not by way of their difference, in which a large state drowns the candidate.
    """
    rest = simd.sub(simd.like(update, 1), update)
    if origin_mode:
        return simd.fma(update, before, simd.mul(rest, candidate))
    return simd.fma(update, candidate, simd.mul(rest, before))


@jitable(inline=True)
def gru_mix_grad(update, candidate, before, g, origin_mode):
    """The gradients of ``gru_mix`` by its three vectors."""
    share, rest = simd.mul(g, update), simd.mul(g, simd.sub(simd.like(update, 1), update))
    if origin_mode:
        return simd.mul(g, simd.sub(before, candidate)), rest, share
    return simd.mul(g, simd.sub(candidate, before)), share, rest


@jitable(inline=True)
def step_lstm(input_gate, forget_gate, output_gate, candidate, cell):
    """The cell and the hidden state of an LSTM, from the sums of the gates and the cell before."""
    entering = simd.mul(simd.sigmoid(input_gate), simd.tanh(candidate))
    new = simd.fma(simd.sigmoid(forget_gate), cell, entering)
    return new, simd.mul(simd.sigmoid(output_gate), simd.tanh(new))


@jitable(inline=True)
def step_lstm_grad(input_gate, forget_gate, output_gate, candidate, cell, new, by_new, by_hidden):
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
