"""Single steps of recurrent layers: gradients by all results, against PyTorch, wrong inputs; attention_lstm."""

from __future__ import annotations

import numpy as np
import pytest
from differences import parameters
from samples import SAMPLES

import lodkit
from lodkit import LoDTensor


@pytest.mark.parametrize("name", ["gru_unit", "lstm_unit"])
def test_gradients_by_every_result(name):
    for inputs, attrs in SAMPLES[name]:
        if any(isinstance(x, LoDTensor) or x.dtype != np.float64 or not x.size for x in inputs):
            continue
        inputs = parameters(inputs)
        with lodkit.Tape() as tape:
            results = lodkit.OPS[name](*inputs, **attrs)
        weights = [np.random.default_rng(i).normal(size=y.shape) for i, y in enumerate(results)]
        grads = tape.gradient([*results], [*inputs], output_gradients=weights)
        for i, (x, grad) in enumerate(zip(inputs, grads, strict=True)):
            step = np.random.default_rng(9).normal(size=x.shape) * 1e-6
            sums = []
            for moved in (x + step, x - step):
                outs = lodkit.OPS[name].definition(*inputs[:i], moved, *inputs[i + 1 :], **attrs)
                sums.append(sum((y * w).sum() for y, w in zip(outs, weights, strict=True)))
            np.testing.assert_allclose((grad * step).sum() * 2, sums[0] - sums[1], rtol=1e-4, atol=1e-12)


def test_an_lstm_cell_as_in_pytorch():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    cell = torch.nn.LSTMCell(3, 4, dtype=torch.float64)
    x, h, c = (rng.normal(size=(5, n)) for n in (3, 4, 4))
    expected = cell(*(torch.from_numpy(x), (torch.from_numpy(h), torch.from_numpy(c))))
    w_x, w_h, b_x, b_h = (p.detach().numpy() for p in cell.parameters())
    gates = np.split(x @ w_x.T + h @ w_h.T + b_x + b_h, 4, axis=1)
    products = np.concatenate([gates[0], gates[1], gates[3], gates[2]], axis=1)  # theirs: input, forget, cell, output
    new, hidden = lodkit.lstm_unit(products, c)
    np.testing.assert_allclose(hidden, expected[0].detach().numpy())
    np.testing.assert_allclose(new, expected[1].detach().numpy())


@pytest.mark.parametrize("origin_mode", [False, True])
@pytest.mark.parametrize("size", [1e3, 1e7, 1e30])
def test_a_large_state_does_not_drown_the_candidate(origin_mode, size):
    """Of the unit and of the layer, whose update gate is open."""
    x, weight = np.array([[-40 if origin_mode else 40, 0, 0.5]], np.float32), np.zeros((1, 3), np.float32)
    state = np.full((1, 1), size, np.float32)
    unit = lodkit.gru_unit(x, state, weight, origin_mode=origin_mode)[0]
    layer = lodkit.gru(LoDTensor(x, [[1]]), None, weight, None, state, origin_mode=origin_mode)[0]
    gate = 4.2483542552915889e-18 if origin_mode else 0  # 1 / (1 + exp(40)), and 1 less a gate that rounds to 1
    expected = np.full((2, 1, 1), np.tanh(0.5) + gate * size)
    np.testing.assert_allclose([unit, layer.values], expected, rtol=1e-5)


X, STATE = np.zeros((2, 12)), np.zeros((2, 4))
BATCH = LoDTensor(np.zeros((3, 2)), [[2, 1]])
LAYER = BATCH, np.zeros((2, 4)), np.zeros(6), np.zeros((6, 16)), np.zeros(16)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: lodkit.gru_unit(X, STATE[:1], np.zeros((4, 12))),
            lodkit.ShapeMismatchError,
            "x and hidden have shapes",
        ),
        (lambda: lodkit.gru_unit(X, STATE, np.zeros((4, 8))), lodkit.ShapeMismatchError, r"weight has shape \(4, 8\)"),
        (
            lambda: lodkit.gru_unit(X, STATE, np.zeros((4, 12)), np.zeros(4)),
            lodkit.ShapeMismatchError,
            "bias has shape",
        ),
        (
            lambda: lodkit.gru_unit(X, STATE, np.zeros((4, 12)), candidate_activation="elu"),
            ValueError,
            "activation must be one of",
        ),
        (lambda: lodkit.gru_unit(X, np.array(1.0), X), lodkit.ShapeMismatchError, r"\(2, 12\) and \(\)"),
        (lambda: lodkit.lstm_unit(X, np.array(1.0)), lodkit.ShapeMismatchError, r"\(2, 12\) and \(\)"),
        (
            lambda: lodkit.lstm_unit_grad(X, X[:, :3], X[:, :3].astype(np.float32), None),
            lodkit.DTypeError,
            "the out is float32",
        ),
        (
            lambda: lodkit.gru_unit_grad(X, STATE, np.zeros((4, 12)), None, X.astype(int), STATE, STATE),
            lodkit.DTypeError,
            "the gates is int64",
        ),
        (
            lambda: lodkit.gru_unit_grad(X, STATE, np.zeros((4, 12)), None, X, STATE, None, STATE),
            lodkit.ShapeMismatchError,
            r"grad_gates has shape \(2, 4\)",
        ),
        (lambda: lodkit.lstm_unit(X, STATE), lodkit.ShapeMismatchError, r"\(2, 12\) and \(2, 4\)"),
        (lambda: lodkit.lstm_unit(X[:, :4], X[:, :1].astype(np.float32)), lodkit.DTypeError, "the cell is float32"),
        (lambda: lodkit.attention_lstm(*LAYER[:4], np.zeros(4)), lodkit.ShapeMismatchError, r"bias has shape \(4,\)"),
        (lambda: lodkit.attention_lstm(*LAYER, STATE[:1]), lodkit.ShapeMismatchError, "h0 has shape"),
        (
            lambda: lodkit.attention_lstm(*LAYER, None, None, None, np.ones(1)),
            ValueError,
            "attention_scalar_bias is added",
        ),
        (
            lambda: lodkit.paddle.run_op(
                "gru_unit", {"Input": X, "HiddenPrev": STATE, "Weight": np.zeros((4, 12))}, {"activation": 7}
            ),
            ValueError,
            "an activation must be one of 0",
        ),
    ],
)
def test_wrong_inputs_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_attention_lstm_has_no_gradient():
    with lodkit.Tape() as tape:
        hidden, _ = lodkit.attention_lstm(*LAYER)
    with pytest.raises(lodkit.LodkitError, match="attention_lstm has no gradient"):
        tape.gradient(hidden, [BATCH])


def test_the_scalar_bias_of_paddle_is_ignored_without_the_scalar():
    slots = dict(zip(("X", "C0", "AttentionWeight", "LSTMWeight", "LSTMBias"), LAYER, strict=True))
    outs = lodkit.paddle.run_op("attention_lstm", slots | {"AttentionScalarBias": np.ones((1, 1))})
    assert outs["Hidden"].equals(lodkit.attention_lstm(*LAYER)[0])
