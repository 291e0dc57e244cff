"""Comparisons of the bridge to torch.autograd: embedding_bag, forward and backward, against PyTorch's own."""

from __future__ import annotations

import numpy as np
from measuring import BATCHES, HEIGHT, QUICK, drawn_ids, measure, rng
from peers import torch

MEAN = 20


def bridge():
    """Compare steps of 10, 1,000 and 4,096 bags: forward alone, and with a sparse gradient."""
    if not torch:
        return
    for bags, width, inner in ((10, 16, 50), (10, 64, 50), (1000, 64, 1), (4096, 64, 1)):
        _bags(HEIGHT, min(bags, 100) if QUICK else bags, width, 2 if QUICK else inner)


def _bags(height, bags, width, inner):
    """Compare functions. Each has a table of its own: one that another had just read were in the caches."""
    from lodkit.interop import torch as functions

    height = 1000 if bags == 10 else height
    mean = 5 if bags == 10 else MEAN
    batches = []
    for _ in range(BATCHES):
        lengths = rng.integers(0, 2 * mean + 1, bags)
        ids = torch.from_numpy(drawn_ids("zipf", int(lengths.sum()), height))
        batches.append((ids, torch.from_numpy(np.cumsum(lengths) - lengths), functions.ragged(ids, lengths)))

    def mine(weight, ids, starts, ragged):
        return functions.embedding_bag(weight, ragged)

    def theirs(weight, ids, starts, ragged):
        return torch.nn.functional.embedding_bag(ids, weight, starts, mode="sum", sparse=True)

    grad, forward, both = torch.ones(bags, width), {}, {}
    for label, bag in {"lodkit bridge": mine, "torch.nn.functional": theirs}.items():
        weight = torch.nn.Parameter(torch.ones(height, width))
        forward[label], both[label] = _calls(bag, weight, batches, grad)
    name = f"bridge {bags} bags of {mean}, width {width}"
    measure(f"{name}, forward", forward, inner=inner)
    measure(f"{name}, and backward", both, inner=inner)


def _calls(bag, weight, batches, grad):
    """Return the calls of the r-th batch: forward alone, and with backward."""

    def forward(r):
        return bag(weight, *batches[r % BATCHES]).detach()

    def both(r):
        weight.grad = None
        bag(weight, *batches[r % BATCHES]).backward(grad)

    return forward, both


GROUPS = (bridge,)
