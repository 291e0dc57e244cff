"""Ids on the emulated GPU: sorts of every width, and the wrong inputs of the families that sort them."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("greenlet")
pytest.importorskip("numba_cuda")
pytest.importorskip("array_api_compat")

import test_id_lists
import test_lengths
import test_shards
from conftest import flat
from emulated import to_numpy
from ids_outside import check_operator, documents_ids, smallest
from test_cuda_laws import any_gpu  # noqa: F401

import lodkit
from lodkit import LoDTensor
from lodkit.kernels.cuda.primitives import offsets, small_group_by, sort

#: Operators that take ids, and gradients, whose documentation leaves errors to that of the operator.
TAKE_IDS = [name for name, op in lodkit.OPS.items() if documents_ids(op) or name.endswith("_grad")]
WRONG = [*test_id_lists.WRONG, *test_lengths.WRONG, *test_shards.WRONG]


@pytest.mark.parametrize("few", [0, 1024])
@pytest.mark.parametrize("name", test_id_lists.RANGES)
def test_ids_of_every_range(name, few, gpu, monkeypatch):
    monkeypatch.setattr(small_group_by, "MAX_COMPARED_IDS", few)
    monkeypatch.setattr(sort, "ITEMS", 1)
    monkeypatch.setattr(sort, "WIDE_ITEMS", 1)
    rng = np.random.default_rng(0)
    low, high = test_id_lists.RANGES[name]
    ids = rng.choice(rng.integers(low, high, 20, endpoint=True), 70)
    lists = [LoDTensor(ids, [[20, 0, 50]]), LoDTensor(ids[:9], [[4, 5, 0]])]
    for op, inputs, attrs in (
        ("unique", (ids,), {"return_inverse": True, "return_counts": True}),
        ("find_duplicate_elements", (ids,), {}),
        ("find", (ids, ids[:5] + 1), {}),
        ("merge_id_lists", lists, {}),
    ):
        expected = lodkit.OPS[op].definition(*inputs, **attrs)
        found = to_numpy(lodkit.OPS[op](*map(gpu, inputs), **attrs))
        for got, wanted in zip(flat(found), flat(expected), strict=True):
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(("name", "inputs", "attrs", "error", "text"), WRONG)
def test_wrong_inputs(name, inputs, attrs, error, text, gpu):
    arrays = [x if isinstance(x, LoDTensor) else np.asarray(x) for x in inputs]
    with pytest.raises(error):
        lodkit.OPS[name](*map(gpu, arrays), **attrs)


@pytest.mark.parametrize("k", [1, 2, 40])
def test_the_largest_of_long_segments(k, gpu, monkeypatch):
    """Tiles of 4 rows, and tiles of those; more than are worth it are looked for in whole segments."""
    monkeypatch.setattr(offsets.settings, "tile_rows", 4)
    values = np.random.default_rng(0).integers(0, 30, 120).astype(np.float32)
    values[[3, 50, 51]] = np.nan
    lengths = np.array([1, 100, 0, 19])
    found = to_numpy(lodkit.lengths_top_k(gpu(values), gpu(lengths), k=k))
    expected = lodkit.lengths_top_k.definition(values, lengths, k=k)
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("name", TAKE_IDS)
def test_ids_that_are_no_rows(name, gpu):
    check_operator(name, smallest(name), gpu, "cuda")
