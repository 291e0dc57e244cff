"""Compare the demo with PyTorch: the same texts, split, batches, initial values and learning rate, in one process.

    python asv_benchmarks/train_torch.py [--epochs 12] [--threads 1]

The model is EmbeddingBag (mean, 64 wide, sparse gradients), a linear layer and Adagrad at 0.1, in batches of 64.
lodkit's time per epoch includes making the batches, which PyTorch is given.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch

import lodkit
from lodkit.demo.config import Config
from lodkit.demo.train import Job, Model


class Peer:
    """The same model in PyTorch, with the same initial values."""

    def __init__(self, parameters):
        table, weight, bias = (torch.from_numpy(p.copy()) for p in parameters.values())
        self.bag = torch.nn.EmbeddingBag.from_pretrained(table, freeze=False, mode="mean", sparse=True)
        self.linear = torch.nn.Linear(*weight.shape)
        with torch.no_grad():
            self.linear.weight.copy_(weight.T)
            self.linear.bias.copy_(bias)
        self.optimizer = torch.optim.Adagrad([*self.bag.parameters(), *self.linear.parameters()], lr=0.1)

    def epoch(self, batches):
        for ids, offsets, labels in batches:
            self.optimizer.zero_grad()
            torch.nn.functional.cross_entropy(self.linear(self.bag(ids, offsets)), labels).backward()
            self.optimizer.step()

    def accuracy(self, batch):
        ids, offsets, labels = batch
        with torch.no_grad():
            return float((self.linear(self.bag(ids, offsets)).argmax(1) == labels).float().mean())


def tensors(ids, labels):
    return torch.from_numpy(ids.values), torch.from_numpy(ids.offsets()[:-1].copy()), torch.from_numpy(labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    lodkit.set_num_threads(options.threads)
    job = Job(Config())
    peer, (ids, labels) = Peer(job.model.parameters), job.train
    Model(len(job.vocabulary), len(job.names), Config()).step(*next(lodkit.batches(ids, labels, size=64)))  # compiles
    mine, theirs = [], []
    for epoch in range(options.epochs):
        cut = [tensors(*batch) for batch in lodkit.batches(ids, labels, size=64, seed=epoch)]
        start = time.perf_counter()
        peer.epoch(cut)
        theirs.append(time.perf_counter() - start)
        start = time.perf_counter()
        for batch in lodkit.batches(ids, labels, size=64, seed=epoch):
            job.model.step(*batch)
        mine.append(time.perf_counter() - start)
        print(
            f"epoch {epoch + 1:2}  lodkit {mine[-1]:.3f} s {100 * job.model.accuracy(*job.test):.1f} %"
            f"  torch {theirs[-1]:.3f} s {100 * peer.accuracy(tensors(*job.test)):.1f} %"
        )
    print(f"{options.threads} thread(s); numpy {np.__version__}, torch {torch.__version__}")
    print(f"minimum time per epoch: lodkit {min(mine):.3f} s, torch {min(theirs):.3f} s")


if __name__ == "__main__":
    main()
