"""The concat law on the emulated GPU, in tiles of 3 rows: a batch has the bits of its sequences."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("greenlet")
pytest.importorskip("numba_cuda")
pytest.importorskip("array_api_compat")

from batches_apart import calls_of, check_apart, find_batched, representatives
from calls import calling
from emulated import to_numpy
from test_batches_apart import EXCEPTIONS, READ
from test_cuda_laws import any_gpu  # noqa: F401

import lodkit
from lodkit.kernels.cuda.primitives import offsets
from lodkit.registry.kinds import numbers_of


def size_of(call):
    return sum(np.size(numbers_of(x)) for x in call[0] if x is not None)


@pytest.mark.parametrize("name", [name for name in READ if name not in EXCEPTIONS])
def test_a_batch_has_the_bits_of_its_parts(name, gpu, monkeypatch):
    for setting in ("tile_rows", "run_rows", "warp_rows"):
        monkeypatch.setattr(offsets.settings, setting, 3)
    rng, op = np.random.default_rng(0), lodkit.OPS[name]
    for inputs, attrs in sorted(representatives(name), key=size_of):
        batched, apart = find_batched(op, inputs, attrs, rng)
        if batched is not None:
            with calling(name, inputs, attrs, "cuda"):
                check_apart(op, attrs, calls_of(inputs, batched, 2, rng), batched, apart, gpu, to_numpy)
            return
