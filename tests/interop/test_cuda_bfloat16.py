"""Tensors of bfloat16 on a GPU, emulated: kernels read and write the bits, other operators get copies in float32."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from emulated_torch import on_gpu
from samples import SAMPLES

import lodkit
from lodkit import SelectedRows
from lodkit.registry.kinds import numbers_of, with_numbers

HALF = torch.bfloat16


def halves_of(inputs):
    """Inputs over tensors: floating ones of bfloat16, so that none is wider."""
    for x in inputs:
        numbers = numbers_of(x)
        if not isinstance(numbers, np.ndarray):
            yield x
            continue
        is_floating = numbers.dtype.kind == "f"
        tensor = (
            torch.from_numpy(numbers.astype(np.float32)).to(HALF) if is_floating else torch.from_numpy(numbers.copy())
        )
        if isinstance(x, SelectedRows):
            yield SelectedRows(torch.from_numpy(x._rows.copy()), tensor, x.height)
        else:
            yield with_numbers(x, tensor)


NAMES = ["lookup_table", "lookup_table_grad", "embedding_bag", "embedding_bag_grad", "embedding_bag_weights_grad"]
NAMES += ["gather", "segment_reduce", "segment_reduce_grad", "sequence_pool", "sequence_pool_grad", "relu", "fc"]
NAMES += ["merge_selected_rows", "selected_rows_to_dense", "sum", "sgd", "adagrad", "adam", "rowwise_adagrad"]
NAMES += ["embedding_bag_sgd", "embedding_bag_adagrad", "sequence_softmax", "sequence_reverse", "layer_norm"]


@pytest.mark.parametrize("name", NAMES)
def test_gpu_gives_what_the_cpu_gives(name, monkeypatch):
    op = lodkit.OPS[name]
    inputs, attrs = SAMPLES[name][0]
    inputs = op._accept(inputs)
    expected, copies, widen = op.full(*halves_of(inputs), **attrs), [], torch.Tensor.float
    with on_gpu():
        monkeypatch.setattr(torch.Tensor, "float", lambda x: copies.append(x) or widen(x))
        found = op.full(*halves_of(inputs), **attrs)
        monkeypatch.undo()
    assert bool(copies) != op.takes_bfloat16
    found, expected = (x if isinstance(x, tuple) else (x,) for x in (found, expected))
    for got, want in zip(map(numbers_of, found), map(numbers_of, expected), strict=True):
        assert got.dtype is want.dtype
        torch.testing.assert_close(got.float(), want.float(), rtol=2**-7, atol=2**-7)
