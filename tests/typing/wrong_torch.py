"""Code as users of PyTorch write it, wrong: type checkers find an error in each marked line, and it raises there."""

from __future__ import annotations

import numpy as np
import torch

import lodkit.interop.torch as functions
from lodkit.interop.torch import EmbeddingBag, SequencePool, optim

table = torch.randn(5, 2, requires_grad=True)
ids = functions.ragged(torch.tensor([1, 2, 1]), [2, 1])

# Attributes and inputs
functions.embedding_bag(table, ids, pool="summ")  # error: no such pool
functions.sequence_pool(ids, pool="max", level="inner")  # error: level is a number
functions.dropout(table, rate=0.5)  # error: seed is missing
functions.relu(x=table)  # error: inputs are positional
functions.embedding_bag(table, np.array([1, 2]))  # error: ids without lengths
functions.embedding_bag(table)  # error: ids are missing
functions.relu("text")  # error: a text is no tensor
functions.ragged([1, 2, 1], [2, 1])  # error: a list is no tensor

# Names
functions.embeding_bag(table, ids)  # error: no such operator
functions.unique(torch.tensor([1, 2]))  # error: an operator without a gradient
optim.Adamm([table], lr=0.1)  # error: no such optimizer

# Modules and optimizers
EmbeddingBag(5)  # error: the width is missing
EmbeddingBag(5, 2, mode="average")  # error: no such mode
SequencePool("average", depth=1)  # error: no such argument
optim.Adam([table])  # error: lr is missing
optim.Adam([table], lr=0.1, betas=(0.9, 0.99))  # error: no such attribute
