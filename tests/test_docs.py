"""The generated page is current, links lead somewhere, and what pages show runs."""

from __future__ import annotations

import doctest
import importlib.util
import pathlib
import re

import pytest

import lodkit

DOCS = pathlib.Path(__file__).parents[1] / "docs"


def test_the_operators_page_is_current():
    spec = importlib.util.spec_from_file_location("generate_operators", DOCS / "generate_operators.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (DOCS / "operators.md").read_text() == module.text(), "run python docs/generate_operators.py"


@pytest.mark.parametrize("page", [*DOCS.glob("*.md"), DOCS.parent / "README.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target, anchor in re.findall(r"\]\(([^)#:]+)(#[^)]+)?\)", page.read_text()):
        assert (page.parent / target).exists(), target
        if anchor:
            assert f'<a id="{anchor[1:]}">' in (page.parent / target).read_text(), target + anchor


@pytest.mark.parametrize("name", ["caffe2", "features", "reductions", "representations"])
def test_what_a_page_shows_runs(name):
    page = DOCS / f"{name}.md"
    assert all(block.startswith(">>> ") for block in re.findall(r"```python\n(.*)", page.read_text()))
    assert not doctest.testfile(str(page), module_relative=False).failed


def test_the_page_of_caffe2_counts_its_names():
    assert f"There are {len(lodkit.caffe2.OPERATORS)} of them" in (DOCS / "caffe2.md").read_text()
