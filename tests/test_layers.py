"""Rooms import only from rooms below them: every import is read, those inside functions too."""

from __future__ import annotations

import ast
import pathlib
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
    ("interop", "recurrent"),
    ("features", "tables"),
    ("storage",),
    ("distributed",),
    ("caffe2", "paddle"),
    ("plot", "testing"),
    ("__init__",),
    ("demo",),
    ("__main__",),
)
HEIGHT = {room: height for height, rooms in enumerate(LAYERS) for room in rooms}

# (importing module, imported room): why this one import may climb. All of them are lazy.
ALLOWED = {
    ("lod.selected_rows", "ops"): "merge, to_dense and + are operators, so that a tape records them",
    ("lod.coordinates", "interop"): "methods that forward to functions which need SciPy and PyTorch",
    ("lod.columnar", "interop"): "methods that forward to functions which need ctypes, pyarrow and awkward",
    ("lod.numba_types", "interop"): "the types of arguments of a user's compiled functions, which load Numba",
    ("lod.nested_tensors", "interop"): "methods that forward to functions which need PyTorch",
    ("lod.sparse_matrix", "ops"): "methods that forward to operators",
    ("lod.sparse_matrix", "interop"): "methods that forward to functions which need SciPy and operators",
}


def room_of(module):
    """The room of a module, by its dotted name inside the package."""
    parts = module.split(".")
    if parts[0] == "kernels":
        return ".".join(parts[:2]) if len(parts) > 1 else "kernels"
    return parts[0] or "__init__"


def imports(source, module, is_package=False):
    """The modules of the package that a source imports, with line and whether at the top of the file."""
    tree = ast.parse(source)
    top = {id(node) for node in tree.body}
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            base = [*base, *(node.module.split(".") if node.module else [])]
            for alias in node.names:
                yield _existing([*base, alias.name]), node.lineno, id(node) in top
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "lodkit":
            for alias in node.names:
                yield _existing([*node.module.split(".")[1:], alias.name]), node.lineno, id(node) in top
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "lodkit":
                    yield _existing(alias.name.split(".")[1:]), node.lineno, id(node) in top


def _existing(parts):
    """The module that a dotted name leads to: its last part may be a name inside the module."""
    path = PACKAGE.joinpath(*parts)
    return ".".join(parts if path.is_dir() or path.with_suffix(".py").exists() else parts[:-1])


def climbs(source, module, is_package=False):
    """Imports from a room that is not below, as messages."""
    height = HEIGHT[room_of(module)]
    for target, line, _ in imports(source, module, is_package):
        room = room_of(target)
        if room != room_of(module) and HEIGHT[room] >= height and (module, room) not in ALLOWED:
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


def test_every_allowed_climb_is_lazy_and_used():
    found = {}
    for file, module, is_package in (p.values for p in modules()):
        for target, _, top in imports(file.read_text(), module, is_package):
            found.setdefault((module, room_of(target)), []).append(top)
    for climb in ALLOWED:
        assert not any(found[climb]), climb
