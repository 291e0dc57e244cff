"""Updates by SelectedRows on a GPU: by runs of sorted rows that no host asks for."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("greenlet")
pytest.importorskip("numba_cuda")
pytest.importorskip("array_api_compat")

import emulated
from emulated import to_numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from test_cuda_checks import emulator_only
from test_cuda_laws import any_gpu  # noqa: F401
from test_every_op import same_bits
from test_explain import OPTIMIZERS, PARAM, ROWS, RULES, attrs_of, check_loops, inputs_of

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.arrays.cuda import launcher
from lodkit.kernels.common import updates
from lodkit.kernels.cuda.primitives import merge, offsets, runs, small_group_by, update

HEIGHT = 6


def stepped(gpu, name, rows, value, **attrs):
    """The parameter, and the state if there is one, after a step from zeros."""
    width = value.shape[1:]
    states = {"sgd": [], "adagrad": [(HEIGHT, *width)], "rowwise_adagrad": [(HEIGHT,)]}[name]
    arrays = [gpu(np.zeros(shape, value.dtype)) for shape in [(HEIGHT, *width), *states]]
    grad = rows if isinstance(rows, SelectedRows) else SelectedRows._wrap(gpu(rows), gpu(value), HEIGHT)
    lodkit.OPS[name](arrays[0], grad, *arrays[1:], lr=1.0, **attrs)
    return list(map(to_numpy, arrays))


@pytest.mark.parametrize("name", ["sgd", "adagrad", "rowwise_adagrad"])
@pytest.mark.parametrize("few", [0, 1024], ids=["radix", "pairs"])
def test_runs_of_all_lengths(gpu, name, few, monkeypatch):
    """Runs that end at, before and behind tiles, and tiles of tiles; rows outside write nothing."""
    monkeypatch.setattr(offsets.settings, "tile_rows", 3)
    monkeypatch.setattr(offsets.settings, "run_rows", 3)
    monkeypatch.setattr(small_group_by, "MAX_COMPARED_IDS", few)
    lodkit.bounds_check("clamp")

    @settings(deadline=None, max_examples=5)
    @given(st.lists(st.integers(0, 29), min_size=HEIGHT, max_size=HEIGHT), st.integers(0, 4), st.randoms())
    def check(lengths, outside, random):
        item = random.choice([(1,), (2,)])
        rows = [row for row, count in enumerate(lengths) for _ in range(count)] + [-1, HEIGHT, 1 << 40, 7][:outside]
        random.shuffle(rows)
        rows = np.array(rows, np.int64)
        value = np.random.default_rng(random.randrange(99)).normal(size=(len(rows), *item)).astype(np.float32)
        inside = (rows >= 0) & (rows < HEIGHT)
        good = SelectedRows(gpu(rows[inside]), gpu(value[inside]), HEIGHT)
        found = stepped(gpu, name, rows, value)
        for a, b in zip(found, stepped(gpu, name, good.merge(), value), strict=True):
            same_bits(a, b)
        exact = np.zeros((HEIGHT, *item))
        np.add.at(exact, rows[inside], value[inside])
        if name == "sgd":
            np.testing.assert_allclose(-found[0], exact, rtol=1e-4, atol=1e-5)
        if name == "adagrad":
            np.testing.assert_allclose(found[1], exact**2, rtol=1e-4, atol=1e-5)

    check()


def test_updates_by_tables_of_runs(gpu, monkeypatch):
    """Of parameters that are copied, or have rows of their own: as by the merged gradient."""
    monkeypatch.setattr(offsets.settings, "run_rows", 3)
    rng = np.random.default_rng(0)
    rows, value = np.sort(rng.zipf(1.5, 60) % HEIGHT), rng.normal(size=(60, 2))
    rng.shuffle(rows)

    def results(form):
        grad = form(SelectedRows(gpu(rows), gpu(value), HEIGHT))
        arrays = [gpu(np.zeros((HEIGHT, 2))) for _ in range(3)]
        lodkit.smart_decay_adam(arrays[0], grad, *arrays[1:], gpu(np.zeros(HEIGHT, np.int64)), lr=0.1, iteration=3)
        own = SelectedRows(gpu(np.arange(HEIGHT)[::-1].copy()), gpu(np.ones((HEIGHT, 2))), HEIGHT)
        return [to_numpy(x) for x in (*arrays, lodkit.sgd(own, grad, lr=0.1).value)]

    for a, b in zip(results(lambda grad: grad), results(SelectedRows.merge), strict=True):
        same_bits(a, b)


@pytest.mark.parametrize(
    ("pool", "weighted"), [("sum", False), ("sum", True), ("mean", False), ("mean", True), ("sqrt", False)]
)
def test_fused_updates_of_long_runs(gpu, pool, weighted, monkeypatch):
    """As the gradient of a table and a step by it, where ids occur in more bags than a tile has rows."""
    monkeypatch.setattr(offsets.settings, "run_rows", 4)
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 9, 30)
    bags, grad = LoDTensor(rng.integers(0, 5, lengths.sum()), [lengths]), rng.normal(size=(30, 4))
    weights = [gpu(rng.normal(size=len(bags.values)))] if weighted else []
    bags, grad = gpu(bags), gpu(grad)
    table, moment, other, its = (gpu(np.ones((5, 4))) for _ in range(4))
    lodkit.embedding_bag_adagrad(table, bags, grad, moment, *weights, lr=0.1, pool=pool)
    lodkit.adagrad(other, lodkit.embedding_bag_grad(other, bags, grad, *weights, pool=pool), its, lr=0.1)
    same_bits(to_numpy(table), to_numpy(other))
    same_bits(to_numpy(moment), to_numpy(its))


@pytest.fixture
def no_waits(monkeypatch):
    for name in ("read", "wait"):
        monkeypatch.setattr(emulated.Library, name, lambda *args: pytest.fail("the host waits"))


@emulator_only
@pytest.mark.parametrize("duplicates", ["merge", "sequential"])
def test_nothing_is_read_back(gpu, duplicates, no_waits):
    """So updates do not wait for the device, and a CUDA graph may hold them."""
    for count in (3, 2000):
        rows, value = np.arange(count) % 5, np.ones((count, 2), np.float32)
        grad = SelectedRows._wrap(gpu(rows), gpu(value), HEIGHT)
        lodkit.sgd(gpu(np.zeros((HEIGHT, 2), np.float32)), grad, lr=1.0, duplicates=duplicates)
    with pytest.raises(pytest.fail.Exception, match="the host waits"):
        grad.merge()


@emulator_only
def test_nothing_is_read_back_for_steps_of_all_rows(gpu, no_waits):
    grad = SelectedRows._wrap(gpu(np.arange(50) % 5), gpu(np.ones((50, 2))), HEIGHT)
    param, one, two = (gpu(np.ones((HEIGHT, 2))) for _ in range(3))
    lodkit.adam(param, grad, one, two, lr=0.1, iteration=0)
    lodkit.momentum(param, grad, one, lr=0.1, weight_decay=0.1)
    dense = grad.to_dense()
    np.testing.assert_array_equal(dense.numpy, [[10, 10]] * 5 + [[0, 0]])


@emulator_only
@pytest.mark.parametrize("count", [5, 2000])
def test_what_is_captured_is_not_kept(gpu, count, monkeypatch):
    """A sort in a CUDA graph has not run until a replay; a later call outside makes its own."""
    grad = SelectedRows._wrap(gpu(np.arange(count) % 5), gpu(np.ones((count, 2))), HEIGHT)
    expected = lodkit.sgd(
        np.zeros((HEIGHT, 2)), SelectedRows(np.arange(count) % 5, np.ones((count, 2)), HEIGHT), lr=1.0
    )
    param = gpu(np.zeros((HEIGHT, 2)))
    with monkeypatch.context() as capture:
        capture.setattr(emulated.Library, "captures", lambda library: True)
        capture.setattr(launcher, "runner", lambda *args: None)
        lodkit.sgd(param, grad, lr=1.0)
        with pytest.raises(lodkit.DeviceError, match="while a CUDA graph is captured"):
            grad.merge()
    lodkit.sgd(param, grad, lr=1.0)
    np.testing.assert_array_equal(to_numpy(param), expected)
    with monkeypatch.context() as capture:
        launched = []
        capture.setattr(emulated.Library, "captures", lambda library: True)
        capture.setattr(launcher, "runner", lambda kernel, *args: launched.append(kernel))
        lodkit.sgd(param, grad, lr=1.0)
    assert len(launched) >= 2, "the graph sorts by itself"


@emulator_only
@pytest.mark.parametrize("at_once", [1 << 30, 0])
def test_merged_rows_keep_no_more_memory_than_they_need(gpu, at_once, monkeypatch):
    monkeypatch.setattr(merge, "AT_ONCE", at_once)
    monkeypatch.setattr(runs, "MAX_SPARE_BYTES", 1000)
    merged = SelectedRows._wrap(gpu(np.full(200, 3)), gpu(np.ones((200, 2))), HEIGHT).merge()
    assert to_numpy(merged.value).tolist() == [[200, 200]]
    memory = merged.value.numpy
    while memory.base is not None and isinstance(memory.base, np.ndarray):
        memory = memory.base
    assert memory.nbytes <= 1000


@emulator_only
def test_rows_that_are_handed_out_are_no_memory_of_the_gradient(gpu):
    """No array on a GPU is read-only: a gradient whose runs are known would step rows that it no longer lists."""
    grad = SelectedRows(gpu(np.array([1, 4, 1])), gpu(np.ones((3, 2))), HEIGHT)
    param, expected = gpu(np.zeros((HEIGHT, 2))), np.zeros((HEIGHT, 2))
    for _ in range(2):
        lodkit.sgd(param, grad, lr=1.0)
        grad.rows.numpy[:] = 5
        lodkit.sgd(expected, grad.to("cpu"), lr=1.0)
    assert to_numpy(grad.rows).tolist() == [1, 4, 1]
    np.testing.assert_array_equal(to_numpy(param), expected)
    assert not expected[5].any() and (expected[1] == -4).all()


@emulator_only
def test_runs_are_found_again_where_the_library_counts_a_write(gpu, monkeypatch):
    grad = SelectedRows(gpu(np.array([1, 4, 1])), gpu(np.ones((3, 2))), HEIGHT)
    written = []
    monkeypatch.setattr(emulated.Library, "version", lambda self, x: len(written))
    param = gpu(np.zeros((HEIGHT, 2)))
    lodkit.sgd(param, grad, lr=1.0)
    grad._rows.numpy[:] = 5
    written.append(grad)
    lodkit.sgd(param, grad, lr=1.0)
    assert to_numpy(param)[:, 0].tolist() == [0, -2, 0, 0, -1, -3]


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize(
    ("rows", "dtype"),
    [([], "float32"), ([5, 0], "float16"), ([3, 1, 3, 3, 1, 3, 3], "float32")],
    ids=["none", "ends", "runs"],
)
def test_all_rows_step_as_by_the_dense_gradient_which_is_not_made(gpu, name, rows, dtype, monkeypatch):
    """To the bit; a gradient as large as the parameter would be written and read once more."""
    op, rng, shape = lodkit.OPS[name], np.random.default_rng(0), (HEIGHT, 8)
    grad = SelectedRows(np.array(rows, np.int64), rng.normal(size=(len(rows), 8)).astype(dtype), HEIGHT)
    record = op.definition.optimizer
    layouts = [record.layout(state, shape, np.dtype(dtype)) for state in record.list_states()]
    start = [rng.random(shape).astype(dtype), *(np.full(size, 0.5 + first, kind) for size, kind, first in layouts)]
    attrs, found = attrs_of(name, weight_decay=0.1), []
    for form in (SelectedRows.to_dense, lambda grad: SelectedRows(gpu(grad.rows), gpu(grad.value), HEIGHT)):
        param, *states = map(gpu, start)
        gradient = form(grad)
        op(param, gradient if isinstance(gradient, SelectedRows) else gpu(gradient), *states, **attrs)
        found.append([*map(to_numpy, (param, *states))])
        monkeypatch.setattr(updates, "dense_gradient", None)
    for dense, sparse in zip(*found, strict=True):
        same_bits(dense, sparse)


@emulator_only
@pytest.mark.parametrize("name", RULES)
def test_dense_and_sparse_gradients_of_all_rows_have_two_loops(gpu, name):
    inputs = [[gpu(x) for x in inputs_of(name, grad)] for grad in (PARAM, ROWS)]
    dense, sparse = (lodkit.OPS[name].explain(*each, **attrs_of(name)).loops[0] for each in inputs)
    assert "dense" in dense.name and "dense" not in sparse.name


@emulator_only
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_loop_that_is_explained_is_the_one_that_runs(gpu, name, monkeypatch):
    monkeypatch.setattr(update, "launch", lambda *args: None)
    check_loops(name, update, monkeypatch, gpu)
