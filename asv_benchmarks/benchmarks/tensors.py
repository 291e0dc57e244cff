"""Small calls on PyTorch's CPU tensors, beside the same on arrays: what the way there and back costs."""

from __future__ import annotations

import importlib.util

import numpy as np

import lodkit


class Calls:
    """Ten sequences of five rows of 16 numbers."""

    params = [("array", "tensor")]
    param_names = ["values"]

    def setup(self, values):
        if importlib.util.find_spec("torch") is None:
            raise NotImplementedError("needs PyTorch")
        import torch

        made = (lambda x: x) if values == "array" else torch.from_numpy
        rows, ids = made(np.ones((50, 16), np.float32)), made(np.arange(50))
        self.table, self.grad = made(np.zeros((100, 16), np.float32)), made(np.zeros((100, 16), np.float32))
        self.rows, self.lengths = rows, made(np.full(10, 5))
        self.x, self.bags = lodkit.LoDTensor(rows, [self.lengths]), lodkit.LoDTensor(ids, [self.lengths])
        self.sparse = lodkit.SelectedRows(ids, rows, 100)
        for name in filter(lambda name: name.startswith("time_"), dir(self)):
            getattr(self, name)(values)

    def time_sequence_pool(self, values):
        lodkit.sequence_pool(self.x)

    def time_embedding_bag(self, values):
        lodkit.embedding_bag(self.table, self.bags)

    def time_sgd(self, values):
        lodkit.sgd(self.table, self.grad, lr=0.1)

    def time_sgd_of_rows(self, values):
        lodkit.sgd(self.table, self.sparse, lr=0.1)

    def time_lod_tensor(self, values):
        lodkit.LoDTensor(self.rows, [self.lengths])

    def time_add(self, values):
        self.x + self.x

    def time_select(self, values):
        self.x[[7, 1]]

    def time_to_padded(self, values):
        self.x.to_padded()

    def time_sequence_concat(self, values):
        lodkit.sequence_concat(self.x, self.x)
