"""Write the tables of names of other libraries into coming-from.md, from lodkit/registry/peers.

python docs/render_peers.py
"""

from __future__ import annotations

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))  # this checkout, not an installed copy

from page_parts import with_rows

from lodkit.registry.peers import TABLES, split_names

DOCS = pathlib.Path(__file__).parent
PAGE = DOCS / "coming-from.md"
BEGIN = "<!-- tables: docs/render_peers.py writes them -->\n"


def tables():
    """Every table below its heading."""
    for heading, rows in TABLES.items():
        words = heading == "What is not here"
        yield f"## {heading}\n"
        yield f"| {'looked for' if words else 'theirs'} | here |"
        yield "|---|---|"
        for key, answer in rows.items():
            names = ", ".join(split_names(key) if words else (f"`{name}`" for name in split_names(key)))
            yield f"| {names} | {answer.replace('|', chr(92) + '|')} |"
        yield ""


def page():
    """The page with its tables written anew."""
    return with_rows(PAGE, BEGIN, tables())


GENERATED = {PAGE: page}

if __name__ == "__main__":
    PAGE.write_text(page())
