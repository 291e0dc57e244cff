"""Recurrent layers: a batch equals its sequences one by one, at every level; gradients; PyTorch's layers."""

from __future__ import annotations

import itertools
import typing

import numpy as np
import pytest
from differences import parameters
from test_every_op import same_bits

import lodkit
from lodkit import LoDTensor
from lodkit.lod import values_of

SIZE = 5


class Layer(typing.NamedTuple):
    """An operator, its gates, elements of its bias by the size, how many states it has, and the size of its output."""

    op: typing.Any
    gates: int
    bias: int
    states: int
    attrs: dict
    out: int = SIZE

    def drawn(self, sequences, width=3, size=SIZE):
        """Weights, a bias and a projection; and initial states."""
        rng, out = np.random.default_rng(0), size if self.out == SIZE else self.out
        shapes = [(width, self.gates * size), (out, self.gates * size), self.bias * size]
        shapes += [(size, out)] if self.out != SIZE else []
        states = [(sequences, out), (sequences, size)][: self.states]
        return [rng.normal(size=shape) for shape in shapes], [rng.normal(size=shape) for shape in states]

    def __call__(self, x, weights, states, **attrs):
        """Return the states of all steps, of an LSTM the cells too, and the last ones: all that has a gradient."""
        found = self.op.full(x, *weights[:3], *states, *weights[3:], **self.attrs, **attrs)
        return [*found] if self.op is lodkit.simple_rnn else [*found[:-1]]

    def differentiated(self, x, weights, states, **attrs):
        """Results, and the gradients of their sum of squares by x, by the weights and by the states, as arrays."""
        weights, states = parameters(weights), parameters(states)
        with lodkit.Tape() as tape:
            results = self(x, weights, states, **attrs)
        values = [*map(values_of, results)]
        grads = tape.gradient(results, [x, *weights, *states], output_gradients=[2 * rows for rows in values])
        by_x, *others = map(values_of, grads)
        return values, by_x, others[: len(weights)], others[len(weights) :]


LAYERS = {
    "lstm": Layer(lodkit.lstm, 4, 4, 2, {}),
    "lstm reversed, clipped, with peepholes": Layer(lodkit.lstm, 4, 7, 2, {"reverse": True, "cell_clip": 0.5}),
    "lstm with a projection": Layer(lodkit.lstm, 4, 7, 2, {"projection_activation": "tanh"}, SIZE - 1),
    "gru": Layer(lodkit.gru, 3, 3, 1, {}),
    "gru as PyTorch's": Layer(lodkit.gru, 3, 4, 1, {"origin_mode": True, "reset_after": True}),
    "simple_rnn": Layer(lodkit.simple_rnn, 1, 1, 1, {"reverse": True}),
}


@pytest.fixture(params=LAYERS)
def layer(request):
    return LAYERS[request.param]


def close(got, expected):
    for g, e in zip(got, expected, strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-10, atol=1e-12)


def check_alone(layer, x, level=-1):
    """Hold a batch to its sequences: each of a level is a batch of its own, in one level."""
    offsets = x.row_offsets(level)
    weights, states = layer.drawn(len(offsets) - 1)
    results, by_x, by_weights, by_states = layer.differentiated(x, weights, states, level=level)
    alone = [
        layer.differentiated(LoDTensor(x.values[a:b], [[b - a]]), weights, [state[s : s + 1] for state in states])
        for s, (a, b) in enumerate(itertools.pairwise(offsets))
    ]
    ones, by_ones, shares, by_first = zip(*alone, strict=True)
    close(results, map(np.concatenate, zip(*ones, strict=True)))
    close([by_x], [np.concatenate(by_ones)])
    close(by_weights, map(sum, zip(*shares, strict=True)))
    close(by_states, map(np.concatenate, zip(*by_first, strict=True)))


@pytest.mark.parametrize("lengths", [[3, 0, 7, 1, 1, 0, 12], [0], [5], [0, 0, 2]])
def test_a_batch_equals_its_sequences_one_by_one(layer, lengths):
    check_alone(layer, LoDTensor(np.random.default_rng(1).normal(size=(sum(lengths), 3)), [lengths]))


def test_the_order_of_sequences_does_not_matter(layer):
    lengths = np.array([4, 0, 9, 4, 1])
    weights, states = layer.drawn(len(lengths))
    x = LoDTensor(np.random.default_rng(1).normal(size=(18, 3)), [lengths])
    order = np.array([2, 4, 1, 3, 0])
    results, by_x, by_weights, by_states = layer.differentiated(x, weights, states)
    moved = layer.differentiated(x[order], weights, [state[order] for state in states])
    expected = [rows[order] if len(rows) == 5 else x.with_values(rows)[order].values for rows in (*results, by_x)]
    close([*moved[0], moved[1]], expected)
    close([*moved[2], *moved[3]], [*by_weights, *(by[order] for by in by_states)])


def last_of(layer, x, weights, states):
    """What a user gets beside the states of all steps, as a list."""
    result = layer.op(x, *weights[:3], *states, *weights[3:], **layer.attrs)
    assert type(result) is tuple
    assert len(result) == 2
    assert isinstance(result[0], LoDTensor)
    assert isinstance(result[1], tuple) == (layer.op is lodkit.lstm)
    return [*result[1]] if isinstance(result[1], tuple) else [result[1]]


def test_a_call_returns_the_last_state_of_each_sequence(layer):
    """Not the gates, which its gradient reads; of an empty sequence the state before the first step, or zeros."""
    x = LoDTensor(np.random.default_rng(1).normal(size=(9, 3)), [[3, 0, 4, 0, 2]])
    weights, states = layer.drawn(5)
    ends = [0, 3, 7] if layer.attrs.get("reverse") else [2, 6, 8]
    results = layer(x, weights, states)
    rows = [results[0].values, *(r.values for r in results[3:])]
    for given in (states, [None] * len(states)):
        last = last_of(layer, x, weights, given)
        assert [a.shape for a in last] == [state.shape for state in states]
        for found, state in zip(last, given, strict=True):
            np.testing.assert_array_equal(found[[1, 3]], 0 if state is None else state[[1, 3]])
    for found, every in zip(last_of(layer, x, weights, states), rows, strict=True):
        np.testing.assert_array_equal(found[[0, 2, 4]], every[ends])
    assert layer.op.infer(*(lodkit.VarDesc.of(a) for a in (x, *weights[:2])))[0].lod_level == 1


def test_last_states_go_on_where_a_call_has_ended(layer):
    rng, (weights, states) = np.random.default_rng(1), layer.drawn(3)
    x = LoDTensor(rng.normal(size=(12, 3)), [[5, 3, 4]])
    halves = lodkit.sequence_slice(x, [0] * 3, [2, 3, 1]), lodkit.sequence_slice(x, [2, 3, 1], [5, 3, 4])
    before, after = halves[::-1] if layer.attrs.get("reverse") else halves
    found = last_of(layer, after, weights, last_of(layer, before, weights, states))
    close(found, last_of(layer, x, weights, states))


@pytest.mark.parametrize("level", [0, 1, 2, -1])
def test_layers_walk_any_level(layer, level):
    x = LoDTensor(np.random.default_rng(1).normal(size=(11, 3)), [[2, 1], [2, 0, 3], [3, 1, 0, 5, 2]])
    check_alone(layer, x, level)
    results = layer(x, *layer.drawn(len(x.row_offsets(level)) - 1), level=level)
    above = x.lod()[: level % 3]
    assert [r.lod() if isinstance(r, LoDTensor) else [] for r in results] in (
        [x.lod(), above], [x.lod(), above, above, x.lod()],
    )  # fmt: skip


def test_long_batches_in_float32_agree_with_double_precision(layer):
    """As many rows as run in parallel, steps of one row, and widths that fill no vector."""
    rng = np.random.default_rng(0)
    lengths = np.minimum(rng.pareto(1.1, 64) * 8 + 1, 200).astype(int)
    weights, states = layer.drawn(64, width=21, size=37)
    weights = [w / 6 for w in weights]
    x = LoDTensor(rng.normal(size=(int(lengths.sum()), 21)), [lengths])
    single = [[a.astype(np.float32) for a in arrays] for arrays in (weights, states)]
    found = layer(x.with_values(x.values.astype(np.float32)), *single)
    for single, exact in zip(found, layer(x, weights, states), strict=True):
        np.testing.assert_allclose(values_of(single), values_of(exact), rtol=1e-3, atol=1e-5)


def test_gradients_by_cells_are_central_differences():
    weights, states = LAYERS["lstm"].drawn(3)
    x = LoDTensor(np.random.default_rng(1).normal(size=(7, 3)), [[4, 0, 3]])
    by_hidden, by_cell = np.random.default_rng(2).normal(size=(2, 7, 5))
    sources = [x.values, *weights, *states]

    def loss(*given):
        h, _, _, c, _ = lodkit.lstm.full(x.with_values(given[0]), *given[1:], cell_clip=1.0)
        return float((h.values * by_hidden).sum() + (c.values * by_cell).sum())

    variables = parameters([x, *weights, *states])
    with lodkit.Tape() as tape:
        h, _, _, c, _ = lodkit.lstm.full(*variables, cell_clip=1.0)
    found = tape.gradient([h, c], variables, output_gradients=[by_hidden, by_cell])
    for i, gradient in enumerate(found):
        gradient = getattr(gradient, "values", gradient)
        for place in [(0,) * gradient.ndim, tuple(n - 1 for n in gradient.shape)]:
            step = np.zeros(gradient.shape)
            step[place] = 1e-6
            moved = [[*sources[:i], sources[i] + sign * step, *sources[i + 1 :]] for sign in (1, -1)]
            assert gradient[place] == pytest.approx((loss(*moved[0]) - loss(*moved[1])) / 2e-6, rel=1e-6, abs=1e-8)


def test_a_target_of_cells_alone(place):
    weights, states = LAYERS["lstm"].drawn(3)
    x = LoDTensor(np.random.default_rng(1).normal(size=(7, 3)), [[4, 0, 3]])
    sources = [lodkit.parameter(place.to(a)) for a in (x, *weights, *states)]
    with lodkit.Tape() as tape:
        hidden, _, _, cell, _ = lodkit.lstm.full(*sources)
    alone = tape.gradient(cell, sources)
    by_both = [place.to(make((7, 5))) for make in (np.zeros, np.ones)]
    both = tape.gradient([hidden, cell], sources, output_gradients=by_both)
    for a, b in zip(alone, both, strict=True):
        same_bits(place.home(a), place.home(b))


def test_nan_stays_in_its_sequence(layer):
    weights, states = layer.drawn(3)
    values = np.random.default_rng(1).normal(size=(9, 3))
    values[4] = np.nan
    results, by_x, by_weights, by_states = layer.differentiated(LoDTensor(values, [[3, 3, 3]]), weights, states)
    for rows in (rows for rows in (*results, by_x) if len(rows) == 9):
        assert np.isfinite(rows[:3]).all() and np.isfinite(rows[6:]).all() and np.isnan(rows[4]).any()
    for by in (*by_states, *(rows for rows in results if len(rows) == 3)):
        assert np.isfinite(by[[0, 2]]).all() and np.isnan(by[1]).any()
    assert all(np.isnan(by).any() for by in by_weights)


def test_gradients_do_not_hide_nan_or_what_has_none():
    x = LoDTensor(np.full((1, 4), np.nan), [[1]])
    weight = np.ones((1, 4))
    with lodkit.Tape() as tape:
        h, *_, gates = lodkit.lstm.full(x, None, weight)
    assert np.isnan(tape.gradient(h, [x])[0].values).all()
    with pytest.raises(lodkit.LodkitError, match="no gradient by its gates"):
        tape.gradient(gates, [x])


def test_what_does_not_fit_is_named():
    x = LoDTensor(np.zeros((3, 8)), [[2, 1]])
    with pytest.raises(lodkit.ShapeMismatchError, match=r"input weight has shape \(3, 8\)"):
        lodkit.lstm(x, np.zeros((3, 8)), np.zeros((2, 8)))
    with pytest.raises(lodkit.ShapeMismatchError, match=r"projection must be \(2, 3\)"):
        lodkit.lstm(x, None, np.zeros((3, 8)))
    for bias in (np.zeros(9), np.zeros((8, 1)), np.zeros((1, 1, 8))):
        with pytest.raises(lodkit.ShapeMismatchError, match=r"must be \(8,\) or \(1, 8\) or \(14,\) or \(1, 14\)"):
            lodkit.lstm(x, None, np.zeros((2, 8)), bias)
    with pytest.raises(lodkit.ShapeMismatchError, match=r"shape \(\); it must be \(1,\) or \(1, 1\)"):
        lodkit.simple_rnn(LoDTensor(np.zeros((3, 1)), [[2, 1]]), None, np.zeros((1, 1)), np.array(0.0))
    with pytest.raises(lodkit.ShapeMismatchError, match=r"h0 has shape \(3, 2\), it must be \(2, 2\)"):
        lodkit.lstm(x, None, np.zeros((2, 8)), None, np.zeros((3, 2)))
    with pytest.raises(ValueError, match="cell_clip must be at least 0"):
        lodkit.lstm(x, None, np.zeros((2, 8)), cell_clip=-1.0)
    for attrs in ({"projection_clip": 1.0}, {"projection_activation": "tanh"}):
        with pytest.raises(ValueError, match="are for a projection"):
            lodkit.lstm(x, None, np.zeros((2, 8)), **attrs)
    with pytest.raises(lodkit.DTypeError, match="weight is float32"):
        lodkit.lstm(x, None, np.zeros((2, 8), np.float32))
    with pytest.raises(ValueError, match="weight_layout is columns"):
        lodkit.gru(
            LoDTensor(np.zeros((3, 6)), [[2, 1]]), None, np.zeros((2, 6)), reset_after=True, weight_layout="blocks"
        )


def test_gradients_without_clips_do_not_hide_nan():
    """Of simple layers and of first states, which share the step that clips."""
    x, state = LoDTensor(np.array([[0.1], [np.nan], [0.2]]), [[3]]), lodkit.parameter([[1.0]])
    with lodkit.Tape() as tape:
        y, _ = lodkit.simple_rnn(x, None, np.array([[0.5]]))
    assert np.isnan(tape.gradient(y, [x])[0].values).all()
    zeros = LoDTensor(np.zeros((1, 3)), [[1]])
    with lodkit.Tape() as tape:
        y, _ = lodkit.gru(zeros, None, np.zeros((1, 3)), None, state)
    by_state, by_x = tape.gradient(y, [state, zeros], y.with_values(np.array([[np.nan]])))
    assert np.isnan(by_state).all() and np.isnan(by_x.values).all()


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
    (_, cell), (_, expected) = clipped[1], lodkit.lstm(x, None, weight, None, None, None, np.ones((1, 1)))[1]
    np.testing.assert_array_equal(cell, expected)


def test_paddle_has_no_gradient_of_cells():
    x = LoDTensor(np.random.default_rng(0).normal(size=(3, 8)), [[2, 1]])
    weight, bias = lodkit.parameter(np.ones((2, 8))), np.ones((1, 8))
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
