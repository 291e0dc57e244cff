"""Code as users of PyTorch write it, right: type checkers find no error, and it runs."""

from __future__ import annotations

from typing import assert_type

import numpy as np
import torch

import lodkit
import lodkit.interop.torch as functions
from lodkit import LoDTensor, SelectedRows
from lodkit.interop.torch import BagGradient, EmbeddingBag, SequencePool, optim
from lodkit.typing import Array

# Functions of the operators: what a lookup gives is a tensor, and a LoDTensor where levels are left.
table = torch.randn(5, 2, requires_grad=True)
weight = torch.randn(2, 3, requires_grad=True)
ids = functions.ragged(torch.tensor([1, 2, 1]), [2, 1])
assert_type(ids, LoDTensor)
bags = functions.embedding_bag(table, ids, pool="mean", padding_idx=np.int64(0))
loss: torch.Tensor = functions.fc(bags, weight).sum()
assert_type(functions.embedding_bag(table, [[0, 2], [4]], is_sparse=False).sum(), torch.Tensor)
assert_type(functions.fc(table, weight, np.ones(3, np.float32)), torch.Tensor)
words = functions.lookup_table(table, ids)
assert_type(words, LoDTensor)
assert_type(functions.lookup_table(table, torch.tensor([0, 1])), torch.Tensor)
nested = functions.ragged(torch.ones(3, 2), [1, 1], [2, 1])
articles = functions.sequence_pool(functions.sequence_pool(nested, pool="max"), pool="last")
pooled, index = functions.sequence_pool(words, pool="max", return_index=True)
assert_type(pooled.mean(), torch.Tensor)
gradient = SelectedRows([1], torch.ones(1, 2), 5)
assert_type(functions.scale(gradient, scale=2.0), SelectedRows)
assert_type(functions.sum(table, table), torch.Tensor)
assert_type(functions.relu([-1.0, 1.0]), torch.Tensor)
assert_type(lodkit.interop.torch.tanh(table), torch.Tensor)
gates, reset, hidden = functions.gru_unit(torch.ones(1, 3), torch.ones(1, 1), torch.ones(1, 3))
assert_type(hidden, torch.Tensor)
relu = functions.differentiable(lodkit.relu)
relu(table)

# Batches, modules and optimizers.
batch, labels = functions.collate([([4, 7], 1), ([5], 0)])
tables = {"a": table, "b": table}
assert_type(functions.embedding_bags(tables, {"a": ids, "b": ids}, pool="mean"), torch.Tensor)
parts = functions.embedding_bags([table], [ids], as_dict=True)
assert_type(functions.keyed({"a": ids}).lengths, torch.Tensor)
bag = EmbeddingBag(5, 2, mode="sum", fused=True, dtype=torch.float32)
assert_type(EmbeddingBag.from_pretrained(table.detach(), mode="sum", fused=True), EmbeddingBag)
out: torch.Tensor = bag(torch.tensor([2, 2, 1]), torch.tensor([0, 2]))
SequencePool(pool="max", level=-1)(nested)
optimizer = optim.Adam([*bag.parameters()], lr=0.1, amsgrad=True, weight_decay=0.1, lazy=True)
optim.SGD([{"params": [weight], "lr": 0.1}], lr=1)
torch.autograd.backward([loss, out.sum()])
grad = bag.weight.grad
assert isinstance(grad, BagGradient)
assert_type(grad.selected_rows(), SelectedRows)
optimizer.step()
optimizer.zero_grad()

# Flags of operators on arrays.
rows = LoDTensor(np.ones((3, 2)), [[2, 1]])
largest, where = lodkit.sequence_pool(rows, pool="max", return_index=True)
first: Array = where
assert_type(lodkit.unique([3, 1, 3], return_inverse=True), tuple[Array, Array])
assert_type(lodkit.unique([3, 1, 3], return_inverse=True, return_counts=True), tuple[Array, Array, Array])
