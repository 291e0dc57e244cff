"""Old names of attributes in the functions for PyTorch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import lodkit.interop.torch  # noqa: E402
from lodkit import LoDTensor  # noqa: E402


def test_a_gradient_of_a_call_with_an_old_name():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with pytest.warns(DeprecationWarning, match="padded_length is renamed to max_length") as warned:
        padded, _ = lodkit.interop.torch.sequence_pad(LoDTensor(x, [[1, 2]]), padded_length=1, truncate=True)
    assert [warning.filename for warning in warned] == [__file__]
    padded.sum().backward()
    assert x.grad.tolist() == [1, 1, 0]
