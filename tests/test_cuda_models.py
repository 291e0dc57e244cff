"""The models of the main job on a GPU, emulated: the same scores and gradients as on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("greenlet")
pytest.importorskip("numba_cuda")
pytest.importorskip("array_api_compat")

from emulated import to_numpy
from gpus import PLACES, install

from lodkit import LoDTensor, SelectedRows
from lodkit.demo.config import Config
from lodkit.demo.models import MODELS
from lodkit.demo.train import Model


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", MODELS)
def test_models_learn_there_too(name, place, monkeypatch):
    install(monkeypatch, place, 3)
    ids = LoDTensor(np.array([1, 2, 1, 3, 0]), [[2, 1], [2, 1, 2]] if name == "nested" else [[3, 2]])
    here, there = (Model(4, 2, Config(model=name, dim=4), device) for device in ("cpu", "cuda"))
    (loss, expected), (found_loss, found) = (model.gradients(ids, np.array([1, 0])) for model in (here, there))
    assert found_loss == pytest.approx(loss, rel=1e-5)
    for x, y in zip(expected, map(to_numpy, found), strict=True):
        assert isinstance(y, type(x))
        dense = [g.to_dense() if isinstance(g, SelectedRows) else g for g in (x, y)]
        np.testing.assert_allclose(dense[1], dense[0], rtol=1e-4, atol=1e-6)
    there.optimizer.step(found)
