"""What pages of the documentation define, for tests that train or check it further."""

from __future__ import annotations

import doctest
import pathlib

DOCS = pathlib.Path(__file__).parents[1] / "docs"
DEFINES = ("import ", "from ", "def ", "class ")


def definitions(page):
    """Run the imports of a page, its functions, classes and constants, and nothing else. Returns names and values."""
    found = {}
    for example in doctest.DocTestParser().get_examples((DOCS / page).read_text()):
        constant = example.source.split(" = ")[0].isupper()
        if constant or example.source.startswith(DEFINES):
            exec(compile(example.source, f"{page}, line {example.lineno + 1}", "exec"), found)
    return found
