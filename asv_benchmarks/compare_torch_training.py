"""Comparisons of training inside PyTorch: the module and the optimizers against PyTorch's own, and the fused update."""

from __future__ import annotations

import numpy as np
from measuring import BATCHES, HEIGHT, INNER, QUICK, drawn_ids, measure, rng
from peers import torch

import lodkit

if torch:
    from lodkit.interop.torch import EmbeddingBag, optim

WIDTH, LABELS, STEPS = 64, 77, 6
#: Rule -> arguments of lodkit's, PyTorch's class for the table and for the linear layer.
RULES = {
    "Adagrad": ({}, "Adagrad", "Adagrad"),
    "SGD": ({}, "SGD", "SGD"),
    "Adam": ({"lazy": True, "corrected_epsilon": False}, "SparseAdam", "Adam"),
}


def _batches():
    """Return ids, offsets and labels of batches: bags of 20 ids on average, frequent ids anywhere in the table."""
    made = []
    for _ in range(min(BATCHES, 6)):
        lengths = rng.integers(0, 41, 64 if QUICK else 4096)
        offsets = np.concatenate([[0], np.cumsum(lengths[:-1])])
        labels = rng.integers(0, LABELS, len(lengths))
        made.append([torch.from_numpy(x) for x in (drawn_ids("zipf", int(lengths.sum())), offsets, labels)])
    return made


def _step(bag, optimizers, linear, batches):
    """Return a training step over rotating batches; each call gives its loss."""
    count = iter(range(1 << 40))

    def step(r=None):
        ids, offsets, labels = batches[next(count) % len(batches)]
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(linear(bag(ids, offsets)), labels)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        return loss.item()

    return step


def _variant(name, kind, table, batches):
    """Return the training step of one mixture; PyTorch's optimizers of tables and of layers may differ."""
    attrs, by_table, by_layer = RULES[name]
    weight = torch.from_numpy(lodkit.empty(table.shape))
    weight[...] = torch.from_numpy(table)
    torch.manual_seed(0)
    linear = torch.nn.Linear(WIDTH, LABELS)
    if kind == "fused":
        bag = EmbeddingBag.from_pretrained(weight, freeze=False, mode="mean", fused=True)
    else:
        module = torch.nn.EmbeddingBag if kind in ("torch", "optimizer") else EmbeddingBag
        bag = module.from_pretrained(weight, freeze=False, mode="mean", sparse=True)
    layers = getattr(torch.optim, by_layer)(linear.parameters(), lr=0.1)
    if kind == "torch":
        tables = getattr(torch.optim, by_table)(bag.parameters(), lr=0.1)
    else:
        tables = getattr(optim, name)(bag.parameters(), lr=0.1, **attrs)
    return _step(bag, (tables, layers), linear, batches)


def torch_training():
    """Compare a training step: EmbeddingBag (mean) and Linear, a batch of 4,096, a table of 1M x 64, 20 ids a bag."""
    if not torch:
        return
    table, batches = rng.standard_normal((HEIGHT, WIDTH), dtype=np.float32), _batches()
    for name in RULES:
        kinds = {"lodkit, fused": "fused", "lodkit": "sparse", "lodkit optimizer": "optimizer", "torch": "torch"}
        steps = {label: _variant(name, kind, table, batches) for label, kind in kinds.items()}
        losses = {label: [step() for _ in range(STEPS)] for label, step in steps.items()}
        for label, found in losses.items():
            np.testing.assert_allclose(found, losses["torch"], rtol=1e-5, err_msg=f"{name}: losses of {label}")
        quiet = {label: lambda r, s=step: s() and None for label, step in steps.items()}
        for mine in ("lodkit, fused", "lodkit", "lodkit optimizer"):
            measure(f"training step, {name}: {mine}", {mine: quiet[mine], "torch": quiet["torch"]}, rounds=11)


def torch_modules():
    """Compare the module's forward and backward, sparse gradients: 10 bags of 5 ids, 16 wide; more of 20, 64 wide."""
    if not torch:
        return
    for bags, length, width in ((10, 5, 16), (1000, 20, 64), (4096, 20, 64)):
        height, several = (1000, 1) if bags == 10 else (HEIGHT, BATCHES)
        batches = [torch.from_numpy(drawn_ids("zipf", length * bags, height)) for _ in range(several)]
        offsets, grad = torch.arange(0, length * bags, length), torch.ones(bags, width)
        table = torch.from_numpy(rng.standard_normal((height, width), dtype=np.float32))
        mine, theirs, plain = (
            kind.from_pretrained(table.clone(), freeze=False, mode="sum", sparse=True)
            for kind in (EmbeddingBag, torch.nn.EmbeddingBag, torch.nn.EmbeddingBag)
        )

        def run(call, weight, batches=batches, offsets=offsets, grad=grad):
            batches = [ids.clone() for ids in batches]  # of its own: those that another call had read are in the caches

            def step(r):
                weight.grad = None
                call(batches[r % len(batches)], offsets).backward(grad)

            return step

        def function(ids, offsets, weight=plain.weight):
            return torch.nn.functional.embedding_bag(ids, weight, offsets, mode="sum", sparse=True)

        calls = {
            "lodkit": run(mine, mine.weight),
            "torch.nn.EmbeddingBag": run(theirs, theirs.weight),
            "torch functional": run(function, plain.weight),
        }
        measure(f"EmbeddingBag forward and backward, {bags} bags", calls, inner=INNER if bags == 10 else 1)


GROUPS = (torch_modules, torch_training)
