"""Operators look like functions to help(), inspect, doctest and IPython."""

from __future__ import annotations

import copy
import doctest
import importlib
import inspect
import os
import pickle
import pydoc
import re
import subprocess
import sys

import numpy as np
import pytest

import lodkit
from lodkit.registry import Op


def test_help_shows_an_operator_as_a_function():
    shown = pydoc.render_doc(lodkit.embedding_bag, renderer=pydoc.plaintext)
    head, signature, text = re.fullmatch(r"(.*)\n\n(.*?-> [^\n]*)\n(.*)", shown, re.S).groups()
    signature = re.sub(r"\(\s+", "(", re.sub(r"\s+", " ", signature)).replace(
        " )", ")"
    )  # 3.14 has a line for each input
    assert re.search(r"(Op|method descriptor embedding_bag) in module lodkit\.ops\.embedding$", head)
    assert signature == f"embedding_bag{lodkit.embedding_bag.signature}"
    assert "table: Dense, ids: LoDTensor" in signature
    assert "pool: BagPool = 'sum'" in signature
    assert signature.endswith("-> Dense | LoDTensor")
    assert text.startswith("    Look up and pool: ")
    assert "cpu" not in shown
    assert "__call__" not in shown


@pytest.mark.parametrize("name", ["sgd", "embedding_bag_sgd", "relu", "adagrad"])
def test_help_of_a_family_lists_its_operators_as_functions(name):
    family = importlib.import_module(lodkit.OPS[name].__module__)
    functions = pydoc.render_doc(family, renderer=pydoc.plaintext).partition("\nFUNCTIONS")[2]
    assert f"\n    {name}(" in functions


def test_help_loads_no_kernel():
    code = "import lodkit, pydoc, sys; pydoc.render_doc(lodkit.sgd); assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", lodkit.OPS)
def test_an_operator_has_what_functions_have(name):
    op = lodkit.OPS[name]
    assert inspect.isroutine(op)
    assert op.__name__ == op.__qualname__ == name
    assert op.__module__.startswith("lodkit.ops.")
    assert inspect.getdoc(op)
    assert op.__wrapped__ is op.definition
    signature = inspect.signature(op)
    assert signature == op.signature
    assert [*signature.parameters] == [*op.inputs, *(p for p in signature.parameters if p not in op.inputs)]
    assert inspect.getsourcefile(inspect.unwrap(op)).endswith(".py")


def test_an_operator_stays_an_object():
    op = lodkit.relu
    assert isinstance(op, Op)
    assert pickle.loads(pickle.dumps(op)) is copy.copy(op) is copy.deepcopy(op) is op

    class Model:
        layer = op

        def run(self, x):
            return self.layer(x)

    assert Model.layer is Model().layer is op
    np.testing.assert_array_equal(Model().run(np.array([-1.0, 2.0])), [0, 2])
    assert repr(op).startswith("relu(x: Dense, /) -> Dense\n  cpu ")


def test_doctest_finds_the_examples_of_operators():
    families = {op.definition.__module__ for op in lodkit.OPS.values()}
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = {test.name for family in families for test in finder.find(importlib.import_module(family))}
    assert {f"{op.definition.__module__}.{name}" for name, op in lodkit.OPS.items()} <= found


IPYTHON = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell()
shell.run_cell("import lodkit")
found = shell.object_inspect("lodkit.sgd")
assert found["definition"].startswith("lodkit.sgd("), found
assert "lr: Scalar" in found["definition"], found
assert found["docstring"].startswith("``param -= lr * grad``"), found
"""


def test_ipython_shows_the_signature(tmp_path):
    pytest.importorskip("IPython")
    env = {**os.environ, "IPYTHONDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", IPYTHON], check=True, env=env)
