"""torch.save and torch.load of LoDTensors, SelectedRows and packed rows, without trust in the file."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch

import lodkit
import lodkit.interop.torch
from lodkit import LoDError, LoDTensor, PackedRows, SelectedRows


def save(x):
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return file


def load(file):
    return torch.load(file, weights_only=True)


VALUES = {
    "nested": LoDTensor(torch.arange(6.0), [[2, 1], [1, 2, 3]]),
    "rows": LoDTensor(torch.ones(5, 3, dtype=torch.bfloat16), [[2, 0, 3]]),
    "empty": LoDTensor(torch.zeros(0, dtype=torch.int64), [[]]),
    "structure alone": LoDTensor(None, [[2, 0, 1]]),
}


@pytest.mark.parametrize("name", VALUES)
def test_lod_tensors_are_loaded_without_trust(name):
    x = VALUES[name]
    made = load(save({"state": [x]}))["state"][0]
    assert made.recursive_sequence_lengths() == x.recursive_sequence_lengths()
    assert (made.values is None) == (x.values is None)
    if x.values is not None:
        assert made.values.dtype == x.values.dtype and torch.equal(made.values, x.values)


@pytest.mark.parametrize("merged", [False, True])
def test_selected_rows_are_loaded_without_trust(merged):
    x = SelectedRows([3, 1, 3], torch.tensor([[1.0], [2.0], [4.0]]), 5)
    x = x.merge() if merged else x
    made = load(save(x))
    assert made.rows.tolist() == x.rows.tolist() and made.height == 5 and made.is_merged == merged
    assert torch.equal(made.value, x.value)


def test_packed_rows_are_loaded_without_trust():
    packed = PackedRows(torch.from_numpy(lodkit.quantize_rows(np.ones((3, 4)), bits=4).values), bits=4)
    made = load(save(packed))
    assert made.bits == 4 and torch.equal(made.values, packed.values)


def test_a_file_that_lies_is_refused():
    function, (values, lod, base) = VALUES["nested"].__reduce__()
    longer = np.array([0, 1, 3, 9], "<i8").tobytes()
    with pytest.raises(LoDError, match="9"):
        function(values, (lod[0], longer), base)
    with pytest.raises(ValueError, match="buffer size"):
        function(values, (b"odd", lod[1]), base)


def test_only_what_is_named_is_loaded():
    class Strange:
        def __reduce__(self):
            return print, ("run",)

    with pytest.raises(pickle.UnpicklingError, match="print"):
        load(save({"x": Strange()}))


def test_pytorch_may_be_imported_first_or_last():
    code = """
import io, sys
{}
import lodkit, lodkit.interop.torch
assert ("torch" in sys.modules) == {}
lodkit.interop.torch.EmbeddingBag
import torch
file = io.BytesIO()
torch.save(lodkit.LoDTensor(torch.ones(3), [[1, 2]]), file)
file.seek(0)
print(torch.load(file, weights_only=True).lengths().tolist())
"""
    for first in (True, False):
        run = [sys.executable, "-c", code.format("import torch" if first else "", first)]
        assert subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip() == "[1, 2]"
