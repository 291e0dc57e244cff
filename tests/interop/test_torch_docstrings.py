"""Examples in the docstrings of modules that import PyTorch."""

from __future__ import annotations

import doctest
import importlib

import pytest

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("name", ["bag_gradient", "modules", "optim"])
def test_docstrings(name):
    module = importlib.import_module(f"lodkit.interop.torch.{name}")
    found = doctest.testmod(module)
    assert not found.failed
    assert found.attempted or name == "optim"
