"""Every operator takes PyTorch's CPU tensors, and gives what it gives of NumPy arrays, as tensors."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import flat
from samples import SAMPLES

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.registry.tensors import holds_tensors

torch = pytest.importorskip("torch")

CASES = [pytest.param(n, *case, id=f"{n}-{i}") for n, cases in SAMPLES.items() for i, case in enumerate(cases)]


def tensors(x):
    """A copy of a value over tensors; what PyTorch cannot hold, and no array, as it is."""
    if isinstance(x, LoDTensor):
        return x if x.values is None else x.with_values(tensors(x.values))
    if isinstance(x, SelectedRows):
        return x._with_value(tensors(x.value))
    if isinstance(x, np.ndarray) and x.dtype.kind in "biuf":
        return torch.from_numpy(np.array(x, x.dtype.newbyteorder("="), order="C"))
    if isinstance(x, tuple):
        return tuple(map(tensors, x))
    return x


def same(got, expected):
    """Same kinds, structure, types and bits; tensors for arrays."""
    if isinstance(expected, LoDTensor | SelectedRows):
        assert type(got) is type(expected)
        if isinstance(expected, SelectedRows):
            assert got.height == expected.height and got.is_merged == expected.is_merged
            np.testing.assert_array_equal(got.rows, expected.rows)
            same(got.value, expected.value)
        else:
            assert got.lod() == expected.lod()
            same(got.values, expected.values)
    elif isinstance(expected, tuple | list):
        assert type(got) is type(expected) and len(got) == len(expected)
        for g, e in zip(got, expected, strict=True):
            same(g, e)
    elif isinstance(expected, np.ndarray | np.generic) and expected.dtype.kind in "biuf":
        assert isinstance(got, torch.Tensor)
        assert got.numpy().dtype == expected.dtype and tuple(got.shape) == expected.shape
        np.testing.assert_array_equal(got.numpy(), expected)
    else:
        assert type(got) is type(expected)


def copy(x):
    """A copy of an input; of SelectedRows one that is merged if they are."""
    if isinstance(x, LoDTensor | SelectedRows):
        return x.with_values(x.values.copy()) if isinstance(x, LoDTensor) else x._with_value(x.value.copy())
    return x.copy() if isinstance(x, np.ndarray) else x


def plain(x):
    """What a value consists of, as arrays: for comparison."""
    return [part.numpy() if isinstance(part, torch.Tensor) else np.asarray(part) for part in flat(x)]


@pytest.mark.parametrize(("name", "inputs", "attrs"), CASES)
def test_tensors_give_what_arrays_give(name, inputs, attrs):
    op = lodkit.OPS[name]
    given = tuple(map(tensors, inputs))
    if not holds_tensors(given):
        pytest.skip("no input of this sample can be a tensor")
    expected = op(*map(copy, inputs), **attrs)
    result = op(*given, **attrs)
    same(result, expected)
    results = result if isinstance(result, tuple) else (result,)
    for x, before, label in zip(given, inputs, op._names(given), strict=True):
        if label in op.updates:
            assert any(x is r for r in results)
        else:
            for a, b in zip(plain(x), plain(before), strict=True):
                np.testing.assert_array_equal(a, b)


FEW = [
    pytest.param(name, *case, id=f"{name}-{i}")
    for name, cases in SAMPLES.items()
    for i, case in list(enumerate(cases))[:: max(1, len(cases) // 2)]
]


def strided(x):
    """The same values with gaps between rows."""
    if isinstance(x, LoDTensor | SelectedRows):
        values = strided(x.values if isinstance(x, LoDTensor) else x.value)
        return x.with_values(values) if isinstance(x, LoDTensor) else x._with_value(values)
    if not isinstance(x, torch.Tensor) or not x.ndim:
        return x
    return torch.stack([x, x], 1)[:, 0]


@pytest.mark.parametrize(("name", "inputs", "attrs"), FEW)
def test_mixtures_and_gaps_give_the_same(name, inputs, attrs):
    """Every second input a tensor, then the others; then all of them with gaps, but what is updated."""
    op = lodkit.OPS[name]
    expected = op(*map(copy, inputs), **attrs)
    labels = op._names(inputs)
    for which in (0, 1, None):
        given = [tensors(x) if which is None or i % 2 == which else copy(x) for i, x in enumerate(inputs)]
        if which is None:
            given = [x if label in op.updates else strided(x) for x, label in zip(given, labels, strict=True)]
        result = op(*given, **attrs)
        results, expecteds = (x if isinstance(x, tuple) else (x,) for x in (result, expected))
        for x, label in zip(given, labels, strict=True):
            assert label not in op.updates or any(x is r for r in results)
        for r, e in zip(results, expecteds, strict=True):
            if any(r is x for x in given) or not holds_tensors(given):
                for a, b in zip(plain(r), plain(e), strict=True):
                    np.testing.assert_array_equal(a, b)
            else:
                same(r, e)
