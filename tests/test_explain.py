"""``select`` gives the kernel of a call and its loop, ``explain`` says what the call would do; neither runs it."""

from __future__ import annotations

import functools
import os
import pickle
from copy import copy as copy_of
from copy import deepcopy
from unittest.mock import MagicMock

import numpy as np
import pytest
from conftest import copy
from samples import SAMPLES
from test_every_op import same

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.registry.kernel import Loop

PARAM = np.ones((40, 16), np.float32)
ROWS = SelectedRows([3, 1, 3], np.ones((3, 16), np.float32), 40)
OPTIMIZERS = [name for name, op in lodkit.OPS.items() if hasattr(op.definition, "optimizer")]
#: Optimizers whose kernels are made from their records.
RULES = [name for name in OPTIMIZERS if lodkit.OPS[name].definition.optimizer.numbers]
TABLE, BAGS = np.ones((50, 16), np.float32), LoDTensor([3, 1, 4, 1, 5], [[2, 0, 3]])


def inputs_of(name, grad, dtype=np.float32):
    """A parameter, its gradient in a type, and the states that are always kept."""
    record = lodkit.OPS[name].definition.optimizer
    layouts = [record.layout(state, PARAM.shape, np.dtype(dtype)) for state in record.list_states()]
    grad = grad._with_value(grad.value.astype(dtype)) if isinstance(grad, SelectedRows) else grad.astype(dtype)
    return PARAM.astype(dtype), grad, *(np.full(shape, start, kind) for shape, kind, start in layouts)


def attrs_of(name, **wanted):
    """Attributes that the optimizer needs, and those of others that it has."""
    op = lodkit.OPS[name]
    return {**dict.fromkeys(op._needed, 1), **{key: x for key, x in wanted.items() if key in op._tests}}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_dense_and_sparse_gradients_have_kernels_of_their_own(name):
    dense, sparse = (lodkit.OPS[name].select(*inputs_of(name, grad)) for grad in (PARAM, ROWS))
    if name in RULES:
        assert dense != sparse
        assert (dense.kinds["grad"], sparse.kinds["grad"]) == ("Dense", "SelectedRows")
    assert dense == lodkit.OPS[name].select(*inputs_of(name, PARAM)) and dense.device == "cpu"


@pytest.mark.parametrize("lazy", [True, False])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_their_lines_are_two_loops(name, lazy):
    """But where norms of all rows are taken, of which a gradient without them is part."""
    attrs = attrs_of(name, lazy=lazy or lodkit.OPS[name].definition.optimizer.whole)
    (dense, *_), (sparse, *_) = (
        lodkit.OPS[name].explain(*inputs_of(name, grad), **attrs).loops for grad in (PARAM, ROWS)
    )
    assert dense.place != sparse.place and "update_kernels.py:" in dense.place and "update_kernels.py:" in sparse.place
    assert "dense" in dense.name and "dense" not in sparse.name
    for grad in (PARAM, ROWS):
        assert "update_kernels.py:" in lodkit.OPS[name].select(*inputs_of(name, grad)).loop.place


LOOPS = (
    "dense_kernel",
    "rowwise_dense_kernel",
    "rows_kernel",
    "rowwise_kernel",
    "spread_kernel",
    "rowwise_spread_kernel",
)
MASK = {"mask": np.arange(40) < 9}
#: Updates that choose a loop: the gradient, and attributes.
WAYS = {
    "dense": (PARAM, {}),
    "all rows": (ROWS, {}),
    "listed rows": (ROWS, {"lazy": True}),
    "one after another": (ROWS, {"lazy": True, "duplicates": "sequential"}),
    "decay": (ROWS, {"weight_decay": 0.1}),
    "decay of a dense gradient": (PARAM, {"weight_decay": 0.1}),
    "noise": (ROWS, {"sigma": 0.1}),
    "clipping": (ROWS, {"clip_value": 0.5, "maximize": True}),
    "a mask": (ROWS, MASK),
    "a mask of a dense gradient": (PARAM, MASK),
    "rounding": (ROWS, {"rounding_seed": 0}),
    "rounding of listed rows": (ROWS, {"rounding_seed": 0, "lazy": True}),
    "steps": (ROWS, {"lazy": True, "duplicates": "sequential", "return_step": True}),
    "dense steps": (PARAM, {"return_step": True}),
}


def note_and_make(names, name, *args, **how):
    """Note a kernel that a launcher asks for, and make one that does nothing."""
    names.add(f"{name}.kernel")
    return MagicMock()


def check_loops(name, update, monkeypatch, to=lambda x: x):
    """Compare what ``explain`` says of an optimizer, on the device of ``to``, with the kernels that its calls take."""
    from lodkit.kernels.common import updates

    op, ran = lodkit.OPS[name], set()
    for way, (grad, wanted) in WAYS.items():
        attrs = attrs_of(name, **wanted)
        if not wanted.keys() <= attrs.keys() or (op.definition.optimizer.whole and "duplicates" in wanted):
            continue
        inputs = [to(copy(x)) for x in inputs_of(name, grad, np.float16 if "rounding_seed" in wanted else np.float32)]
        said = {loop.name for loop in op.explain(*inputs, **attrs).loops if "update_kernels.py:" in loop.place}
        with monkeypatch.context() as patch:
            # Updates of such arrays may have been chosen before.
            patch.setattr(updates, "_CHECKED", {})
            for made in LOOPS:
                patch.setattr(update, made, functools.partial(note_and_make, ran, made), raising=False)
            op(*inputs, **attrs)
        assert ran == said, way
        ran.clear()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_loop_is_the_one_that_runs(name, monkeypatch):
    from lodkit.kernels.cpu.primitives import update

    check_loops(name, update, monkeypatch)


@pytest.mark.parametrize("attrs", [{"pool": "mean"}, {"duplicates": "sequential"}, {"weight_decay": 0.1}])
def test_the_loop_of_an_update_by_bags_is_the_one_that_runs(attrs, monkeypatch):
    from lodkit.kernels.cpu.primitives import update

    inputs = TABLE.copy(), BAGS, np.ones((3, 16), np.float32), np.ones(len(TABLE), np.float32)
    (loop,) = lodkit.embedding_bag_rowwise_adagrad.explain(*inputs, lr=0.1, **attrs).loops
    made = []
    make = update.rowwise_kernel
    monkeypatch.setattr(update, "rowwise_kernel", lambda *args: made.append(make(*args)) or made[-1])
    lodkit.embedding_bag_rowwise_adagrad(*inputs, lr=0.1, **attrs)
    assert made == [loop.function]


def test_the_loops_of_a_selected_parameter():
    own = SelectedRows(np.arange(40)[::-1].copy(), PARAM.copy(), 40)
    names = [lodkit.sgd.select(own, grad).loop.name for grad in (PARAM, ROWS)]
    assert names == ["dense_kernel.kernel", "rows_kernel.kernel"]


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


def test_packed_rows_are_explained_as_a_call_takes_them():
    rows, bags = lodkit.quantize_rows(np.ones((5, 4), np.float32), bits=4), LoDTensor(np.array([4, 0]), [[2]])
    for attrs in ({}, {"out": np.zeros((1, 4), np.float32)}):
        explained = lodkit.quantized_embedding_bag.explain(rows, bags, **attrs)
        assert explained.kernel.op is lodkit.quantized_embedding_bag
        assert "rows: uint8[5, 6]" in str(explained)


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
def test_every_call_is_explained_and_none_runs(name, monkeypatch):
    op = lodkit.OPS[name]
    op._load("cpu")
    for kernel in (*op.kernels.values(), *op._few.values()):
        monkeypatch.setattr(kernel, "launch", None)
    for inputs, attrs in SAMPLES[name]:
        before = tuple(map(copy, inputs))
        said = op.explain(*inputs, **attrs)
        assert f"{name} on cpu" in repr(said) and said._repr_html_().startswith("<")
        for x, y in zip(inputs, before, strict=True):
            if not isinstance(x, list | int | float | lodkit.RankTable | type(None)):
                same(x, y)
    check_pickled(said)


def check_pickled(said):
    """Compare an explanation with what its pickle gives: the same functions, found by the operator's name."""
    again = pickle.loads(pickle.dumps(said))
    assert repr(again) == repr(said) and again.kernel == said.kernel and again.kernel.function is said.kernel.function
    assert [loop.function for loop in again.loops] == [loop.function for loop in said.loops]
    assert copy_of(said.kernel) == said.kernel == deepcopy(said.kernel)


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
        with pytest.raises(ValueError, match="it is not compiled yet; call the operator once"):
            fresh.asm()


@pytest.mark.parametrize("form", ["asm", "llvm"])
def test_a_kernel_shows_the_code_of_its_loop(form, monkeypatch):
    monkeypatch.setattr(Loop, form, lambda loop, signature=None: f"{loop.name} for {signature}")
    assert getattr(lodkit.sgd.select(PARAM, ROWS), form)("these") == "rows_kernel.kernel for these"
    with pytest.raises(ValueError, match="shape: no loop of this kernel is known"):
        getattr(lodkit.shape.select(PARAM), form)()


@pytest.mark.jit
def test_an_explanation_names_the_entry_of_the_cache():
    param = PARAM.copy()
    lodkit.sgd(param, PARAM.copy(), lr=0.1)
    (loop,) = lodkit.sgd.explain(param, PARAM.copy(), lr=0.1).loops
    (entry, *_) = loop.entries
    assert os.path.dirname(entry) == os.path.abspath(lodkit.jit.cache.place())
    assert os.path.basename(entry) in repr(lodkit.sgd.explain(param, PARAM.copy(), lr=0.1))
    os.rename(entry, f"{entry}.moved")
    try:
        assert loop.entries[0] is None
    finally:
        os.rename(f"{entry}.moved", entry)


@pytest.mark.parametrize(
    ("explained", "written"),
    [
        (lambda: lodkit.relu.explain(PARAM), "2,560 bytes of results"),
        (lambda: lodkit.sgd.explain(PARAM, ROWS, lr=0.1), "at most 2,560 bytes of param, in place"),
        (lambda: lodkit.merge_selected_rows.explain(ROWS), "results of a size that the values of the inputs tell"),
        (lambda: lodkit.lstm.explain(*SAMPLES["lstm"][0][0], **SAMPLES["lstm"][0][1]), "bytes of results"),
        (lambda: lodkit.fc.explain(PARAM, PARAM[:3]), "not known: the rule of infer raises ShapeMismatchError"),
        (lambda: lodkit.unique.explain(np.array([1, 1])), "results of a size that the values of the inputs tell"),
    ],
)
def test_an_explanation_says_what_is_written(explained, written):
    assert written in dict(explained().rows)["writes"]


def test_a_launcher_of_many_loops_shows_the_nearest():
    explained = lodkit.embedding_bag_grad.explain(TABLE, BAGS, np.ones((3, 16), np.float32))
    shown = [words for name, words in explained.rows if name == "may launch"]
    assert shown[:4] == [*map(repr, explained.loops[:4])]
    assert shown[4] == f"{len(explained.loops) - 4} more, in .loops of this explanation"
    assert ("loop", "the launcher names none: functions of the arrays' library run, or structure is moved") in (
        lodkit.relu.explain(PARAM).rows
    )


def test_a_body_for_several_devices_is_a_loop_of_each():
    """The loop has the file and line of the body, which stands in kernels/common."""
    ids = np.arange(6).reshape(3, 2)
    (loop,) = lodkit.hash_rows.select(ids).loops()
    assert loop.name == "_hash_by_seed" and loop.place.startswith("kernels/common/hashing.py:")
    lodkit.hash_rows(ids, num_hash=1, mod_by=5)
    assert "_hash_by_seed" in str(lodkit.hash_rows.explain(ids, num_hash=1, mod_by=5))
    steps = lodkit.pack_rnn_sequence.select(np.ones(3), [1, 2])
    assert steps.loop.name == "_number_packed"
