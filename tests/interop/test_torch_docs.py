"""Docstrings and the page's section on training in PyTorch: they run, and name what exists."""

from __future__ import annotations

import doctest
import importlib
import pathlib
import re

import pytest

torch = pytest.importorskip("torch")
PAGE = pathlib.Path(__file__).parents[2] / "docs" / "interop.md"
SECTION = re.search(r"\n## Training in PyTorch\n.*?(?=\n## |\Z)", PAGE.read_text(), re.S)[0]


@pytest.mark.parametrize("name", ["bag_gradient", "modules", "optim"])
def test_docstrings(name):
    module = importlib.import_module(f"lodkit.interop.torch.{name}")
    found = doctest.testmod(module)
    assert not found.failed
    assert found.attempted or name == "optim"


def test_the_section_runs():
    test = doctest.DocTestParser().get_doctest(SECTION.replace("  # doctest: +SKIP", ""), {}, PAGE.name, str(PAGE), 0)
    assert len(test.examples) > 10
    assert not doctest.DocTestRunner().run(test).failed


def test_the_replacements_exist():
    """Each line of the table is a call that can be made."""
    from lodkit.interop.torch import EmbeddingBag, SequencePool, optim

    rows = [
        line.split("|")[1:3] for line in SECTION.splitlines() if line.startswith("| `torch") or "SequencePool(" in line
    ]
    param = torch.nn.Parameter(torch.ones(2))
    given = {"n": 3, "d": 2, "params": [param], "lr": 0.1, "b1": 0.9, "b2": 0.99, "e": 1e-8, "torch": torch}
    names = {"EmbeddingBag": EmbeddingBag, "SequencePool": SequencePool, "optim": optim}
    assert len(rows) == 7
    for theirs, mine in rows:
        for cell in (theirs, mine):
            (call,) = re.findall(r"`([^`]*)`", cell)[:1]
            if "(" in call and not call.startswith("embeddings"):
                assert eval(call, {**given, **names}) is not None
