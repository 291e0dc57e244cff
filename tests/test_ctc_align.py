"""Alignment of CTC under Paddle's name: padded batches, and batches of which nothing is left."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor
from lodkit.paddle import run_op


@pytest.mark.parametrize("shape", [(2,), (2, 1)])
def test_padded(shape):
    x, lengths = np.array([[0, 1, 1, 0, 1], [2, 2, 9, 9, 9]], np.int32), np.array([5, 2]).reshape(shape)
    out = run_op("ctc_align", {"Input": x, "InputLength": lengths}, {"padding_value": -1})
    assert out["Output"].tolist() == [[1, 1, -1, -1, -1], [2, -1, -1, -1, -1]]
    assert out["Output"].dtype == np.int32
    assert out["OutputLength"].tolist() == [[2], [1]]


def test_nothing_is_left():
    x = LoDTensor(np.zeros((3, 1), np.int32), [[2, 1]])
    out = run_op("ctc_align", {"Input": x})["Output"]
    assert out.values.tolist() == [[-1]] and out.recursive_sequence_lengths() == [[0, 0]]
    assert lodkit.ctc_align(x).shape == (0, 1)


def test_bad_logits():
    with pytest.raises(ValueError, match=r"blank = 2 is outside \[0, 2\)"):
        lodkit.ctc_greedy_decode(LoDTensor(np.zeros((1, 2)), [[1]]), blank=2)
    with pytest.raises(lodkit.ShapeMismatchError, match=r"\(frames, classes\)"):
        lodkit.ctc_greedy_decode(LoDTensor(np.zeros(2), [[2]]))
    with pytest.raises(lodkit.DTypeError, match="takes integers, not"):
        lodkit.ctc_align(LoDTensor(np.zeros(2), [[2]]))
