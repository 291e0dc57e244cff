"""The operators of a small model against PyTorch's, results and gradients."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor

torch = pytest.importorskip("torch")
F = torch.nn.functional
rng = np.random.default_rng(0)
X, SCALE, BIAS = rng.normal(size=(7, 5)) * 3, rng.normal(size=5), rng.normal(size=5)
LENGTHS = [3, 4]


def attention(causal):
    """PyTorch's, sequence by sequence; rows of 5 are one head."""

    def run(query, key, value):
        parts = zip(*(x.split(LENGTHS) for x in (query, key, value)), strict=True)
        return torch.cat([F.scaled_dot_product_attention(*part, is_causal=causal) for part in parts])

    return run


def ours(causal):
    return lambda *inputs: lodkit.sequence_attention(*(LoDTensor(x, [LENGTHS]) for x in inputs), causal=causal)


PAIRS = {
    "gelu": (lodkit.gelu, F.gelu, (X,)),
    "gelu by tanh": (lambda x: lodkit.gelu(x, approximate=True), lambda x: F.gelu(x, approximate="tanh"), (X,)),
    "silu": (lodkit.silu, F.silu, (X,)),
    "softmax": (lodkit.softmax, lambda x: F.softmax(x, -1), (X,)),
    "layer_norm": (lodkit.layer_norm, lambda x, s, b: F.layer_norm(x, (5,), s, b), (X, SCALE, BIAS)),
    "layer_norm alone": (lodkit.layer_norm, lambda x: F.layer_norm(x, (5,)), (X,)),
    "mean_squared_error": (
        lodkit.mean_squared_error,
        lambda x, y: F.mse_loss(x, y)[None],
        (X, rng.normal(size=(7, 5))),
    ),
    "binary cross entropy": (
        lodkit.sigmoid_cross_entropy_with_logits,
        lambda x, y: F.binary_cross_entropy_with_logits(x, y, reduction="none"),
        (X, rng.random((7, 5))),
    ),
    "attention": (ours(False), attention(False), (X, rng.normal(size=(7, 5)), rng.normal(size=(7, 3)))),
    "causal attention": (ours(True), attention(True), (X, rng.normal(size=(7, 5)), rng.normal(size=(7, 3)))),
}


@pytest.mark.parametrize("name", PAIRS)
def test_results_and_gradients(name):
    ours, theirs, inputs = PAIRS[name]
    tensors = [torch.from_numpy(x).requires_grad_() for x in inputs]
    expected = theirs(*tensors)
    grad = rng.normal(size=expected.shape)
    parameters = list(map(lodkit.parameter, inputs))
    with lodkit.Tape() as tape:
        out = ours(*parameters)
    np.testing.assert_allclose(getattr(out, "values", out), expected.detach().numpy(), rtol=1e-10, atol=1e-12)
    gradients = torch.autograd.grad(expected, tensors, torch.from_numpy(grad))
    for got, g in zip(tape.gradient(out, parameters, grad), gradients, strict=True):
        np.testing.assert_allclose(got, g.numpy(), rtol=1e-9, atol=1e-12)
