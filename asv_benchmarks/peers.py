"""Peer libraries, None where not installed."""

from __future__ import annotations

import importlib
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def _module(name):
    try:
        return importlib.import_module(name)
    except (ImportError, OSError):  # one for another version of PyTorch does not load
        return None


torch = _module("torch")
scipy = _module("scipy.sparse")
fbgemm = torch and _module("fbgemm_gpu") and torch.ops.fbgemm
tensorflow = _module("tensorflow")
awkward = _module("awkward")
pyarrow = _module("pyarrow")
polars = _module("polars")
torchcrf = torch and _module("torchcrf")
rapidfuzz = _module("rapidfuzz") and _module("rapidfuzz.distance") and _module("rapidfuzz")
jiwer = _module("jiwer")
