"""Wrong inputs of packing and padding on an emulated GPU, and Caffe2's names there."""

from __future__ import annotations

import pytest

pytest.importorskip("greenlet")
pytest.importorskip("numba_cuda")
pytest.importorskip("array_api_compat")

import emulated
import numpy as np
from test_cuda_laws import any_gpu  # noqa: F401
from test_padding import FOUR, ROWS, WRONG

import lodkit
from lodkit import caffe2


@pytest.mark.parametrize(("name", "inputs", "attrs", "error", "text"), WRONG)
def test_wrong_inputs_are_refused(name, inputs, attrs, error, text, gpu):
    if any(x.dtype == np.uint8 for x in inputs):
        pytest.skip("the CPU's error names the types that there are")
    with pytest.raises(error, match=text):
        lodkit.run(name, *map(gpu, inputs), **attrs)


def test_optional_inputs(gpu):
    padded, lengths = map(emulated.to_numpy, lodkit.add_padding(gpu(ROWS), None, None, gpu(np.ones(2))))
    assert padded[[0, -1]].tolist() == [[0, 0], [1, 1]] and lengths.tolist() == [6]


def test_gradients(gpu):
    rows, lengths, pad = gpu(ROWS), gpu(FOUR), gpu(np.ones(2))
    with lodkit.Tape() as tape:
        packed, mask = caffe2.PackSegments(lengths, rows, max_length=2, return_presence_mask=True)
        padded = caffe2.AddPadding(rows, lengths, pad, pad)[0]
    assert emulated.to_numpy(mask).tolist() == [[True, True], [True, False]]
    assert emulated.to_numpy(tape.gradient(packed, [rows])[0]).tolist() == [[1, 1], [1, 1], [0, 0], [1, 1]]
    assert emulated.to_numpy(tape.gradient(padded, [pad])[0]).tolist() == [4, 4]


def test_lengths_in_caffe2s_type(gpu):
    lengths, rows = caffe2.PadEmptySamples(gpu(np.array([3, 0, 1], np.int32)), gpu(ROWS))
    assert emulated.to_numpy(lengths).dtype == np.int32
    assert emulated.to_numpy(rows)[3].tolist() == [0, 0]
