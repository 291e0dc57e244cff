"""Tensors of bfloat16 on a GPU, emulated: kernels read and write the bits, other operators get copies in float32."""

from __future__ import annotations

import importlib.util

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
NAMES += ["embedding_bag_sgd", "embedding_bag_adagrad", "sequence_softmax", "layer_norm"]
NAMES += ["sequence_reverse", "sequence_slice", "sequence_expand", "pack_segments", "lengths_pad", "concat_columns"]


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


def test_masks():
    lengths = torch.tensor([2, 0, 3])
    with on_gpu():
        found = lodkit.sequence_mask(lengths, dtype="bfloat16", max_length=4)
        halves = lodkit.sequence_mask(lengths, dtype="float16", max_length=4)
    assert (found.dtype, halves.dtype) == (HALF, torch.float16)
    assert found.tolist() == halves.tolist() == [[1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 0]]


@pytest.mark.jit
@pytest.mark.skipif(importlib.util.find_spec("nvidia") is None, reason="the CUDA compiler is not installed")
def test_machine_code_of_kernels(monkeypatch):
    """Of bags of 64 columns, and updates: rows are loaded 16 bytes at a time, nothing is spilled."""
    pytest.importorskip("numba_cuda")
    from lodkit.arrays.cuda import launcher

    table, launched = torch.randn(6, 64).to(HALF), {}
    with on_gpu():
        run = launcher.runner

        def note(kernel, blocks, block, args, exact):
            launched[kernel, tuple(map(launcher.type_name, args))] = None
            run(kernel, blocks, block, args, exact)

        monkeypatch.setattr(launcher, "runner", note)
        ids = lodkit.LoDTensor(torch.tensor([1, 1, 5]), [[2, 1]])
        lodkit.embedding_bag(table, ids)
        lodkit.sgd(table, SelectedRows(torch.tensor([1, 4, 1]), torch.ones(3, 64).to(HALF), 6), lr=0.5)
        monkeypatch.undo()
    halves = [(kernel, names) for kernel, names in launched if "int16*" in names]
    wide = 0
    for kernel, names in halves:
        code, _, report = launcher.machine_code(kernel, names, (8, 0))
        assert code[:4] == b"\x7fELF" and report["stack"] == report["spills"] == report["doubles"] == 0, report
        wide += report["wide_loads"]
    assert len(halves) >= 2 and wide
