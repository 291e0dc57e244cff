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
import types

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.lod.elsewhere import MissingName
from lodkit.registry import Op
from lodkit.registry.docstrings import entries, sections


def test_help_shows_an_operator_as_a_function():
    shown = pydoc.render_doc(lodkit.embedding_bag, renderer=pydoc.plaintext)
    head, signature, text = re.fullmatch(r"(.*)\n\n(.*?-> [^\n]*)\n(.*)", shown, re.S).groups()
    signature = " ".join(signature.split()).replace("( ", "(").replace(" )", ")")  # 3.14 has a line for each input
    assert re.search(r"(Op|method descriptor embedding_bag) in module lodkit\.ops\.embedding$", head)
    assert signature == f"embedding_bag{lodkit.embedding_bag.signature}"
    assert "table: Dense, ids: LoDTensor" in signature
    assert "pool: BagPool = 'sum'" in signature
    assert signature.endswith("-> Dense | LoDTensor")
    assert text.startswith("    Look up and pool in one pass: ")
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
assert found["docstring"].startswith("Update ``param -= lr * grad``"), found
"""


def test_ipython_shows_the_signature(tmp_path):
    pytest.importorskip("IPython")
    env = {**os.environ, "IPYTHONDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", IPYTHON], check=True, env=env)


NAMES = [name for name in dir(lodkit) if not name.startswith("_")]


def members(cls):
    """Public members that a class defines or inherits from another of lodkit's, by name."""
    found = {}
    for base in (c for c in reversed(cls.__mro__) if c.__module__.startswith("lodkit")):
        found |= {name: x for name, x in vars(base).items() if not name.startswith("_")}
    slots = (types.MemberDescriptorType, MissingName)  # attributes, which the class's own text describes
    return {name: x for name, x in found.items() if not isinstance(x, slots)}


@pytest.mark.parametrize("name", NAMES)
def test_every_name_has_text_and_a_signature(name):
    x = getattr(lodkit, name)
    assert inspect.getdoc(x), name
    shown = pydoc.render_doc(x, renderer=pydoc.plaintext)
    assert inspect.getdoc(x).partition("\n")[0] in shown
    if isinstance(x, type):
        assert x.__doc__ != getattr(x.__mro__[1], "__doc__", None), "inherited"
    if callable(x) and not (isinstance(x, type) and issubclass(x, Exception)):
        assert inspect.signature(x) is not None
    if isinstance(x, type) and not issubclass(x, Exception | int):
        for member, value in members(x).items():
            assert inspect.getdoc(value) or not callable(getattr(x, member)), f"{name}.{member}"
            assert not isinstance(value, property) or value.fget.__doc__, f"{name}.{member}"


MODULES = [name for name in lodkit._MODULES if name not in ("interop", "typing")]


@pytest.mark.parametrize("name", [*MODULES, "interop.arrow", "interop.torch"])
def test_names_of_modules_have_text(name):
    if name == "interop.torch":
        pytest.importorskip("torch")
    module = importlib.import_module(f"lodkit.{name}")
    names = getattr(module, "__all__", None) or getattr(module, "OPERATORS", None) or module._HOMES
    assert names
    for x in names:
        assert inspect.getdoc(getattr(module, x)), x


def test_completion_offers_public_names_only():
    assert {*NAMES} == {*lodkit._public()}


TABLE = np.arange(8.0).reshape(4, 2)
INTEGERS = LoDTensor([1, 2], [[1, 1]])
RAISED = {
    "embedding_bag": {
        "RowIndexError": (TABLE, LoDTensor([0, 9], [[1, 1]])),
        "LoDMismatchError": (TABLE, INTEGERS, LoDTensor([1.0, 2.0], [[2]])),
        "LoDLevelError": (TABLE, LoDTensor([1, 2])),
        "DTypeError": (TABLE, LoDTensor([1.0], [[1]])),
        "ValueError": (TABLE, INTEGERS, np.ones(2), {"pool": "max"}),
    },
    "sequence_pool": {
        "LoDLevelError": (INTEGERS, {"level": 3}),
        "DTypeError": (INTEGERS, {"pool": "mean"}),
        "ValueError": (INTEGERS, {"return_index": True}),
    },
    "sgd": {
        "RowIndexError": (SelectedRows([1], TABLE[:1].copy(), 4), SelectedRows([3], TABLE[:1], 4)),
        "ShapeMismatchError": (TABLE, SelectedRows([1], TABLE[:1], 9)),
        "DTypeError": (TABLE, TABLE.astype(np.float32)),
        "OutputError": (TABLE, TABLE),
    },
}


@pytest.mark.parametrize("name", RAISED)
def test_what_is_taken_and_raised_is_documented(name):
    op = lodkit.OPS[name]
    found = sections(op)[1]
    taken = [one for names, _, _ in entries(found["Parameters"]) for one in names.split(", ")]
    assert taken == [*op.inputs, *op.defaults] or taken == [*op.inputs, "lr", *op.defaults]
    assert found["Returns"]
    assert [error for error, _, _ in entries(found["Raises"])] == [*RAISED[name]]
    for error, inputs in RAISED[name].items():
        attrs = {"lr": 1.0} if name == "sgd" else {}
        if isinstance(inputs[-1], dict):
            *inputs, attrs = inputs
        before = copy.deepcopy(inputs)
        with pytest.raises(getattr(lodkit, error, ValueError)) as raised:
            op(*inputs, **attrs)
        assert type(raised.value).__name__ == error
        assert repr(before) == repr(inputs)
