"""``select`` gives the kernel of a call and its loop, ``explain`` says what the call would do; neither runs it."""

from __future__ import annotations

import functools
import sys

import numpy as np
import pytest
from conftest import copy
from samples import SAMPLES
from test_every_op import same

import lodkit
from lodkit import LoDTensor, SelectedRows

PARAM = np.ones((40, 16), np.float32)
ROWS = SelectedRows([3, 1, 3], np.ones((3, 16), np.float32), 40)
OPTIMIZERS = [name for name, op in lodkit.OPS.items() if hasattr(op.definition, "optimizer")]
TABLE, BAGS = np.ones((50, 16), np.float32), LoDTensor([3, 1, 4, 1, 5], [[2, 0, 3]])


def selected(name, grad):
    """The kernel of an optimizer for a gradient, with states that are like the parameter."""
    op = lodkit.OPS[name]
    states = [PARAM.copy() for x in [*op.inputs][2:]]
    if op.definition.optimizer.rowwise and states:
        states[-1] = np.ones(len(PARAM), np.float32)
    return op.select(PARAM, grad, *states)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_dense_and_sparse_gradients_have_kernels_of_their_own(name):
    dense, sparse = selected(name, PARAM), selected(name, ROWS)
    assert dense != sparse
    assert (dense.kinds["grad"], sparse.kinds["grad"]) == ("Dense", "SelectedRows")
    assert dense == selected(name, PARAM.copy()) and dense.device == "cpu"


@pytest.mark.parametrize("name", ["sgd", "adagrad", "adam", "ftrl", "momentum", "lion"])
def test_their_lines_are_two_loops(name):
    dense, sparse = (selected(name, grad).loops(*selected(name, grad).inputs, lazy=True) for grad in (PARAM, ROWS))
    assert [loop.name.split(".")[0] for loop in (*dense, *sparse)] == ["dense_kernel", "rows_kernel"]
    assert dense[0].place != sparse[0].place and "update_kernels.py:" in sparse[0].place


def note_and_make(names, name, make, *args):
    names.append(name)
    return make(*args)


SPREAD = {
    "all rows": ({}, "spread_kernel"),
    "decay": ({"weight_decay": 0.1}, "spread_kernel"),
    "listed rows": ({"lazy": True}, "rows_kernel"),
    "a mask": ({"mask": np.arange(40) < 9}, "rows_kernel"),
    "rounding": ({"rounding_seed": 0, "lazy": True}, "dense_kernel"),
}


@pytest.mark.jit
@pytest.mark.parametrize("case", SPREAD)
def test_the_loop_is_the_one_that_runs(case, monkeypatch):
    from lodkit.kernels.cpu.primitives import update

    attrs, expected = SPREAD[case]
    dtype = np.float16 if "rounding_seed" in attrs else np.float32
    param, ran = PARAM.astype(dtype), []
    inputs = param, SelectedRows(ROWS.rows, ROWS.value.astype(dtype), 40), param * 0, param * 0
    (loop,) = lodkit.adam.explain(*inputs, lr=0.1, iteration=1, **attrs).loops
    assert loop.name == f"{expected}.kernel"
    for name in ("dense_kernel", "rows_kernel", "spread_kernel"):
        make = functools.partial(note_and_make, ran, name, getattr(update, name))
        monkeypatch.setattr(update, name, make)
    lodkit.adam(*map(copy, inputs), lr=0.1, iteration=1, **attrs)
    assert set(ran) <= {expected}


def test_calls_on_a_tape_are_explained():
    W = lodkit.parameter(PARAM)
    with lodkit.Tape():
        y = lodkit.relu(W)
        assert "relu on cpu" in repr(lodkit.relu.explain(y, out=np.empty_like(PARAM)))
        assert "dense_kernel" in repr(lodkit.sgd.explain(W, PARAM.copy(), lr=0.1))


def test_inputs_that_are_converted_go_by_the_plan_of_arrays(monkeypatch):
    from lodkit.registry import calls

    expected = lodkit.lookup_table(TABLE, [1, 2])
    monkeypatch.setattr(calls, "make_plan", None)
    np.testing.assert_array_equal(lodkit.lookup_table(TABLE, [1, 2]), expected)
    np.testing.assert_array_equal(lodkit.lookup_table(TABLE, np.array([1, 2])), expected)


def test_the_first_call_keeps_a_parameter_in_a_tensor():
    x = LoDTensor(lodkit.parameter(np.arange(12.0).reshape(6, 2)), [[2, 4]])
    lodkit.sequence_reshape._plans.clear()
    first, second = (lodkit.sequence_reshape(x, new_dim=4) for _ in range(2))
    assert type(first.values) is type(second.values) is type(x.values)


def test_a_machine_without_a_cache_is_explained(monkeypatch, tmp_path):
    """As on a fresh machine, or where the cache is refused."""
    monkeypatch.setenv("LODKIT_CACHE_DIR", str(tmp_path / "missing"))
    monkeypatch.setattr(lodkit.registry.kernel.Loop, "signatures", ())
    assert "no compiled code is kept on disk" in repr(lodkit.sgd.explain(PARAM, PARAM.copy(), lr=0.1))


@pytest.mark.parametrize("name", lodkit.OPS)
def test_every_call_is_explained_and_none_runs(name):
    op = lodkit.OPS[name]
    for inputs, attrs in SAMPLES[name]:
        before = tuple(map(copy, inputs))
        said = op.explain(*inputs, **attrs)
        assert f"{name} on cpu" in repr(said) and said._repr_html_().startswith("<")
        for x, y in zip(inputs, before, strict=True):
            if not isinstance(x, list | int | float | lodkit.RankTable | type(None)):
                same(x, y)


def test_an_explanation_names_the_loop_and_what_is_adapted():
    text = repr(lodkit.embedding_bag.explain(TABLE[:, ::2], BAGS.with_values(BAGS.values.astype(np.int32)), pool="max"))
    assert "segment_kernel" in text and "lanes" in text and "prefetch" in text and "tiles" in text
    assert "table: not C-contiguous" in text and "ids: int32 is converted to int64" in text
    assert "threads" in text and "below 65,536" in text
    with pytest.raises(ValueError, match="pool must be one of"):
        lodkit.embedding_bag.explain(TABLE, BAGS, pool="nothing")
    with pytest.raises(TypeError, match="needs the attribute lr"):
        lodkit.sgd.explain(PARAM, PARAM)


@pytest.mark.jit
def test_a_loop_shows_its_code():
    lodkit.embedding_bag(TABLE, BAGS)
    loop = lodkit.embedding_bag.select(TABLE, BAGS).loop
    assert loop.name == "sum_kernel.kernel" and loop.signatures
    assert "vmov" in loop.asm() or "ldr" in loop.asm()
    assert "define" in loop.llvm()
    fresh = lodkit.sgd.select(PARAM.astype(np.float64)[:, :13].copy(), PARAM.astype(np.float64)[:, :13].copy()).loop
    if not fresh.signatures:
        with pytest.raises(ValueError, match="is not compiled yet; call the operator once"):
            fresh.asm()


def functions_of(call):
    """Python functions of lodkit in a call, as a profiler sees them; tests have ``output`` in place of ``np.empty``."""
    for _ in range(3):
        call()
    names = []

    def note(frame, event, arg):
        if event == "call" and f"{lodkit.__name__}/" in frame.f_code.co_filename.replace("\\", "/"):
            names.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return [name for name in names if name != "output"]


MOMENT = np.ones_like(PARAM)
WEIGHTS = np.ones(5, np.float32)
WIDE = np.ones((50, 32), np.float32)
MANY = LoDTensor(np.arange(80_000) % 50, [[20] * 4000])
LONG = LoDTensor(MANY.values, [[80_000]])
CALLS = {
    "bags": (lambda: lodkit.embedding_bag(TABLE, BAGS), 4),
    "bags with padding": (lambda: lodkit.embedding_bag(TABLE, BAGS, padding_idx=3), 5),
    "means with padding": (lambda: lodkit.embedding_bag(TABLE, BAGS, padding_idx=3, pool="mean"), 6),
    "weighted bags": (lambda: lodkit.embedding_bag(TABLE, BAGS, WEIGHTS), 5),
    "many bags": (lambda: lodkit.embedding_bag(TABLE, MANY), 8),
    "a strided table": (lambda: lodkit.embedding_bag(WIDE[:, ::2], MANY), 12),
    "a long bag": (lambda: lodkit.embedding_bag(TABLE, LONG), 16),
    "pooling": (lambda: lodkit.sequence_pool(LOOKED_UP, pool="max"), 5),
    "sgd": (lambda: lodkit.sgd(PARAM, ROWS, lr=0.1), 6),
    "adagrad": (lambda: lodkit.adagrad(PARAM, ROWS, MOMENT, lr=0.1), 6),
}
LOOKED_UP = BAGS.with_values(TABLE[:5].copy())


@pytest.mark.jit
@pytest.mark.parametrize("call", CALLS)
def test_a_call_passes_few_functions(call):
    run, most = CALLS[call]
    names = functions_of(run)
    assert len(names) <= most, names
