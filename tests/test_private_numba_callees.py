"""Internals of Numba, for functions that compiled code calls: tests like those of test_private_numba.py."""

from __future__ import annotations

import math
import sys

import numba
import numpy as np
import pytest
from numba.core import event
from test_private_numba import needed_for

from lodkit.jit import private_numba as private


@pytest.mark.jit
@needed_for("jitable(inline=True)", "jit/compiling.py")
def test_jitable_functions_are_inlined_on_demand():
    lines = "\n".join(f"    x = math.sin(x * {k}) / (x + {k}) + math.exp(x)" for k in range(40))

    def calls(inline):
        namespace = {"math": math}
        exec(f"def large_step(x):\n{lines}\n    return x", namespace)
        step = namespace["large_step"]
        private.inline_jitable(step, inline, True)
        caller = numba.njit(lambda x, y: step(x) + step(y))
        caller.compile((numba.float64, numba.float64))
        code = caller.inspect_llvm(caller.signatures[0])
        return [line for line in code.splitlines() if " call " in line and "large_step" in line]

    assert calls(False)
    assert not calls(True)


def twice(x):
    return 2 * x


@pytest.mark.jit
@needed_for("first calls that make machine code once", "jit/private_numba.py")
def test_what_only_compiled_code_calls_is_linked_into_it(monkeypatch):
    codegen = numba.core.codegen.JITCPUCodegen
    made, add_module = [], codegen._add_module
    monkeypatch.setattr(
        codegen, "_add_module", lambda self, module: made.append(module.name) or add_module(self, module)
    )
    private.inline_jitable(twice, False, True)
    caller = numba.njit(lambda x: twice(x) + 1)
    assert caller(20) == 41 and caller(0.5) == 2.0
    assert [name for name in made if "lambda" in name]
    assert not [name for name in made if "twice" in name]


class Wrong(ValueError):
    """An error of numbers: three, as no other code raises, which might have set what is needed for it."""


def checked(x):
    if x > 3:
        raise Wrong(x, x + 1, 0.5 * x)
    return x


def shown(x):
    print(x, 2 * x)
    return x


@pytest.mark.jit
@needed_for("errors with numbers in functions that compiled code calls", "jit/private_numba.py")
def test_a_function_that_only_compiled_code_calls_raises_and_prints_numbers(capsys):
    private.inline_jitable(checked, False, True)
    private.inline_jitable(shown, False, True)
    caller = numba.njit(lambda x: checked(x) + 1)
    assert caller(3) == 4
    with pytest.raises(Wrong) as raised:
        caller(4)
    assert raised.value.args == (4, 5, 2.0)
    assert numba.njit(lambda x: shown(x) + 1)(3) == 4
    assert capsys.readouterr().out == "3 6\n"


@pytest.mark.jit
@needed_for("jitable(nrt=False)", "jit/compiling.py")
def test_functions_do_without_numbas_runtime():
    def largest_twice(n):
        return np.full(n, 2.0).max()

    private.inline_jitable(largest_twice, True, False)
    caller = numba.njit(lambda n: largest_twice(n))
    with pytest.raises(numba.core.errors.NumbaError, match="Only accept returning of array"):
        caller.compile((numba.int64,))


@pytest.mark.jit
@needed_for("calls that count no references to arrays", "jit/private_lowering.py")
def test_python_calls_functions_that_return_numbers_without_numbas_runtime(tmp_path, monkeypatch):
    """What returns an array holds it; an error leaves no reference behind; parts of arrays and tuples are passed on."""
    monkeypatch.setenv("LODKIT_CACHE_DIR", str(tmp_path / "cache"))
    from lodkit.jit import njit, parallel_kernel, prange

    @njit
    def total(x, pair):
        if len(x) > 3:
            raise ValueError("too long")
        return x[1:].sum() + pair[0].reshape(1, -1)[0, 0], len(pair)

    @njit
    def tail(x):
        return x[1:]

    @njit
    def length(text):
        return len(text)

    @parallel_kernel
    def kernel(x, pair, out):
        for i in prange(len(x)):
            out[i] = x[i] + pair[1][0]
        return len(x)

    x, others, out = np.arange(3.0), (np.ones(2), np.ones(2)), np.empty(3)
    counts = [*map(sys.getrefcount, (x, *others, out))]
    for _ in range(3):
        assert total(x, others) == (4.0, 2) and kernel(3, x, others, out) == 3
        with pytest.raises(ValueError, match="too long"):
            total(np.arange(4.0), others)
    after = [*map(sys.getrefcount, (x, *others, out))]
    assert after == counts and out.tolist() == [1, 2, 3]
    text = "abc" * len(x)
    before = sys.getrefcount(text)
    assert length(text) == 9 and sys.getrefcount(text) == before
    before = sys.getrefcount(x)
    kept = tail(x)
    assert np.shares_memory(kept, x) and sys.getrefcount(x) == before + 1  # held by what was returned
    ir = [*total.inspect_llvm().values(), *kernel.compiled.inspect_llvm().values()]
    assert all("NRT_adapt_ndarray_from_python" not in code and "numba_adapt_ndarray" in code for code in ir)


@pytest.mark.jit
@needed_for("one version of a function for all callers", "jit/private_numba.py")
def test_callers_share_the_functions_that_they_call(tmp_path, monkeypatch):
    """Kernels and other callers do; so do callers that count references and callers that count none."""
    monkeypatch.setenv("LODKIT_CACHE_DIR", str(tmp_path / "cache"))
    from lodkit.jit import jitable, njit, parallel_kernel, prange

    @jitable
    def half_of(x):
        return x / 2

    @jitable(nrt=False)
    def next_of(x):
        return x + 1

    @jitable(nrt=False)
    def second_of(x):
        return next_of(next_of(x))

    @parallel_kernel
    def kernel(x, out):
        for i in prange(len(x)):
            out[i] = half_of(next_of(x[i]) + second_of(x[i]))

    @njit
    def caller(x, out):
        for i in range(len(x)):
            out[i] = half_of(next_of(x[i]) + second_of(x[i]))

    x, out = np.arange(3.0), np.empty((2, 3))
    with event.install_recorder("numba:compile") as compiled:
        kernel(3, x, out[0])
        caller(x, out[1])
    assert out.tolist() == [[1.5, 2.5, 3.5]] * 2
    names = [e.data["dispatcher"].py_func.__name__ for _, e in compiled.buffer if e.is_start]
    assert sorted(names) == ["caller", "half_of", "kernel", "next_of", "second_of"]
