"""Reductions of long segments on a GPU, in tiles: as accurate as those of short ones."""

from __future__ import annotations

import pytest

pytest.importorskip("greenlet")
pytest.importorskip("numba_cuda")
pytest.importorskip("array_api_compat")

import numpy as np
from emulated import to_numpy
from test_cuda_laws import any_gpu  # noqa: F401

import lodkit
from lodkit import LoDTensor
from lodkit.kernels.cuda.primitives import offsets


def test_long_sums_keep_their_accuracy(gpu, monkeypatch):
    """Levels of tiles: 20,000 equal numbers in one segment, and for one row of a gradient."""
    monkeypatch.setattr(offsets.settings, "tile_rows", 16)
    monkeypatch.setattr(offsets.settings, "run_rows", 16)
    n = 20_000
    ones = np.full((n, 1), 0.7, np.float32)
    exact = n * np.float64(np.float32(0.7))
    for item in (1, 2):
        values = gpu(LoDTensor(np.repeat(ones, item, axis=1), [[n, 0]]))
        total = to_numpy(lodkit.sequence_pool(values, pool="sum"))
        np.testing.assert_allclose(total[0], exact, rtol=1e-6)
        assert not total[1].any()
        mean = to_numpy(lodkit.sequence_pool(values, pool="mean"))
        np.testing.assert_allclose(mean[0], exact / n, rtol=1e-6)


@pytest.mark.parametrize("columns", [1, 2])
def test_means_of_exponentials_keep_their_accuracy(gpu, columns, monkeypatch):
    """Of equal numbers it is the number: the logarithm of a sum, less that of the rows, loses what is left of both."""
    monkeypatch.setattr(offsets.settings, "tile_rows", 4)
    rng = np.random.default_rng(0)
    equal = np.repeat(np.array([1.3, -7.7], np.float32), [500, 70])
    values = np.concatenate([equal, rng.normal(size=100)]).astype(np.float32)
    x = LoDTensor(np.repeat(values[:, None], columns, axis=1), [[500, 70, 0, 13, 87]])
    found = to_numpy(lodkit.sequence_pool(gpu(x), pool="logmeanexp", pad_value=5.0))
    assert found[:3].tolist() == [[np.float32(1.3)] * columns, [np.float32(-7.7)] * columns, [5.0] * columns]
    exact = [np.log(np.exp(part.astype(np.float64)).mean()) for part in (values[570:583], values[583:])]
    np.testing.assert_allclose(found[3:], np.repeat(np.array(exact)[:, None], columns, axis=1), rtol=1e-6)
