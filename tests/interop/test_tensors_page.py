"""The examples of docs/interop.md that need PyTorch."""

from __future__ import annotations

import doctest
import pathlib

import pytest

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "interop.md"


def test_examples_with_tensors():
    pytest.importorskip("torch")
    section = PAGE.read_text().partition("## PyTorch tensors")[2].partition("\n## ")[0]
    test = doctest.DocTestParser().get_doctest(section.replace("# doctest: +SKIP", ""), {}, "PyTorch", str(PAGE), 0)
    assert len(test.examples) > 5
    assert doctest.DocTestRunner().run(test).failed == 0
