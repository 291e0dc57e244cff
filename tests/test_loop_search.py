"""Loops that a launcher may run are found in the code that it names."""

from __future__ import annotations

import functools
import sys
import types
from unittest.mock import MagicMock

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor
from lodkit.jit import njit, parallel_kernel, prange
from lodkit.jit.inspecting import functions_of
from lodkit.kernels.cpu import segments
from lodkit.kernels.cpu.primitives import device, gather, reduce
from lodkit.registry.kernel import code_of
from lodkit.registry.loop_search import find_loops


@njit
def _double(x, out):
    for i in range(len(x)):
        out[i] = 2 * x[i]


@functools.cache
def _choose_kernel(width):
    @parallel_kernel
    def kernel(x, out):
        for i in prange(len(x)):
            out[i] = width * x[i]

    return kernel


def _prepare(x):
    out = np.empty(len(x))
    _double(x, out)
    return out


def _launch(on, x):
    def finish(y):
        return kernels_of_tests._choose_kernel(3)(len(y), y, y)

    return finish(_prepare(x)), on.fill(x, on.merge_rows)


class Namespace(types.ModuleType):
    """A module that makes up members, as ``torch.ops`` does."""

    def __getattr__(self, name):
        return Namespace(name)


def _marked(x):
    return x


_marked.kernel, _marked.loop_on = 3, 4
strange = Namespace("strange"), types.SimpleNamespace(entry=3, kernel=4, py_func=5), MagicMock()
namespace, numbers, mock = strange


def _launch_among_strange_values(on, x, size: int = 3):
    kernel = njit(_prepare)
    plain = lambda y: y  # noqa: E731  no loop: a name is set in between

    @njit
    def annotated(x: np.ndarray, y=numbers):
        return x

    return (
        namespace.ops.aten(x),
        numbers.entry,
        mock.kernel,
        mock(_marked(x)),
        on.fill(x.merge_rows, plain(kernel)),
        annotated,
    )


def test_other_values_are_left_alone():
    found = find_loops(_launch_among_strange_values, device)
    assert [code.co_name for code in found] == ["annotated", "_double"]
    assert not mock.mock_calls
    nameless = types.FunctionType(_walk_in_circles.__code__, {}, "nameless")
    assert nameless.__module__ is None and find_loops(nameless, device) == {}


class Chosen:
    """A class of kernels: what its methods name is found."""

    def __init__(self, width):
        self.kernel = _choose_kernel(width)

    @property
    def double(self):
        return _double


def _launch_by_class(on, x):
    return Chosen(3).double(x)


def test_methods_of_a_class_are_followed():
    names = [code.co_qualname for code in find_loops(_launch_by_class, device)]
    assert names == ["_choose_kernel.<locals>.kernel", "_double"]
    reduced = lodkit.segment_reduce.select(np.ones((6, 3)), np.array([3, 3]))
    assert "sum_kernel.kernel" in [loop.name for loop in reduced.loops()]


def _walk_in_circles(on, x):
    return _walk_in_circles(on, _missing(x) if x else on.nothing)  # noqa: F821


kernels_of_tests = sys.modules[__name__]


def test_the_loops_that_a_launcher_names_are_found():
    """In its own code and that of nested functions, of functions that it names, of modules, of the device."""
    found = find_loops(_launch, device)
    names = [code.co_qualname for code in found]
    assert names[0] == "_choose_kernel.<locals>.kernel" and names[1] == "_double" and "_runs" in names
    assert found[code_of(_double)] is _double
    assert find_loops(_walk_in_circles, device) == {}


@pytest.mark.jit
def test_a_loop_of_a_template_has_the_functions_that_were_made():
    code = next(iter(find_loops(_launch, device)))
    before = [*functions_of(code)]
    made = [_choose_kernel(width) for width in (1, 2)]
    made[1](3, np.ones(3), np.ones(3))
    assert functions_of(code) == [*before, *(kernel.compiled for kernel in made)]
    x = LoDTensor(np.arange(6.0).reshape(3, 2), [[1, 2]])
    lodkit.sequence_cumsum(x)
    kernel = lodkit.sequence_cumsum.select(x)
    assert kernel.template == "_kernel" and kernel.loop.function.py_func.__name__ == "kernel"
    assert kernel.loop.signatures and "define" in kernel.llvm()
    assert "which may launch _kernel.kernel" in repr(kernel)
    assert lodkit.relu.select(np.ones(3)).template is None and lodkit.relu.select(np.ones(3)).loop is None


ROWS = np.arange(12, dtype=np.float32).reshape(6, 2)
NUMBERS, UNSORTED = ROWS[:, 0].copy(), np.array([2, 0, 1, 1, 0, 2])
PACKED = lodkit.quantize_rows(np.repeat(ROWS, 2, axis=1))
CALLS = {
    "sums": (lodkit.segment_reduce, (ROWS, np.array([2, 4])), {}),
    "maxima": (lodkit.segment_reduce, (ROWS, np.array([2, 4])), {"reduce": "max"}),
    "sums of numbers": (lodkit.segment_reduce, (NUMBERS, np.array([2, 4])), {}),
    "numbers that are scattered": (lodkit.segment_reduce, (NUMBERS, UNSORTED), {"by": "unsorted_ids"}),
    "counted segments": (lodkit.segment_reduce, (NUMBERS, UNSORTED), {"by": "unsorted_ids", "reduce": "mean"}),
    "rows that are sorted": (lodkit.segment_reduce, (ROWS, UNSORTED), {"by": "unsorted_ids", "reduce": "mean"}),
    "bags": (lodkit.embedding_bag, (ROWS, LoDTensor(UNSORTED, [[2, 4]])), {"pool": "max"}),
    "pools": (lodkit.sequence_pool, (LoDTensor(ROWS, [[2, 4]]),), {"pool": "logsumexp"}),
    "rows": (lodkit.gather, (ROWS, UNSORTED), {}),
    "columns": (lodkit.gather, (ROWS, UNSORTED % 2), {"axis": 1}),
    "rows of a batch": (lodkit.batch_gather, (ROWS[None], UNSORTED), {}),
    "packed bags": (lodkit.quantized_embedding_bag, (PACKED, LoDTensor(UNSORTED, [[2, 4]])), {"pool": "mean"}),
    "look-ups": (lodkit.lookup_table, (ROWS, UNSORTED), {}),
}


@pytest.mark.parametrize("call", CALLS)
def test_the_loops_that_templates_choose_are_those_that_run(call, monkeypatch, forget_plans):
    (op, inputs, attrs), ran = CALLS[call], []
    said = [loop.function for loop in op.explain(*inputs, **attrs).loops]
    for module, name in ((reduce, "choose_kernel"), (gather, "choose_gather"), (segments, "_kernel")):
        choose = getattr(module, name)
        note = functools.partial(lambda choose, *given: ran.append(choose(*given)) or ran[-1], choose)
        monkeypatch.setattr(module, name, note)
    forget_plans()
    op(*inputs, **attrs)
    assert said == [found[0] if isinstance(found, tuple) else found for found in ran]
