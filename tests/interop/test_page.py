"""What docs/interop.md shows of Arrow and awkward, run with the libraries; the table's lines are calls that exist."""

from __future__ import annotations

import doctest
import pathlib
import re

import numpy as np
import pytest

from lodkit import LoDTensor

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "interop.md"


def test_the_sections_run(tmp_path, monkeypatch):
    for library in ("pyarrow", "polars", "awkward"):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text()
    sections = "".join(re.search(rf"\n## {name}\n.*?(?=\n## |\Z)", text, re.S)[0] for name in ("Arrow", "Awkward"))
    runner, parser = doctest.DocTestRunner(), doctest.DocTestParser()
    test = parser.get_doctest(sections.replace("  # doctest: +SKIP", ""), {}, PAGE.name, str(PAGE), 0)
    assert len(test.examples) > 15
    assert not runner.run(test).failed


def test_the_line_of_scipy():
    scipy = pytest.importorskip("scipy.sparse")
    matrix = scipy.csr_array(np.array([[0, 0.5, 0], [0.25, 0, 1]]))
    ids, scores = LoDTensor.from_scipy(matrix)
    assert (ids.to_list(), scores.to_list()) == ([[1], [0, 2]], [[0.5], [0.25, 1]])
    assert np.shares_memory(scores.values, matrix.data)
    assert (ids.to_scipy(scores).toarray() == matrix.toarray()).all()
