"""Write the map of rooms into architecture.md, from tests/test_layers.py and the rooms' docstrings.

python docs/render_rooms.py
"""

from __future__ import annotations

import ast
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))  # this checkout, not an installed copy

import test_layers
from page_parts import with_rows

DOCS = pathlib.Path(__file__).parent
PAGE = DOCS / "architecture.md"
BEGIN = "<!-- rooms: docs/render_rooms.py writes them -->\n"


def file_of(room):
    """The file whose docstring says what a room is for."""
    path = test_layers.PACKAGE.joinpath(*room.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def purpose(room):
    """The first line of a room's docstring."""
    line = ast.get_docstring(ast.parse(file_of(room).read_text())).partition("\n")[0]
    return line.replace("``", "`").replace("|", "\\|")


def imported_rooms():
    """For each room the rooms below that it imports from."""
    found = {}
    for file, module, is_package in (param.values for param in test_layers.modules()):
        room = test_layers.room_of(module)
        for target, *_ in test_layers.imports(file.read_text(), module, is_package):
            below = test_layers.room_of(target)
            if test_layers.HEIGHT[below] < test_layers.HEIGHT[room]:
                found.setdefault(room, set()).add(below)
    return found


def table():
    """The rooms from the top down."""
    found = imported_rooms()
    yield "| room | what it is for | imports from |"
    yield "|---|---|---|"
    for rooms in reversed(test_layers.LAYERS):
        for room in rooms:
            below = sorted(found.get(room, ()), key=lambda name: (-test_layers.HEIGHT[name], name))
            names = ", ".join(f"`{name.replace('.', '/')}`" for name in below)
            yield f"| `{room.replace('.', '/')}` | {purpose(room)} | {names} |"


def page():
    """The page with its table written anew."""
    return with_rows(PAGE, BEGIN, table())


GENERATED = {PAGE: page}

if __name__ == "__main__":
    PAGE.write_text(page())
