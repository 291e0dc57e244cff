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
    modules = [
        kind.from_pretrained(weight.detach(), freeze=False, mode="sum", sparse=True)
        for kind in (functions.EmbeddingBag, torch.nn.EmbeddingBag)
    ]

    def mine(ids, starts, ragged):
        return functions.embedding_bag(weight, ragged)

    def theirs(ids, starts, ragged):
        return torch.nn.functional.embedding_bag(ids, weight, starts, mode="sum", sparse=True)

    bridges = {"lodkit bridge": (weight, mine), "torch.nn.functional": (weight, theirs)}
    for label, module in zip(("lodkit EmbeddingBag", "torch.nn.EmbeddingBag"), modules, strict=True):
        bridges[label] = (module.weight, lambda ids, starts, ragged, module=module: module(ids, starts))
    made = {label: _calls(bag, leaf, batches, grad) for label, (leaf, bag) in bridges.items()}
    for kind in ("bridge", "module"):
        pair = {label: calls for label, calls in made.items() if (kind == "module") == ("EmbeddingBag" in label)}
        name = f"{kind} {bags} bags of {mean}, width {width}"
        measure(f"{name}, forward", {label: calls[0] for label, calls in pair.items()}, inner=inner)
        measure(f"{name}, and backward", {label: calls[1] for label, calls in pair.items()}, inner=inner)


def _calls(bag, weight, batches, grad):
    """Return the calls of the r-th batch: forward alone, and with backward."""

    def forward(r):
        return bag(*batches[r % BATCHES]).detach()

    def both(r):
        weight.grad = None
        bag(*batches[r % BATCHES]).backward(grad)

    return forward, both


GROUPS = (bridge,)
