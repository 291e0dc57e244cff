"""Comparison of dense layers, activations and losses with PyTorch's."""

from __future__ import annotations

import numpy as np
from measuring import QUICK, measure, rng
from peers import torch

import lodkit

ROWS, WIDTH = (100, 16) if QUICK else (100_000, 64)


def _torch_calls(function, inputs, count, grad):
    """Return PyTorch's calls: forward, and forward with backward by the first ``count`` inputs."""
    plain, grad = [*map(torch.from_numpy, inputs)], torch.from_numpy(grad)
    tracked = [x.clone().requires_grad_() for x in plain[:count]]

    def forward(r):
        with torch.no_grad():
            return function(*plain).numpy()

    def both(r):
        return torch.autograd.grad(function(*tracked, *plain[count:]), tracked, grad)[0].numpy()

    return forward, both


def layers():
    """Compare what stands between lookups and losses, of 100,000 rows of 64 float32."""
    x, other = (rng.standard_normal((ROWS, WIDTH), dtype=np.float32) for _ in range(2))
    scale, bias = rng.standard_normal((2, WIDTH), dtype=np.float32)
    labels, classes = rng.random((ROWS, WIDTH), dtype=np.float32), rng.integers(0, WIDTH, ROWS)
    alone, losses = (x,), (x, classes)
    cases = {
        "layer_norm": (lodkit.layer_norm, (x, scale, bias), lambda F: lambda x, *s: F.layer_norm(x, (WIDTH,), *s)),
        "softmax": (lodkit.softmax, alone, lambda F: lambda x: F.softmax(x, -1)),
        "gelu": (lodkit.gelu, alone, lambda F: F.gelu),
        "silu": (lodkit.silu, alone, lambda F: F.silu),
        "sigmoid": (lodkit.sigmoid, alone, lambda F: torch.sigmoid),
        "relu": (lodkit.relu, alone, lambda F: F.relu),
        "binary cross entropy": (
            lodkit.sigmoid_cross_entropy_with_logits,
            (x, labels),
            lambda F: lambda x, y: F.binary_cross_entropy_with_logits(x, y, reduction="none"),
        ),
        "cross entropy": (
            lodkit.softmax_with_cross_entropy,
            losses,
            lambda F: lambda x, y: F.cross_entropy(x, y, reduction="none")[:, None],
        ),
    }
    for name, (operator, inputs, peer) in cases.items():
        grad = np.ones((ROWS, 1), np.float32) if inputs is losses else other
        count = 3 if name == "layer_norm" else 1  # of the inputs that have gradients in training

        sources, others = list(map(lodkit.parameter, inputs[:count])), inputs[count:]

        def both(r, operator=operator, sources=sources, others=others, grad=grad):
            with lodkit.Tape() as tape:
                out = operator(*sources, *others)
            return tape.gradient(out, sources, grad)[0]

        forward, trained = {"lodkit": lambda r, op=operator, inputs=inputs: op(*inputs)}, {"lodkit": both}
        if torch:
            forward["torch"], trained["torch"] = _torch_calls(peer(torch.nn.functional), inputs, count, grad)
        measure(f"{name} {ROWS} rows of {WIDTH}", forward, rounds=9)
        measure(f"{name} {ROWS} rows of {WIDTH}, forward and backward", trained, rounds=9)


GROUPS = (layers,)
