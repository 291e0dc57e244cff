"""Rooms import only from rooms below them: every import is read, those inside functions too."""

from __future__ import annotations

import ast
import graphlib
import pathlib
import re
import textwrap

import pytest

import lodkit

PACKAGE = pathlib.Path(lodkit.__file__).parent

# From the ground up; rooms of one tuple do not import each other.
LAYERS = (
    ("base",),
    ("jit",),
    ("arrays",),
    ("lod",),
    ("typing",),
    ("registry",),
    ("tape",),
    ("ops",),
    ("kernels",),
    ("kernels.common",),
    ("kernels.cpu", "kernels.cuda"),
    ("optim",),
    ("interop",),
    ("models",),
    ("distributed",),
    ("caffe2", "paddle"),
    ("plot", "testing"),
    ("__init__",),
    ("demo",),
    ("__main__",),
)
HEIGHT = {room: height for height, rooms in enumerate(LAYERS) for room in rooms}

#: Modules of rooms above that methods of values forward to, by name: no import climbs.
FORWARDED = {
    "interop.arrow.exporting",
    "interop.arrow.reading",
    "interop.awkward",
    "interop.coo",
    "interop.numba.objects",
    "interop.scipy",
    "interop.torch.nested",
    "ops",
    "ops.row_selection",
    "ops.selected_rows",
}


def room_of(module):
    """The room of a module, by its dotted name inside the package."""
    parts = module.split(".")
    if parts[0] == "kernels":
        return ".".join(parts[:2]) if len(parts) > 1 else "kernels"
    return parts[0] or "__init__"


def imports(source, module, is_package=False):
    """The modules of the package that a source imports, with their lines."""
    tree = ast.parse(source)
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            base = [*base, *(node.module.split(".") if node.module else [])]
            for alias in node.names:
                yield _existing([*base, alias.name]), node.lineno
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "lodkit":
            for alias in node.names:
                yield _existing([*node.module.split(".")[1:], alias.name]), node.lineno
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "lodkit":
                    yield _existing(alias.name.split(".")[1:]), node.lineno


def _existing(parts):
    """The module that a dotted name leads to: its last part may be a name inside the module."""
    path = PACKAGE.joinpath(*parts)
    return ".".join(parts if path.is_dir() or path.with_suffix(".py").exists() else parts[:-1])


def climbs(source, module, is_package=False):
    """Imports from a room that is not below, as messages."""
    height = HEIGHT[room_of(module)]
    for target, line in imports(source, module, is_package):
        room = room_of(target)
        if room != room_of(module) and HEIGHT[room] >= height:
            yield f"{module}:{line} imports {target or 'lodkit'}, which stands above it"


def modules():
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = file.relative_to(PACKAGE).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package and len(parts) > 1 else parts)
        if name not in ("__init__", "kernels"):
            yield pytest.param(file, name, is_package, id=name)


@pytest.mark.parametrize(("file", "module", "is_package"), [*modules()])
def test_rooms_import_only_from_below(file, module, is_package):
    assert not [*climbs(file.read_text(), module, is_package)]


@pytest.mark.parametrize(
    "source",
    [
        "from ..ops import sgd",
        "def f():\n    from ..ops.optimizers import sgd",
        "def f():\n    from .. import ops",
        "import lodkit.ops",
        "def f():\n    from lodkit import OPS",
        "class A:\n    def f(self):\n        import lodkit.kernels.cpu.embedding",
    ],
)
def test_an_upward_import_is_found(source):
    assert [*climbs(source, "lod.lod_tensor")]
    assert not [*climbs(textwrap.dedent(source), "demo.train")]


def test_no_room_is_in_a_circle():
    """Of the entries of the package, whatever the order above says: what one imports does not lead back to it."""
    below = {}
    for file, module, is_package in (p.values for p in modules()):
        for target, _ in imports(file.read_text(), module, is_package):
            below.setdefault(module.split(".")[0], set()).add(target.split(".")[0] or "__init__")
    graph = {room: targets - {room} for room, targets in below.items()}
    order = [*graphlib.TopologicalSorter(graph).static_order()]  # a CycleError names the rooms of a circle
    assert order.index("base") < order.index("lod") < order.index("registry") < order.index("interop")


def test_methods_forward_to_modules_above_by_names_that_are_there():
    """And only methods of values do: other rooms have no reason to."""
    found = {}
    for file, module, _ in (p.values for p in modules()):
        for name in re.findall(r"""\bmodule_above\("(.*?)"\)""", file.read_text()):
            found.setdefault(name, set()).add(room_of(module))
    assert found == {name: {"lod"} for name in FORWARDED}
    for name in FORWARDED:
        assert _existing(name.split(".")) == name
        assert HEIGHT[room_of(name)] > HEIGHT["lod"]
