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
        same(moved(found, to_numpy), defined(op, inputs, attrs))
