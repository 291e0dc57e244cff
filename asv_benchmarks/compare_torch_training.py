"""Comparisons of training inside PyTorch: the optimizers against PyTorch's own, and the fused update."""

from __future__ import annotations

import numpy as np
from measuring import BATCHES, HEIGHT, QUICK, drawn_ids, measure, rng
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


#: Class of lodkit -> arguments, whether gradients are sparse, PyTorch's class.
STEPS_OF_MANY = {
    "SGD": ({}, False, "SGD"),
    "Adam": ({}, False, "Adam"),
    "Adam, 10 rows": ({"lazy": True, "corrected_epsilon": False}, True, "SparseAdam"),
}


def _parameters(count, sparse):
    """Return parameters of 1,000 x 16 with dense gradients, or with sparse ones of 10 rows."""
    made = [torch.nn.Parameter(torch.ones(1000, 16)) for _ in range(count)]
    for param in made:
        grad = torch.full((10 if sparse else 1000, 16), 1e-3)
        rows = torch.from_numpy(rng.permutation(1000)[None, :10].copy())
        param.grad = torch.sparse_coo_tensor(rows, grad, param.shape, check_invariants=True) if sparse else grad
    return made


def parameter_steps():
    """Compare steps of few and of many small parameters, whose time is that of the calls."""
    if not torch:
        return
    for name, (attrs, sparse, theirs) in STEPS_OF_MANY.items():
        for count in (1, 26):
            mine = getattr(optim, name.split(",")[0])(_parameters(count, sparse), lr=1e-6, **attrs)
            other = getattr(torch.optim, theirs)(_parameters(count, sparse), lr=1e-6)
            calls = {"lodkit": lambda r, o=mine: o.step(), f"torch {theirs}": lambda r, o=other: o.step()}
            measure(f"step, {name}, {count} parameter{'s' * (count > 1)}", calls)


GROUPS = (torch_training, parameter_steps)
