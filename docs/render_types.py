"""Write the table of number types into number-types.md, from what operators declare.

python docs/render_types.py
"""

from __future__ import annotations

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))  # this checkout, not an installed copy

from page_parts import with_rows

import lodkit
from lodkit import arrays

DOCS = pathlib.Path(__file__).parent
PAGE = DOCS / "number-types.md"
BEGIN = "<!-- types: docs/render_types.py writes them -->\n"


def operators_by_set():
    """For each set of types the operators whose values may have them, and inputs other than the first by name."""
    found = {}
    for name, op in lodkit.OPS.items():
        for given, types in op.types.items():
            place = "" if given == next(iter(op.inputs)) else f" ({given})"
            found.setdefault(types, []).append(f"`{name}`{place}")
    return found


def table():
    """Every set, its types and its operators but gradients, which are all floating."""
    found = operators_by_set()
    for types in (set_ for set_ in vars(arrays).values() if isinstance(set_, arrays.TypeSet)):
        names = sorted(name for name in found.get(types, ()) if not re.search("_grad`", name))
        yield f"## {types.name.capitalize()}\n"
        yield f"{types.meaning} {types.words[0].upper()}{types.words[1:]}. The result has {types.gives}.\n"
        yield f"{', '.join(names)}.\n"


def page():
    """The page with its table written anew."""
    return with_rows(PAGE, BEGIN, table())


GENERATED = {PAGE: page}

if __name__ == "__main__":
    PAGE.write_text(page())
