"""Threads of BLAS in matrix products of operators and gradients."""

from __future__ import annotations

import ast
import contextlib
import os
import pathlib
import threading

import numpy as np
import pytest

import lodkit
from lodkit.jit import blas, limits, threading_layer

WORTH = blas.THREAD_PRODUCTS
PACKAGE = pathlib.Path(lodkit.__file__).parent


@pytest.fixture
def openblas(monkeypatch):
    """The numbers of threads that an OpenBLAS of 8 threads is given."""
    given = [8]
    monkeypatch.setattr(blas, "find_openblas", lambda: (lambda: given[-1], given.append))
    monkeypatch.setattr(limits, "threads", 4)
    monkeypatch.setattr(blas, "get_num_threads", lambda: limits.threads)
    return given


def seen(openblas, products):
    return blas.share_product(products, lambda: openblas[-1])


def test_a_product_gets_the_threads_that_it_is_worth(openblas, monkeypatch):
    for products, threads in ((1, 1), (2 * WORTH - 1, 1), (2 * WORTH, 2), (3 * WORTH, 3), (100 * WORTH, 4)):
        assert (seen(openblas, products), openblas[-1]) == (threads, 8)
    monkeypatch.setattr(limits, "threads", 1)
    assert seen(openblas, 2**30) == 1
    monkeypatch.setattr(limits, "threads", 16)
    before = len(openblas)
    assert seen(openblas, 2**30) == 8
    assert len(openblas) == before


def test_small_products_ask_for_nothing(openblas):
    a = np.ones((100, 100), np.float32)
    assert (blas.multiply(a, a) == 100).all()
    assert openblas == [8]
    a = np.ones((200, 200), np.float32)
    assert (blas.multiply(a, a) == 200).all()
    assert openblas == [8, 1, 8]


def test_threads_are_given_back_after_an_error(openblas):
    with pytest.raises(ValueError, match="mismatch"):
        blas.multiply(np.ones((2000, 2000)), np.ones((3, 2)))
    with pytest.raises(ZeroDivisionError):
        blas.share_product(1, lambda: 1 / 0)
    assert openblas[-1] == 8
    assert not blas._inside


def test_threads_are_given_back_by_the_last_of_several(openblas):
    entered, leave = threading.Event(), threading.Event()

    def wait():
        entered.set()
        assert leave.wait(60)

    other = threading.Thread(target=blas.share_product, args=(1, wait))
    other.start()
    assert entered.wait(60)
    assert seen(openblas, 2**26) == 1
    assert openblas[-1] == 1
    leave.set()
    other.join()
    assert openblas[-1] == 8
    assert not blas._inside


def test_a_product_inside_a_product_as_a_signal_s_handler_calls_it(openblas):
    assert blas.share_product(1, seen, openblas, 2**26) == 4
    assert openblas[-1] == 8
    assert not blas._inside


def test_what_an_interrupt_left_is_taken_out_by_the_next_product(openblas):
    seen(openblas, 1)
    blas._inside[threading.get_ident()] = 1
    openblas.append(1)
    assert seen(openblas, 1) == 1
    assert openblas[-1] == 8
    assert not blas._inside


def test_another_blas_is_left_alone(monkeypatch):
    monkeypatch.setattr(blas, "find_openblas", lambda: None)
    a = np.ones((200, 200))
    out = np.empty_like(a)
    assert blas.multiply(a, a, out, np.dot) is out
    assert (out == 200).all()


FOUND = """
from lodkit.jit import blas
if blas.find_openblas() is None or blas.find_openblas()[0]() < 2:
    print("absent")
    raise SystemExit
get = blas.find_openblas()[0]
"""


@pytest.fixture
def run_openblas(run_threads):
    def run(code, **env):
        # A line, as the fixture removes the indentation that all lines share.
        found = run_threads(FOUND + code, OPENBLAS_NUM_THREADS="2", **env)
        if found == ["absent"]:
            pytest.skip("NumPy has no OpenBLAS with two threads here")
        return found

    return run


def test_one_setting_for_kernels_and_products(run_openblas):
    code = """
print(blas.share_product(1, get), blas.share_product(2**26, get), get())
set_num_threads(1)
print(blas.share_product(2**26, get), get())
"""
    assert run_openblas(code) == ["1", "2", "2", "1", "2"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_forked_during_a_product_has_all_threads(run_openblas):
    code = """
entered, leave = threading.Event(), threading.Event()
thread = threading.Thread(target=lambda: blas.share_product(1, lambda: (entered.set(), leave.wait())))
thread.start()
entered.wait()
print(get(), in_child(lambda: get() == 2 and blas.share_product(1, get) == 1 and get() == 2), get())
leave.set()
thread.join()
print(get())
"""
    assert run_openblas(code)[-4:] == ["1", "True", "1", "2"]


def products_in(path):
    """Lines of a module that multiply matrices by NumPy or a namespace of arrays."""
    for node in ast.walk(ast.parse(path.read_text())):
        called = node.func if isinstance(node, ast.Call) else None
        by_name = (
            isinstance(called, ast.Attribute)
            and called.attr in ("matmul", "dot", "einsum", "tensordot", "vdot", "inner")
            and isinstance(called.value, ast.Name)
            and called.value.id in ("np", "xp")
        )
        if by_name or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)):
            yield f"{path.name}:{node.lineno}"


def test_products_of_kernels_and_gradients_go_by_multiply():
    files = [*PACKAGE.glob("kernels/c[op]*/**/*.py"), PACKAGE / "tape" / "array_gradients.py"]
    assert len(files) > 50
    direct = [place for path in files for place in products_in(path)]
    assert not direct, f"call lodkit.jit.blas.multiply, or on.multiply_arrays in kernels/common, at {direct}"


@pytest.mark.parametrize("product", [lambda x, w: x @ w, lambda x, w: lodkit.fc(x, w, None)])
def test_products_on_a_tape(openblas, product):
    x, w = lodkit.parameter(np.full((200, 200), 2.0)), lodkit.parameter(np.full((200, 200), 3.0))
    with lodkit.Tape() as tape:
        total = product(x, w).sum()
    by_x, by_w = tape.gradient(total, [x, w])
    assert (by_x == 600).all()
    assert (by_w == 400).all()
    assert openblas.count(1) == 3
    assert openblas[-1] == 8


def test_products_that_numpy_refuses_on_a_tape():
    w = lodkit.parameter(np.ones((3, 2)))
    with lodkit.Tape():
        for other in (3.0, np.float64(2), np.ones((4, 2)), np.array(1.0)):
            with pytest.raises((ValueError, TypeError)):
                w @ other
        assert (w @ np.ones(2) == 2).all()
        assert (np.ones(3) @ w == 3).all()


@pytest.mark.parametrize("given", [{}, {"OMP_WAIT_POLICY": "active"}, {"GOMP_SPINCOUNT": "7"}])
def test_openmp_is_told_to_spin_shortly_only_as_it_is_loaded(monkeypatch, given):
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    before = dict(os.environ)
    with threading_layer._short_spins():
        assert dict(os.environ) == before | ({} if given else {"GOMP_SPINCOUNT": "4000"})
    assert dict(os.environ) == before
    with contextlib.suppress(ZeroDivisionError), threading_layer._short_spins():
        raise ZeroDivisionError
    assert dict(os.environ) == before
