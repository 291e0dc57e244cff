"""Features whose values are on a GPU, emulated: lengths and keys stay on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("greenlet")
pytest.importorskip("numba_cuda")
pytest.importorskip("array_api_compat")

from emulated import to_numpy
from test_cuda_laws import any_gpu  # noqa: F401

import lodkit
from lodkit import Features, LoDTensor, SelectedRows, caffe2

PAGE = [{1: [10, 11], 3: [101]}, {1: [11], 2: [50], 3: [102, 103]}]


def test_read_merged_and_brought_back(gpu):
    page = Features.from_list(PAGE)
    there = page.to("cuda")
    assert there.device == "cuda" and isinstance(there.keys, np.ndarray)
    assert to_numpy(there.feature(3)).to_list() == [[101], [102, 103]]
    assert there.to_list() == PAGE and there.to("cpu") == page
    assert there.merge(there).to("cpu") == page.merge(page)
    assert repr(there).endswith("dtype=int64, device='cuda')")
    assert there[1:].to_list() == PAGE[1:]
    columns = {key: there.feature(key) for key in (1, 2, 3)}
    presence = {key: gpu(there.has(key).astype(np.int32)) for key in columns}
    assert Features.from_columns(columns, presence).to("cpu") == page


def test_pooled_with_sparse_gradients(gpu):
    page, tables = Features.from_list(PAGE), {3: np.arange(416.0).reshape(104, 4), 1: np.ones((12, 1))}
    there = {key: gpu(table) for key, table in tables.items()}
    with lodkit.Tape() as tape:
        pooled = page.to("cuda").pool(there)
    np.testing.assert_allclose(to_numpy(pooled), page.pool(tables))
    gradient = to_numpy(tape.gradient(pooled, [there[3]])[0])
    assert isinstance(gradient, SelectedRows) and gradient.rows.tolist() == [101, 102, 103]


def test_maps_pool_weighted(gpu):
    scores, table = Features.from_list([{1: {10: 0.5, 11: 0.25}}, {}]), np.arange(24.0).reshape(12, 2)
    there, on_gpu = scores.to("cuda"), gpu(table)
    with lodkit.Tape() as tape:
        pooled = there.pool({1: on_gpu})
    np.testing.assert_allclose(to_numpy(pooled), scores.pool({1: table}))
    assert to_numpy(tape.gradient(pooled, [there.values])[0]).to_list() == [[[41.0, 45.0]], []]


def test_caffe2_names_take_gpu_values(gpu):
    lengths, values = np.array([1, 1], np.int32), gpu(np.array([10, 11], np.float32))
    here = gpu(np.array([0, 1], np.int32))
    with lodkit.Tape() as tape:
        merged = caffe2.MergeSingleListFeatureTensors(lengths, values, here, feature_ids=[7])
    assert isinstance(merged[3], type(values)) and to_numpy(merged[3]).tolist() == [11]
    assert merged[1].tolist() == [7] and merged[2].tolist() == [1]
    assert to_numpy(tape.gradient(merged[3], [values])[0]).tolist() == [0, 1]


def test_wrong_inputs_raise_there_too(gpu):
    ints = gpu(LoDTensor(np.array([1, 2]), [[1, 1]]))
    with pytest.raises(lodkit.DTypeError, match="input 1 is int64"):
        lodkit.merge_features(gpu(LoDTensor(np.ones(2), [[1, 1]])), ints)
    with pytest.raises(lodkit.DeviceError, match="different devices"):
        lodkit.merge_features(LoDTensor(np.array([1, 2]), [[1, 1]]), ints)
    with pytest.raises(lodkit.DTypeError, match="the gradient takes"):
        lodkit.merge_features_grad(gpu(np.ones(2)), ints)
