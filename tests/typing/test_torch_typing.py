"""What type checkers know of ``lodkit.interop.torch``."""

from __future__ import annotations

import ast
import inspect
import pathlib

import pytest
from sampled_calls import torch_text
from test_typing import ROOT, TYPING, check, mypy, pyright, run_statements

import lodkit

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("checker", [mypy, pyright], ids=lambda checker: checker.__name__)
def test_right_code_passes_and_wrong_code_does_not(checker, tmp_path):
    module = lodkit.interop.torch
    listed = [*module._HOMES, *(name for name, op in lodkit.OPS.items() if op.gradient_rule)]
    names = "import lodkit\n" + "".join(f"lodkit.interop.torch.{name}\n" for name in listed)
    names += "".join(f"lodkit.interop.torch.optim.{name}\n" for name in module.optim.__all__)
    check(checker, tmp_path, {"names": names, "calls": torch_text()}, "correct_torch", "wrong_torch")


def test_right_code_runs():
    for line, error in run_statements((TYPING / "correct_torch.py").read_text()):
        assert error is None, (line, error)


def test_wrong_code_raises_where_checkers_find_it():
    text = (TYPING / "wrong_torch.py").read_text()
    lines = text.splitlines()
    for line, error in run_statements(text):
        assert (error is not None) == ("  # error" in lines[line - 1]), (lines[line - 1], error)


def declared(file):
    """Parameters of each class of a stub: names, and texts of defaults."""
    for node in ast.parse(pathlib.Path(file).read_text()).body:
        if isinstance(node, ast.ClassDef):
            (init,) = (n for n in node.body if isinstance(n, ast.FunctionDef))
            names = [a.arg for a in (*init.args.args[1:], *init.args.kwonlyargs)]
            defaults = [None] * (len(names) - len(init.args.kw_defaults)) + init.args.kw_defaults
            yield node.name, dict(zip(names, defaults, strict=True))


def test_optimizers_have_the_attributes_of_their_stub():
    optim = lodkit.interop.torch.optim
    stub = dict(declared(ROOT / "lodkit" / "interop" / "torch" / "optim.pyi"))
    assert sorted(stub) == sorted(optim.__all__)
    for name in {*stub} - {"Optimizer"}:
        parameters = inspect.signature(getattr(optim, name)).parameters
        assert {*stub[name]} == {*parameters}, name
        for attribute, given in stub[name].items():
            default = parameters[attribute].default
            assert (given is None) == (default is inspect.Parameter.empty), (name, attribute)
            assert given is None or ast.literal_eval(given) == default, (name, attribute)
