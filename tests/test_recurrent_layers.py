"""Recurrent layers: a batch equals its sequences one by one, at every level; gradients; PyTorch's layers."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor
from lodkit.recurrent import stacked

LAYERS = {
    "lstm": (lodkit.lstm, 4, {}),
    "lstm reversed, clipped": (lodkit.lstm, 4, {"reverse": True, "cell_clip": 0.5}),
    "gru": (lodkit.gru, 3, {}),
    "gru as PyTorch's": (lodkit.gru, 3, {"origin_mode": True, "reset_after": True}),
    "simple_rnn": (lodkit.simple_rnn, 1, {"reverse": True}),
}
STATES = {"lstm": 2, "gru": 1, "simple_rnn": 1}


@pytest.fixture(params=LAYERS)
def layer(request):
    return LAYERS[request.param]


def drawn(op, gates, sequences, seed=0, width=3, size=5):
    """Weights, a bias and initial states."""
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=shape) for shape in ((width, gates * size), (size, gates * size), gates * size)]
    return weights, [rng.normal(size=(sequences, size)) for _ in range(STATES[op.name])]


def hidden(result):
    return (result[0] if isinstance(result, tuple) else result).values


def run_alone(op, x, weights, states, attrs, level=-1):
    """Run every sequence of a level as a batch of its own, in one level."""
    found = []
    for s, (start, stop) in enumerate(zip(x.row_offsets(level)[:-1], x.row_offsets(level)[1:], strict=True)):
        one = LoDTensor(x.values[start:stop], [[stop - start]])
        found.append(hidden(op(one, *weights, *(state[s : s + 1] for state in states), **attrs)))
    return np.concatenate(found)


@pytest.mark.parametrize("lengths", [[3, 0, 7, 1, 1, 0, 12], [0], [5], [0, 0, 2]])
def test_a_batch_equals_its_sequences_one_by_one(layer, lengths):
    op, gates, attrs = layer
    weights, states = drawn(op, gates, len(lengths))
    x = LoDTensor(np.random.default_rng(1).normal(size=(sum(lengths), 3)), [lengths])
    result = hidden(op(x, *weights, *states, **attrs))
    np.testing.assert_allclose(result, run_alone(op, x, weights, states, attrs), rtol=1e-12, atol=1e-14)


def test_the_order_of_sequences_does_not_matter(layer):
    op, gates, attrs = layer
    lengths = np.array([4, 0, 9, 4, 1])
    weights, states = drawn(op, gates, len(lengths))
    x = LoDTensor(np.random.default_rng(1).normal(size=(18, 3)), [lengths])
    order = np.array([2, 4, 1, 3, 0])
    moved = x[order]
    result = hidden(op(moved, *weights, *(state[order] for state in states), **attrs))
    expected = x.with_values(hidden(op(x, *weights, *states, **attrs)))[order].values
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("level", [0, 1, 2, -1])
def test_layers_walk_any_level(layer, level):
    op, gates, attrs = layer
    x = LoDTensor(np.random.default_rng(1).normal(size=(11, 3)), [[2, 1], [2, 0, 3], [3, 1, 0, 5, 2]])
    weights, states = drawn(op, gates, len(x.row_offsets(level)) - 1)
    out = op(x, *weights, *states, level=level, **attrs)
    assert (out[0] if isinstance(out, tuple) else out).same_lod(x)
    expected = run_alone(op, x, weights, states, attrs, level)
    np.testing.assert_allclose(hidden(out), expected, rtol=1e-12, atol=1e-14)


def test_long_batches_in_float32_agree_with_double_precision(layer):
    """As many rows as run in parallel, steps of one row, and widths that fill no vector."""
    op, gates, attrs = layer
    rng = np.random.default_rng(0)
    lengths = np.minimum(rng.pareto(1.1, 64) * 8 + 1, 200).astype(int)
    weights, states = drawn(op, gates, 64, width=21, size=37)
    weights = [w / 6 for w in weights]
    x = LoDTensor(rng.normal(size=(int(lengths.sum()), 21)), [lengths])
    exact = hidden(op(x, *weights, *states, **attrs))
    single = [a.astype(np.float32) for a in (*weights, *states)]
    found = hidden(op(x.with_values(x.values.astype(np.float32)), *single, **attrs))
    np.testing.assert_allclose(found, exact, rtol=1e-3, atol=1e-5)


def test_gradients_by_cells_are_central_differences():
    weights, states = drawn(lodkit.lstm, 4, 3)
    x = LoDTensor(np.random.default_rng(1).normal(size=(7, 3)), [[4, 0, 3]])
    by_hidden, by_cell = np.random.default_rng(2).normal(size=(2, 7, 5))
    sources = [x.values, *weights, *states]

    def loss(*given):
        h, c, _ = lodkit.lstm(x.with_values(given[0]), *given[1:], cell_clip=1.0)
        return float((h.values * by_hidden).sum() + (c.values * by_cell).sum())

    with lodkit.Tape() as tape:
        h, c, _ = lodkit.lstm(x, *weights, *states, cell_clip=1.0)
    found = tape.gradient([h, c], [x, *weights, *states], output_gradients=[by_hidden, by_cell])
    for i, gradient in enumerate(found):
        gradient = getattr(gradient, "values", gradient)
        for place in [(0,) * gradient.ndim, tuple(n - 1 for n in gradient.shape)]:
            step = np.zeros(gradient.shape)
            step[place] = 1e-6
            moved = [[*sources[:i], sources[i] + sign * step, *sources[i + 1 :]] for sign in (1, -1)]
            assert gradient[place] == pytest.approx((loss(*moved[0]) - loss(*moved[1])) / 2e-6, rel=1e-6, abs=1e-8)


def test_infinities_and_nan_stay_in_their_sequences(layer):
    op, gates, attrs = layer
    weights, states = drawn(op, gates, 3)
    values = np.random.default_rng(1).normal(size=(9, 3))
    values[4] = np.nan
    x = LoDTensor(values, [[3, 3, 3]])
    out = hidden(op(x, *weights, *states, **attrs))
    assert np.isfinite(out[:3]).all() and np.isfinite(out[6:]).all() and np.isnan(out[4]).any()


def test_gradients_do_not_hide_nan_or_what_has_none():
    x = LoDTensor(np.full((1, 4), np.nan), [[1]])
    weight = np.ones((1, 4))
    with lodkit.Tape() as tape:
        h, _, gates = lodkit.lstm(x, None, weight)
    assert np.isnan(tape.gradient(h, [x])[0].values).all()
    with pytest.raises(lodkit.LodkitError, match="no gradient by its gates"):
        tape.gradient(gates, [x])


def test_what_does_not_fit_is_named():
    x = LoDTensor(np.zeros((3, 8)), [[2, 1]])
    with pytest.raises(lodkit.ShapeMismatchError, match=r"input weight has shape \(3, 8\)"):
        lodkit.lstm(x, np.zeros((3, 8)), np.zeros((2, 8)))
    with pytest.raises(lodkit.ShapeMismatchError, match=r"projection must be \(2, 3\)"):
        lodkit.lstm(x, None, np.zeros((3, 8)))
    with pytest.raises(lodkit.ShapeMismatchError, match="must have 8 or 14 elements"):
        lodkit.lstm(x, None, np.zeros((2, 8)), np.zeros(9))
    with pytest.raises(lodkit.ShapeMismatchError, match=r"h0 has shape \(3, 2\), it must be \(2, 2\)"):
        lodkit.lstm(x, None, np.zeros((2, 8)), None, np.zeros((3, 2)))
    with pytest.raises(ValueError, match="cell_clip must be at least 0"):
        lodkit.lstm(x, None, np.zeros((2, 8)), cell_clip=-1.0)
    with pytest.raises(lodkit.DTypeError, match="weight is float32"):
        lodkit.lstm(x, None, np.zeros((2, 8), np.float32))
    with pytest.raises(ValueError, match="weight_layout is columns"):
        lodkit.gru(
            LoDTensor(np.zeros((3, 6)), [[2, 1]]), None, np.zeros((2, 6)), reset_after=True, weight_layout="blocks"
        )


@pytest.mark.parametrize("dtype", [bool, int, complex, object, str])
@pytest.mark.parametrize("what", ["hidden", "cell", "gates"])
def test_gradients_read_floating_results(what, dtype):
    x = LoDTensor(np.zeros((3, 4)), [[2, 1]])
    results = dict(zip(("hidden", "cell", "gates"), np.split(np.zeros((3, 6)), [1, 2], axis=1), strict=True))
    results[what] = results[what].astype(dtype)
    with pytest.raises(lodkit.DTypeError, match=f"reads the {what} of the layer, takes float16"):
        lodkit.lstm_grad(x, None, np.ones((1, 4)), None, None, None, None, *results.values(), np.ones((3, 1)), None)


def test_gradients_by_cells_are_numbers():
    x, one = LoDTensor(np.zeros((3, 4)), [[2, 1]]), np.ones((3, 1))
    given = (x, None, np.ones((1, 4)), None, None, None, None, one, one, np.zeros((3, 4)), one)
    with pytest.raises(lodkit.DTypeError, match="grad_cell must hold floating numbers"):
        lodkit.lstm_grad(*given, one.astype(complex))
    with pytest.raises(lodkit.ShapeMismatchError, match="grad_cell has shape"):
        lodkit.lstm_grad(*given, one[:1])


def test_clips_that_64_bits_do_not_hold():
    x, weight = LoDTensor(np.ones((3, 4)), [[2, 1]]), np.ones((1, 4))
    clipped = lodkit.lstm(
        x, None, weight, None, None, None, np.ones((1, 1)), cell_clip=1 << 70, projection_clip=1 << 70
    )
    assert clipped[1].equals(lodkit.lstm(x, None, weight, None, None, None, np.ones((1, 1)))[1])


def test_paddle_has_no_gradient_of_cells():
    x = LoDTensor(np.random.default_rng(0).normal(size=(3, 8)), [[2, 1]])
    weight, bias = np.ones((2, 8)), np.ones((1, 8))
    with lodkit.Tape() as tape:
        out = lodkit.paddle.run_op("lstm", {"Input": x, "Weight": weight, "Bias": bias}, {"use_peepholes": False})
    assert not tape.gradient(out["Cell"], [weight])[0].any()
    with pytest.raises(lodkit.paddle.SlotError, match="use_peepholes=True takes a Bias of 14 elements"):
        lodkit.paddle.run_op("lstm", {"Input": x, "Weight": weight, "Bias": bias})


def torch_layer(name, size=5, width=3):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    return torch, getattr(torch.nn, name)(width, size).double()


def of_torch(parts, order):
    """Gates of PyTorch's weight, or bias, in another order; its weights are transposed."""
    size = len(parts) // len(order)
    blocks = [parts.detach().numpy()[k * size : (k + 1) * size].T for k in order]
    return np.concatenate(blocks, axis=-1)


@pytest.mark.parametrize("name", ["LSTM", "GRU", "RNN"])
def test_pytorchs_layers_give_the_same(name):
    """As docs/recurrent-layers.md converts their weights."""
    torch, net = torch_layer(name)
    order = {"LSTM": (2, 0, 1, 3), "GRU": (1, 0, 2), "RNN": (0,)}[name]
    wide, weight, bias, other = (of_torch(p, order) for p in net.parameters())
    lengths = [4, 2, 7]
    x = LoDTensor(np.random.default_rng(0).normal(size=(13, 3)), [lengths])
    parts = [torch.from_numpy(s) for s in x]
    packed = torch.nn.utils.rnn.pack_sequence(parts, enforce_sorted=False)
    padded, _ = torch.nn.utils.rnn.pad_packed_sequence(net(packed)[0])
    expected = np.concatenate([padded[:n, i].detach().numpy() for i, n in enumerate(lengths)])
    if name == "LSTM":
        out = lodkit.lstm(x, wide, weight, bias + other)[0]
    elif name == "RNN":
        out = lodkit.simple_rnn(x, wide, weight, bias + other)
    else:  # PyTorch's update gate keeps the state, and its candidate is reset after the product, with a bias
        joined = np.concatenate([bias[:10] + other[:10], bias[10:], other[10:]])
        out = lodkit.gru(x, wide, weight, joined, origin_mode=True, reset_after=True)[0]
    np.testing.assert_allclose(out.values, expected, rtol=1e-10, atol=1e-12)


def test_stacked_and_bidirectional_layers_are_pytorchs():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    net = torch.nn.LSTM(3, 4, num_layers=2, bidirectional=True).double()
    parts = [of_torch(p, (2, 0, 1, 3)) for p in net.parameters()]
    ways = [(wide, weight, bias + other) for wide, weight, bias, other in zip(*[iter(parts)] * 4, strict=True)]
    x = LoDTensor(np.random.default_rng(0).normal(size=(7, 3)), [[7]])
    with lodkit.Tape() as tape:
        out = stacked(lodkit.lstm, x, (ways[0], ways[1]), (ways[2], ways[3]))
    given = torch.from_numpy(x.values).requires_grad_()
    expected = net(given)[0]
    expected.sum().backward()
    np.testing.assert_allclose(out.values, expected.detach().numpy(), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(tape.gradient(out, [x])[0].values, given.grad.numpy(), rtol=1e-9, atol=1e-11)
