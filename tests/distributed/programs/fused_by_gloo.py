"""Rank of ranks that train a fused ``EmbeddingBag`` under DistributedDataParallel, beside one process on all of it.

``python fused_by_gloo.py RANK SIZE MEETING``: processes that meet at a file, and compare.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pathlib
import sys

import torch
import torch.distributed as dist

from lodkit.interop.torch import EmbeddingBag, optim

STEPS, BAGS = 50, 4
RULES = {"SGD": {}, "Adagrad": {}, "Adam": {"lazy": True}}


class Model(torch.nn.Module):
    """A table that is read twice, and a dense layer."""

    def __init__(self, **settings):
        super().__init__()
        torch.manual_seed(0)
        self.bag = EmbeddingBag(50, 8, mode="sum", dtype=torch.float64, **settings)
        self.linear = torch.nn.Linear(8, 1, dtype=torch.float64)

    def forward(self, ids, offsets, weights):
        rows = self.bag(ids, offsets, weights) + self.bag(ids.reshape(BAGS, -1)).sin()
        return self.linear(rows).square().mean()


def batches(step, rank):
    """Two batches of a rank: the second is for accumulation."""
    draw = torch.Generator().manual_seed(1000 * step + rank)
    for _ in range(2):
        ids = torch.randint(50, (3 * BAGS,), generator=draw)
        offsets = torch.tensor([0, 2, 2, 7])
        yield ids, offsets, torch.rand(len(ids), generator=draw, dtype=torch.float64)


def train(model, rule, losses, held=contextlib.nullcontext):
    """Step by the gradients of ``losses(step)``: batches, of which all but the last are ``held`` back."""
    optimizer = getattr(optim, rule)(model.parameters(), lr=0.05, **RULES[rule])
    for step in range(STEPS):
        optimizer.zero_grad()
        *some, last = losses(step)
        with held():
            for scale, batch in some:
                (scale * model(*batch)).backward()
        scale, batch = last
        (scale * model(*batch)).backward()
        optimizer.step()


def main(rank, size, meeting):
    dist.init_process_group("gloo", init_method=pathlib.Path(meeting).as_uri(), rank=rank, world_size=size)
    for rule in RULES:
        for count in (1, 2):
            ranks, alone = Model(fused=True), Model(sparse=True)
            ddp = torch.nn.parallel.DistributedDataParallel(ranks)
            train(ddp, rule, lambda step, n=count: [(1 / n, b) for b in [*batches(step, rank)][:n]], ddp.no_sync)
            share = 1 / (count * size)
            train(alone, rule, lambda step, n=count, s=share: [
                (s, b) for other in range(size) for b in [*batches(step, other)][:n]
            ])  # fmt: skip
            for mine, expected in zip(ranks.parameters(), alone.parameters(), strict=True):
                assert not torch.equal(expected, torch.zeros_like(expected))
                torch.testing.assert_close(mine, expected, rtol=0, atol=1e-6)
                other = mine.detach().clone()
                dist.broadcast(other, 0)
                assert torch.equal(mine, other), "ranks have other numbers"
    # Ranks leave together, and without Python's end, in which gloo's threads waited for ever for those of a rank that
    # had gone (2 of 8 runs).
    dist.barrier()
    del ranks, ddp
    gc.collect()
    dist.destroy_process_group()
    print(f"gloo: rank {rank} of {size} is done", flush=True)
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
