"""Recurrent layers against PyTorch's over packed sequences: states, last states, and gradients through both."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lodkit
import lodkit.interop.torch as bridge
from lodkit import LoDTensor
from lodkit.registry.public_call import side_by_side

LENGTHS, WIDTH, SIZE = [4, 2, 7], 3, 5
#: Gates of PyTorch's weights in the order of lodkit's columns.
ORDERS = {"LSTM": (2, 0, 1, 3), "GRU": (1, 0, 2), "RNN": (0,)}
LAYERS = {"LSTM": "lstm", "GRU": "gru", "RNN": "simple_rnn"}
ATTRS = {"LSTM": {}, "GRU": {"origin_mode": True, "reset_after": True}, "RNN": {}}


def net_of(name, **options):
    torch.manual_seed(0)
    return getattr(torch.nn, name)(WIDTH, SIZE, **options).double()


def columns(parts, order):
    """PyTorch's rows of a weight, or its bias, as columns of the gates in an order, as recurrent-layers.md has it."""
    blocks = parts.detach().numpy().reshape(len(order), SIZE, -1)
    return np.concatenate([blocks[k].T for k in order], axis=-1)


def weights_of(name, net):
    """The weights of each layer and direction, in PyTorch's order."""
    for wide, weight, bias, other in zip(*[iter(net.parameters())] * 4, strict=True):
        wide, weight, bias, other = (columns(p, ORDERS[name]) for p in (wide, weight, bias, other))
        bias, other = bias.ravel(), other.ravel()
        if name == "GRU":  # the candidate's product is reset together with its bias
            joined = np.concatenate([bias[: 2 * SIZE] + other[: 2 * SIZE], bias[2 * SIZE :], other[2 * SIZE :]])
        yield wide, weight, joined if name == "GRU" else bias + other


def batch():
    return LoDTensor(np.random.default_rng(0).normal(size=(sum(LENGTHS), WIDTH)), [LENGTHS])


def states_of(name, layers=1):
    """States before the first step, as PyTorch numbers them."""
    return [np.random.default_rng(1).normal(size=(layers, len(LENGTHS), SIZE)) for _ in range(1 + (name == "LSTM"))]


def run_torch(net, values, states):
    """The states of all rows, in the order of x, and the last ones: of one layer and direction a matrix each."""
    packed = torch.nn.utils.rnn.pack_sequence([*values.split(LENGTHS)], enforce_sorted=False)
    out, last = net(packed, states[0] if len(states) == 1 else tuple(states))
    padded, _ = torch.nn.utils.rnn.pad_packed_sequence(out)
    return torch.cat([padded[:n, i] for i, n in enumerate(LENGTHS)]), *(last if isinstance(last, tuple) else (last,))


def close(found, expected):
    for f, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(f, e, rtol=1e-9, atol=1e-11)


def values_of(x):
    return x.values if isinstance(x, LoDTensor) else x


@pytest.mark.parametrize("name", LAYERS)
def test_states_last_states_and_gradients_are_pytorchs(name):
    net, op, x, states = net_of(name), getattr(lodkit, LAYERS[name]), batch(), states_of(name)
    given = [torch.from_numpy(a).requires_grad_() for a in (x.values, *states)]
    expected = run_torch(net, given[0], given[1:])
    by = [np.random.default_rng(2 + i).normal(size=tuple(r.shape)) for i, r in enumerate(expected)]
    torch.autograd.backward(expected, [*map(torch.from_numpy, by)])
    (weights,) = weights_of(name, net)
    sources = [x, *(lodkit.parameter(state[0]) for state in states)]
    with lodkit.Tape() as tape:
        result = op(x, *weights, *sources[1:], **ATTRS[name])
    out, last = result
    close([out.values, *side_by_side(last)], [expected[0].detach(), *(e[0].detach() for e in expected[1:])])
    grads = tape.gradient(side_by_side(result), sources, [by[0], *(b[0] for b in by[1:])])
    close(map(values_of, grads), [given[0].grad, *(g.grad[0] for g in given[1:])])


@pytest.mark.parametrize("name", LAYERS)
def test_a_gradient_through_the_last_states_alone(name):
    """What a classifier trains by; under torch.autograd too, which sees nothing else of the layer."""
    net, op, x, states = net_of(name), getattr(bridge, LAYERS[name]), batch(), states_of(name)
    values = torch.from_numpy(x.values).requires_grad_()
    last = run_torch(net, values, [*map(torch.from_numpy, states)])[1:]
    torch.stack(last).square().sum().backward()
    (weights,) = weights_of(name, net)
    ours = torch.from_numpy(x.values).requires_grad_()
    result = op(bridge.ragged(ours, LENGTHS), *weights, *(s[0] for s in states), **ATTRS[name])
    assert len(result) == 2
    torch.stack(side_by_side(result[1])).square().sum().backward()
    close([ours.grad], [values.grad])


@pytest.mark.parametrize("name", LAYERS)
def test_both_directions_and_layers_are_numbered_as_pytorchs(name):
    """The reverse direction ends at the first row; ``last`` is in the order of ``h_n``."""
    net = net_of(name, num_layers=2, bidirectional=True)
    op, x, states = getattr(lodkit, LAYERS[name]), batch(), states_of(name, 4)
    values = torch.from_numpy(x.values).requires_grad_()
    expected = run_torch(net, values, [*map(torch.from_numpy, states)])
    by = [np.random.default_rng(2 + i).normal(size=tuple(r.shape)) for i, r in enumerate(expected)]
    torch.autograd.backward(expected, [*map(torch.from_numpy, by)])
    given = [(*weights, *(s[k] for s in states)) for k, weights in enumerate(weights_of(name, net))]
    with lodkit.Tape() as tape:
        out, last = lodkit.stacked(op, x, given[:2], given[2:], **ATTRS[name])
    found = last if name == "LSTM" else (last,)
    close([out.values, *map(np.stack, found)], [e.detach() for e in expected])
    (by_x,) = tape.gradient(side_by_side((out, last)), [x], [by[0], *(rows for b in by[1:] for rows in b)])
    close([by_x.values], [values.grad])
    below = lodkit.bidirectional(op, x, *given[:2], **ATTRS[name])[1]
    close([np.stack(s) for s in (below if name == "LSTM" else (below,))], [e[:2].detach() for e in expected[1:]])


def test_tensors_give_tensors_and_nothing_else():
    x, weight = bridge.ragged(torch.ones(3, 8, requires_grad=True), [2, 1]), torch.ones(2, 8)
    for result in (lodkit.lstm(x.with_values(x.values.detach()), None, weight), bridge.lstm(x, None, weight)):
        out, (hidden, cell) = result
        assert isinstance(out.values, torch.Tensor)
        assert tuple(hidden.shape) == tuple(cell.shape) == (2, 2)
        assert isinstance(hidden, torch.Tensor)
        assert isinstance(cell, torch.Tensor)


def test_a_compiled_graph_has_them_too():
    weights, sizes = [torch.randn(4, 12), torch.randn(3, 12)], [2, 0, 4]
    levels = bridge.ragged(torch.zeros(6, 4), sizes)._lod

    def run(values):
        x = LoDTensor._wrap(values, levels) if torch.compiler.is_compiling() else bridge.ragged(values, sizes)
        out, (hidden, cell) = bridge.lstm(x, *weights)
        return out.values.sum() + (hidden * cell).sum(), hidden

    values = torch.randn(6, 4, requires_grad=True)
    expected = run(values)
    (by,) = torch.autograd.grad(expected[0], values)
    torch._dynamo.reset()
    found = torch.compile(run, fullgraph=True, backend="aot_eager")(values)
    torch.testing.assert_close(found[1], expected[1])
    torch.testing.assert_close(torch.autograd.grad(found[0], values)[0], by)
