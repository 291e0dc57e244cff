"""PyTorch's tensors as arrays of a GPU: the library's own class, its memory on the CPU, kernels in the emulator."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("greenlet")
pytest.importorskip("numba_cuda")
pytest.importorskip("array_api_compat")

import torch
from conftest import copy
from emulated_torch import numbers, on_gpu
from samples import SAMPLES, defined
from test_every_op import same

import lodkit
from lodkit import LoDTensor, SelectedRows


def moved(x, to):
    """A value whose arrays went through ``to``."""
    if isinstance(x, tuple):
        return tuple(moved(y, to) for y in x)
    if isinstance(x, LoDTensor):
        return x.with_values(to(x.values))
    if isinstance(x, SelectedRows):
        return SelectedRows._wrap(to(x._rows), to(x.value), x.height, x.is_merged)
    return x if x is None else to(x)


def to_torch(x):
    return torch.from_numpy(np.array(x)) if isinstance(x, np.ndarray) else x


def to_numpy(x):
    return numbers(x.detach()) if isinstance(x, torch.Tensor) else x


@pytest.mark.parametrize("name", lodkit.OPS)
def test_kernels_equal_the_definition(name):
    op = lodkit.OPS[name]
    for inputs, attrs in SAMPLES[name]:
        given = [moved(x, to_torch) for x in op._accept(tuple(map(copy, inputs)))]
        with on_gpu():
            found = op.full(*given, **attrs)
        same(moved(found, to_numpy), defined(op, map(copy, inputs), attrs))


def negated(numbers):
    """A tensor whose memory holds these numbers with their signs to be changed: what ``y.conj().imag`` is."""
    return torch._neg_view(torch.tensor(numbers))


def test_negated_views_are_read_with_their_signs():
    values, table = negated([[1.0], [2.0], [4.0]]), negated([[8.0, 16.0]])
    assert values.is_contiguous() and values.is_neg()
    with on_gpu():
        pooled = lodkit.sequence_pool(LoDTensor(values, [[2, 1]]))
        rows = lodkit.lookup_table(table, torch.tensor([0, 0]))
    assert numbers(pooled).tolist() == [[-3.0], [-4.0]]
    assert numbers(rows).tolist() == [[-8.0, -16.0]] * 2


def test_negated_views_are_not_written():
    out, param = negated([[1.0], [2.0]]), negated([[1.0, 2.0]] * 3)
    with on_gpu():
        with pytest.raises(ValueError, match="negated view"):
            lodkit.relu(torch.ones(2, 1), out=out)
        with pytest.raises(ValueError, match="negated view"):
            lodkit.sgd(param, torch.ones(3, 2), lr=1.0)
    assert out.tolist() == [[-1.0], [-2.0]] and param.tolist() == [[-1.0, -2.0]] * 3
