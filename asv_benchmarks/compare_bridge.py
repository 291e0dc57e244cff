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
    """Compare functions and modules on one table: of two, one may lie in larger pages, which is a fifth of the time."""
    from lodkit.interop import torch as functions

    height = 1000 if bags == 10 else height
    mean = 5 if bags == 10 else MEAN
    batches = []
    for _ in range(BATCHES):
        lengths = rng.integers(0, 2 * mean + 1, bags)
        ids = torch.from_numpy(drawn_ids("zipf", int(lengths.sum()), height))
        batches.append((ids, torch.from_numpy(np.cumsum(lengths) - lengths), functions.ragged(ids, lengths)))
    weight, grad = torch.nn.Parameter(torch.ones(height, width)), torch.ones(bags, width)

    def mine(ids, starts, ragged):
        return functions.embedding_bag(weight, ragged)

    def theirs(ids, starts, ragged):
        return torch.nn.functional.embedding_bag(ids, weight, starts, mode="sum", sparse=True)

    rows = {"bridge": {"lodkit bridge": (mine, weight), "torch.nn.functional": (theirs, weight)}, "module": {}}
    for label, kind in (
        ("lodkit EmbeddingBag", functions.EmbeddingBag),
        ("torch.nn.EmbeddingBag", torch.nn.EmbeddingBag),
    ):
        module = kind.from_pretrained(weight.detach(), freeze=False, mode="sum", sparse=True)
        rows["module"][label] = (lambda ids, starts, ragged, module=module: module(ids, starts)), module.weight
    for what, bags_of in rows.items():
        calls = {label: _calls(bag, leaf, batches, grad) for label, (bag, leaf) in bags_of.items()}
        name = f"{what} {bags} bags of {mean}, width {width}"
        measure(f"{name}, forward", {label: forward for label, (forward, _) in calls.items()}, inner=inner)
        measure(f"{name}, and backward", {label: both for label, (_, both) in calls.items()}, inner=inner)


def _calls(bag, weight, batches, grad):
    """Return the calls of the r-th batch: forward alone, and with backward."""

    def forward(r):
        return bag(*batches[r % BATCHES]).detach()

    def both(r):
        weight.grad = None
        bag(*batches[r % BATCHES]).backward(grad)

    return forward, both


GROUPS = (bridge,)
