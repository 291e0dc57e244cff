"""Comparisons of the bridge to torch.autograd: embedding_bag, forward and backward, against PyTorch's own."""

from __future__ import annotations

import numpy as np
from measuring import HEIGHT, QUICK, drawn_ids, measure, rng
from peers import torch

import lodkit

MEAN = 20


def bridge():
    """Compare steps of 10, 1,000 and 4,096 bags: forward alone, and with a sparse gradient."""
    if not torch:
        return
    for bags, width, inner in ((10, 16, 50), (10, 64, 50), (1000, 64, 4), (4096, 64, 1)):
        _bags(HEIGHT, min(bags, 100) if QUICK else bags, width, 2 if QUICK else inner)


def _bags(height, bags, width, inner):
    from lodkit.interop import torch as functions

    height = 1000 if bags == 10 else height
    mean = 5 if bags == 10 else MEAN
    mine = torch.nn.Parameter(torch.ones(height, width))
    theirs = torch.nn.EmbeddingBag.from_pretrained(torch.ones(height, width), freeze=False, mode="sum", sparse=True)
    lengths = rng.integers(0, 2 * mean + 1, bags)
    flat = torch.from_numpy(drawn_ids("zipf", int(lengths.sum()), height))
    batch = functions.ragged(flat, lengths)
    starts = torch.from_numpy(np.cumsum(lengths) - lengths)
    grad = torch.ones(bags, width)
    array = mine.detach().numpy()
    plain = lodkit.LoDTensor(flat.numpy(), [lengths])

    def bag():
        return functions.embedding_bag(mine, batch)

    def peer():
        return torch.nn.functional.embedding_bag(flat, theirs.weight, starts, mode="sum", sparse=True)

    def module():
        return theirs(flat, starts)

    def step(forward, parameter):
        def run(r):
            parameter.grad = None
            forward().backward(grad)

        return run

    name = f"bridge {bags} bags of {mean}, width {width}"
    peers = {"torch.nn.functional": peer, "torch.nn.EmbeddingBag": module}
    forward = {"lodkit bridge": bag} | peers
    calls = {label: lambda r, call=call: call().detach() for label, call in forward.items()}
    measure(f"{name}, forward", calls | {"lodkit alone": lambda r: lodkit.embedding_bag(array, plain)}, inner=inner)
    both = {label: step(call, theirs.weight) for label, call in peers.items()}
    measure(f"{name}, and backward", {"lodkit bridge": step(bag, mine)} | both, inner=inner)


GROUPS = (bridge,)
