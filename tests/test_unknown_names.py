"""Names of reductions and rules that have no case raise: no last ``else`` stands for one of them."""

from __future__ import annotations

import ast
import itertools
import pathlib

import numpy as np
import pytest

import lodkit
from lodkit.kernels.common import gates
from lodkit.kernels.cpu import conversions, sequence_arithmetic
from lodkit.kernels.cpu.primitives import gradients, reduce
from lodkit.ops import conversions as definitions
from lodkit.ops import sequence_arithmetic as arithmetic
from lodkit.ops.shared import recurrent, reductions

X, GRAD, OFFSETS, WEIGHTS = np.ones((3, 2)), np.ones((2, 2)), np.array([0, 1, 3]), np.ones(3)
CALLS = {
    "a reduction": lambda name: reductions.reduce_segments(X, OFFSETS, None, name, 0.0),
    "a weighted one": lambda name: reductions.reduce_segments(X, OFFSETS, WEIGHTS, name, 0.0),
    "its gradient": lambda name: reductions.reduce_segments_grad(X, OFFSETS, None, None, GRAD, name),
    "by weights": lambda name: reductions.weights_grad(X, OFFSETS, WEIGHTS, GRAD, GRAD, name),
    "compiled": lambda name: reduce.reduce_into(X, None, None, None, OFFSETS, name, 0.0),
    "compiled gradient": lambda name: gradients.values_grad(X, None, None, OFFSETS, None, GRAD, GRAD, name),
    "compiled, weighted": lambda name: gradients.values_grad(X, None, None, OFFSETS, WEIGHTS, GRAD, GRAD, name),
    "compiled by weights": lambda name: gradients.weights_grad(X, None, None, OFFSETS, WEIGHTS, GRAD, GRAD, name),
    "segments": lambda name: definitions.to_offsets([1, 2], name, 3),
    "compiled segments": lambda name: conversions.to_offsets(np.array([1, 2]), name, 3),
    "an activation": lambda name: recurrent.activate(name, X),
    "its slope": lambda name: recurrent.slope(name, X),
    "compiled activation": gates.number_functions,
    "an operation": lambda name: arithmetic.finish_gradient(GRAD, GRAD, name),
    "compiled operation": lambda name: sequence_arithmetic.values_grad(name, False, X, GRAD, X, OFFSETS),
}


@pytest.mark.parametrize("name", CALLS)
def test_they_raise(name):
    with pytest.raises(KeyError, match="median"):
        CALLS[name]("median")


@pytest.mark.parametrize("place", ["cuda"], indirect=True)
def test_they_raise_on_a_gpu(place):
    from lodkit.arrays.cuda.memory import view
    from lodkit.kernels.cuda import conversions, sequence_arithmetic
    from lodkit.kernels.cuda.primitives import gradients, reduce

    x, grad = view(place.to(X)), view(place.to(GRAD))
    for call in (
        lambda name: reduce.reduce_into(x, None, None, None, OFFSETS, name, 0.0),
        lambda name: gradients.values_grad(x, None, None, OFFSETS, None, grad, grad, name),
        lambda name: conversions.to_offsets(place.to(np.array([1, 2])), name, 3),
        lambda name: sequence_arithmetic.values_grad(name, False, x, grad, x, OFFSETS),
    ):
        with pytest.raises(KeyError, match="median"):
            call("median")


#: Variables that hold such a name.
NAMES = {"by", "op", "pool", "reduce", "rule"}


def compared(node):
    """The variable that an ``if`` compares with names; None for another one."""
    test = node.test if isinstance(node, ast.If | ast.IfExp) else None
    if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and isinstance(test.ops[0], ast.Eq | ast.In):
        return test.left.id if test.left.id in NAMES else None
    return None


def chain(node):
    """The variable of a chain of two or more cases, and the nodes of its last ``else``."""
    variable, cases = compared(node), 0
    while variable and compared(node) == variable:
        cases, rest = cases + 1, node.orelse
        node = rest if isinstance(node, ast.IfExp) else rest[0] if len(rest) == 1 else None
    return (variable, rest if isinstance(rest, list) else [rest]) if cases > 1 else (None, [])


def test_a_last_else_raises_or_looks_the_name_up():
    """By it: the variable stands in the last ``else`` again."""
    for file in pathlib.Path(lodkit.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            variable, rest = chain(node)
            inside = itertools.chain.from_iterable(map(ast.walk, rest))
            found = [x for x in inside if isinstance(x, ast.Raise) or (isinstance(x, ast.Name) and x.id == variable)]
            assert found or not rest, f"{file}:{node.lineno}: a last else stands for one of {variable}"
