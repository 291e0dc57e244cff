"""Tensors of integers and flags go through the operators that arrays go through, and come back in their type."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor

torch = pytest.importorskip("torch")

TYPES = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.bool, torch.uint16, torch.uint32, torch.uint64]
CALLS = {
    "reverse": lambda x: lodkit.sequence_reverse(x),
    "concat": lambda x: lodkit.sequence_concat(x, x),
    "slice": lambda x: lodkit.sequence_slice(x, 0, 1),
    "pad": lambda x: lodkit.sequence_pad(x)[0],
    "gather": lambda x: lodkit.gather(x.values, [2, 0]),
    "sum": lambda x: lodkit.sequence_pool(x),
    "max": lambda x: lodkit.sequence_pool(x, pool="max"),
    "mean": lambda x: lodkit.sequence_pool(x, pool="mean", dtype="float64"),
    "cumsum": lambda x: lodkit.sequence_cumsum(x),
    "last": lambda x: lodkit.sequence_pool(x, pool="last"),
}


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_tensors_give_what_arrays_give(name, dtype):
    values = torch.tensor([[1, 0], [3, 1], [0, 2]]).to(dtype)
    got = CALLS[name](LoDTensor(values, [[2, 1]]))
    expected = CALLS[name](LoDTensor(values.numpy(), [[2, 1]]))
    got, expected = (x.values if isinstance(x, LoDTensor) else x for x in (got, expected))
    assert isinstance(got, torch.Tensor)
    assert got.numpy().dtype == expected.dtype
    np.testing.assert_array_equal(got.numpy(), expected)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.uint32, torch.uint64], ids=str)
def test_a_module_takes_ids_of_every_integer_type(dtype):
    module = lodkit.interop.torch.EmbeddingBag(5, 4)
    ids = torch.tensor([[1, 2], [3, 4]])
    torch.testing.assert_close(module(ids.to(dtype)), module(ids), rtol=0, atol=0)


def test_a_module_names_ids_that_int64_does_not_hold():
    module = lodkit.interop.torch.EmbeddingBag(5, 4)
    with pytest.raises(lodkit.RowIndexError, match=r"input\[0, 1\] = 9223372036854775808 is above 2\^63 - 1"):
        module(torch.from_numpy(np.array([[1, 2**63]], np.uint64)))
    with pytest.raises(lodkit.DTypeError, match=r"input must be integers, not torch\.bool"):
        module(torch.tensor([[True]]))
