"""The generated page is current, and links lead somewhere."""

from __future__ import annotations

import importlib.util
import pathlib
import re

import pytest

DOCS = pathlib.Path(__file__).parents[1] / "docs"


def test_the_operators_page_is_current():
    spec = importlib.util.spec_from_file_location("generate_operators", DOCS / "generate_operators.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (DOCS / "operators.md").read_text() == module.text(), "run python docs/generate_operators.py"


@pytest.mark.parametrize("page", [*DOCS.glob("*.md"), DOCS.parent / "README.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target
