"""What docs/interop.md, docs/torch.md and docs/training-loop.md show, run with the libraries; the line of SciPy."""

from __future__ import annotations

import doctest
import importlib.util
import pathlib
import re

import numpy as np
import pytest

from lodkit import LoDTensor

DOCS = pathlib.Path(__file__).parents[2] / "docs"


#: Sections that show a library -> the library: left out where it is missing.
SECTIONS = {"Hugging Face datasets": "datasets", "JAX": "jax", "xarray": "xarray"}


@pytest.mark.parametrize(
    ("page", "needs"),
    [
        ("interop.md", ("pyarrow", "polars", "awkward", "pandas")),
        ("torch.md", ("torch",)),
        ("training-loop.md", ("torch",)),
        ("../README.md", ("torch",)),
    ],
)
def test_a_page_runs(page, needs, tmp_path, monkeypatch):
    for library in needs:
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    text = (DOCS / page).read_text().replace("  # doctest: +SKIP", "")
    for heading, library in SECTIONS.items():
        if not importlib.util.find_spec(library):
            text = re.sub(rf"^## {heading}\n.*?(?=^## )", "", text, flags=re.M | re.S)
    test = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    assert len(test.examples) > 15
    assert not doctest.DocTestRunner().run(test).failed


def test_the_line_of_scipy():
    scipy = pytest.importorskip("scipy.sparse")
    matrix = scipy.csr_array(np.array([[0, 0.5, 0], [0.25, 0, 1]]))
    ids, scores = LoDTensor.from_scipy(matrix)
    assert (ids.to_list(), scores.to_list()) == ([[1], [0, 2]], [[0.5], [0.25, 1]])
    assert np.shares_memory(scores.values, matrix.data)
    assert (ids.to_scipy(scores).toarray() == matrix.toarray()).all()
