"""What a failure of a generic test says of its call."""

from __future__ import annotations

import re

import numpy as np
import pytest
from calls import calling

import lodkit
from lodkit import LoDTensor, SelectedRows


def failure(name, inputs, attrs, device="cpu"):
    with pytest.raises(AssertionError) as caught, calling(name, inputs, attrs, device):
        np.testing.assert_array_equal(np.nan, 1.0)
    return "\n".join(caught.value.__notes__)


def test_it_names_the_operator_its_inputs_and_attributes_and_the_kernel():
    x = LoDTensor(np.float32([[1, 2], [3, 4], [5, 6]]), [[2, 1]])
    text = failure("sequence_pool", [x], {"pool": "max"})
    said = r"in sequence_pool\(x=LoDTensor\(float32\[3, 2\]=\[\[1.0, 2.0\].*\[\[2, 1\]\]\), pool='max'\)\n"
    assert re.match(said + r" *cpu kernel: kernels/common/sequence_pool\.py:\d+$", text)


def test_it_names_the_kernel_of_the_kinds_and_no_long_arrays():
    param, grad = np.zeros((100, 2)), SelectedRows([1], np.ones((1, 2)), 100)
    text = failure("sgd", [param, grad], {"lr": 0.5})
    assert "param=float64[100, 2], grad=SelectedRows(int64[1]=[1], float64[1, 2]=[[1.0, 1.0]], 100), lr=0.5" in text
    assert "cpu kernel: kernels/common/updates.py:" in text


def test_nothing_is_added_where_nothing_fails():
    with calling("relu", [np.ones(2)], {}):
        lodkit.relu(np.ones(2))
