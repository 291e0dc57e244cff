"""Code as users write it, wrong: type checkers find an error in each marked line, and in no other; it raises there."""

from __future__ import annotations

import numpy as np

import lodkit
from lodkit import LoDTensor, SelectedRows, VarDesc
from lodkit.typing import Array

table = np.ones((5, 2))
ids = LoDTensor([1, 2, 2], [[2, 1]])
grad = SelectedRows([1], [[1.0, 2.0]], 5)

# Attributes
lodkit.embedding_bag(table, ids, pool="summ")  # error: no such pool
lodkit.sgd(table, grad)  # error: lr is missing
lodkit.sgd(table, grad, lr="0.1")  # error: lr is no text
lodkit.sgd(table, grad, lr=0.1, duplicates="ignore")  # error: no such way
lodkit.sgd(table, grad, lr=0.1, momentum=0.9)  # error: no such attribute
lodkit.sequence_pool(ids, pool="max", level="inner")  # error: level is a number
lodkit.dropout(table, rate=0.5)  # error: seed is missing
lodkit.relu(x=table)  # error: inputs are positional

# Inputs
lodkit.embedding_bag(table, np.array([1, 2]))  # error: ids without lengths
lodkit.sequence_pool(table)  # error: an array has no sequences
lodkit.merge_selected_rows(table)  # error: an array is no SelectedRows
lodkit.lookup_table(table)  # error: ids are missing
lodkit.relu("text")  # error: a text is no array
lodkit.sgd([1.0, 2.0], [1.0, 2.0], lr=0.1)  # error: a list cannot be updated in place
lodkit.adagrad(table, grad, lr=0.1)  # error: the moment is missing
lodkit.relu(table, table)  # error: one input too many

# Names
lodkit.embeding_bag(table, ids)  # error: no such operator
lodkit.LodTensor([1], [[1]])  # error: no such type
ids.lenghts()  # error: no such member
grad.to_array()  # error: no such member
ids.values = table  # error: read-only
lodkit.optim.Adamm({"table": table}, lr=0.1)  # error: no such optimizer

# Results and arguments of members
lodkit.sgd(table, grad, lr=0.1, out=table)  # error: an update takes no out
lodkit.fc(table, np.ones((2, 3)), out="result")  # error: a text is no array
LoDTensor("abc", [[3]])  # error: a text is no array
ids.to("gpu")  # error: no such device
ids.slice("0")  # error: an index is a number
VarDesc("x", "LOD_TENSOR", np.float32, (2,))  # error: a text is no VarType


@lodkit.op
def halved(x: lodkit.Dense, /, *, by: float) -> Array:
    """Return ``x / by``."""
    return np.asarray(x / by)


halved(table)  # error: by is missing
halved(table, by="2")  # error: by is a number
