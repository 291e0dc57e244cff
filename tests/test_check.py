"""``python -m tests.check`` finds the operators of a name and selects their tests."""

from __future__ import annotations

import importlib.util
import types

import check
import pytest

from lodkit.registry import operators


def item(file, nodeid="", **params):
    """A test as pytest collects it."""
    path = check.TESTS / file
    call = {"callspec": types.SimpleNamespace(params=params)} if params else {}
    return types.SimpleNamespace(path=path, nodeid=f"{file}::{nodeid}", **call)


PUBLISHED = {"SparseAdagrad": {"adagrad"}}


def test_an_operator_comes_with_its_gradient_and_a_published_name_with_its_operator():
    assert check.find_operators("sequence_pool", PUBLISHED) == {"sequence_pool", "sequence_pool_grad"}
    assert check.find_operators("SparseAdagrad", PUBLISHED) == {"adagrad"}


def test_an_unknown_name_is_answered_by_the_nearest():
    with pytest.raises(SystemExit, match=r"published name 'sequence_pol'; the nearest: sequence_pool, "):
        check.find_operators("sequence_pol", PUBLISHED)
    with pytest.raises(SystemExit, match="the nearest: SparseAdagrad, "):
        check.find_operators("SparseAdagard", PUBLISHED)


def test_steps_select_the_tests_of_a_name():
    names, families = {"sgd", "SparseSgd"}, {"optimizers"}
    selected = {
        "uncompiled": [item("test_every_op.py", name="sgd"), item("test_optimizers.py")],
        "compiled": [item("test_structure.py", name="SparseSgd"), item("test_optimizers.py")],
        "cuda": [
            *(item("test_cuda.py", name="sgd"), item("test_optimizers.py", "test_place[cuda]")),
            item("test_cuda_compile.py", "test_machine_code"),
        ],
        "layout": [item("test_structure.py"), item("test_names.py")],
    }
    for step, items in selected.items():
        assert all(check.is_selected(each, names, families, step) for each in items)
    for step in ("uncompiled", "compiled", "cuda"):
        assert not check.is_selected(item("test_every_op.py", name="sgd_grad"), names, families, step)
    for each in (item("test_cuda.py", name="sgd"), item("test_cuda_compile.py", "test_machine_code")):
        assert not check.is_selected(each, names, families, "compiled")


def test_files_of_generic_laws_are_collected():
    found = check.files_to_collect({"sequence_center"}, "compiled")
    laws = ("every_op", "every_structure", "ids_outside", "far_from_zero", "batches_apart", "cuda", "structure", "help")
    assert {f"tests/test_{law}.py" for law in laws} <= set(found)
    assert "tests/test_signals.py" not in found
    assert ("tests/interop/test_torch_compile.py" in found) == bool(importlib.util.find_spec("torch"))
    assert not [file for file in check.files_to_collect({"sequence_center"}, "cuda") if "interop" in file]


def test_a_wrong_example_is_found(monkeypatch):
    def double(x):
        """Double a number.

        >>> double(2)
        5
        """
        return 2 * x

    monkeypatch.setitem(operators.OPS, "double", types.SimpleNamespace(definition=double))
    assert check.run_examples({"double"}) == 1
    assert check.run_examples({"sequence_pool"}) == 0
