"""Bad input on a GPU raises before anything is made, or with the next call that waits."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("greenlet")
pytest.importorskip("numba_cuda")
pytest.importorskip("array_api_compat")

import emulated
from emulated import Array, to_numpy
from gpus import emulator_only
from test_cuda_laws import TABLE, any_gpu, calls  # noqa: F401

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.arrays.cuda import ids, launcher, memory, views
from lodkit.kernels.cuda.primitives import offsets


@pytest.mark.parametrize("bad", [-1, 6, 1 << 40])
def test_bad_ids_raise_before_anything_is_made(gpu, bad):
    for call in calls(gpu, np.array([0, 5, bad])):
        with pytest.raises(lodkit.RowIndexError, match=rf"\[2\] = {bad} is outside \[0, 6\)"):
            call()
    with pytest.raises(lodkit.RowIndexError, match=rf"ids\[1, 0\] = {bad}"):
        lodkit.lookup_table(gpu(TABLE), gpu(np.array([[1], [bad]])))


POOLS = [(pool, False) for pool in ("sum", "mean", "max", "logsumexp", "logmeanexp")]


@pytest.mark.parametrize("late", [0, ids.LATE])
@pytest.mark.parametrize(("pool", "weighted"), [*POOLS, ("sum", True), ("mean", True)])
@pytest.mark.parametrize("columns", [0, 1, 8])
def test_bad_ids_of_bags(gpu, monkeypatch, late, pool, weighted, columns):
    """The first is named, wherever it lies: in a long bag, which is cut, or in one whose weights sum to zero."""
    monkeypatch.setattr(ids, "LATE", late)
    monkeypatch.setattr(offsets.settings, "tile_rows", 3)
    monkeypatch.setattr(offsets.settings, "run_rows", 3)
    table, numbers = np.ones((6, columns)), np.arange(20) % 6
    weights = [gpu(np.where(np.arange(20) < 12, 0.0, 1.0))] if weighted else []
    bags = [[12, 0, 5, 3]]
    expected = lodkit.embedding_bag(gpu(table), gpu(LoDTensor(numbers, bags)), *weights, pool=pool)
    for bad in ([19], [7, 15], [13, 12]):
        wrong = numbers.copy()
        wrong[bad] = [-1, 1 << 40][: len(bad)]
        at, there = min(bad), gpu(LoDTensor(wrong, bags))
        with pytest.raises(lodkit.RowIndexError, match=rf"ids\[{at}\] = {wrong[at]} is outside \[0, 6\)"):
            lodkit.embedding_bag(gpu(table), there, *weights, pool=pool)
        out = gpu(np.full((4, columns), 7.0))
        with pytest.raises(lodkit.RowIndexError, match=rf"ids\[{at}\]"):
            lodkit.embedding_bag(gpu(table), there, *weights, pool=pool, out=out)
        assert (to_numpy(out) == 7).all()
    again = lodkit.embedding_bag(gpu(table), gpu(LoDTensor(numbers, bags)), *weights, pool=pool)
    np.testing.assert_array_equal(to_numpy(again), to_numpy(expected))


@pytest.mark.parametrize("late", [0, ids.LATE])
@pytest.mark.parametrize("table", [TABLE, TABLE.astype(np.uint8), TABLE[:, :0], TABLE[:0], TABLE[:, 0]])
def test_bad_ids_of_rows(gpu, monkeypatch, table, late):
    monkeypatch.setattr(ids, "LATE", late)
    numbers, at = (np.array([0, 6, 7]), 1) if len(table) else (np.array([2, 6]), 0)
    with pytest.raises(lodkit.RowIndexError, match=rf"ids\[{at}\] = {numbers[at]} is outside"):
        lodkit.gather(gpu(table), gpu(numbers))


@emulator_only
def test_few_ids_are_checked_by_the_kernel_that_reads_them(gpu, monkeypatch):
    run, launched = launcher.runner, []
    monkeypatch.setattr(launcher, "runner", lambda *args: (launched.append(args[0]), run(*args)))
    table, flat = gpu(TABLE), gpu(np.array([1, 5]))
    for mode in ("raise", "defer", "clamp"):
        lodkit.bounds_check(mode)
        lodkit.lookup_table(table, flat)  # which fills the slots that all of them take from
        launched.clear()
        lodkit.lookup_table(table, flat)
        assert len(launched) == 1
    lodkit.bounds_check("raise")
    monkeypatch.setattr(ids, "LATE", 0)
    launched.clear()
    lodkit.lookup_table(table, flat)
    assert len(launched) == 2


def test_deferred_errors_come_with_the_next_call_that_waits(gpu):
    lodkit.bounds_check("defer")
    rows = lodkit.lookup_table(gpu(TABLE), gpu(np.array([1, 7])))
    np.testing.assert_array_equal(to_numpy(rows), [TABLE[1], [0, 0]])
    with pytest.raises(lodkit.RowIndexError, match=r"ids\[1\] = 7"):
        lodkit.lengths_to_offsets(gpu(np.array([1, 2])))
    lodkit.lengths_to_offsets(gpu(np.array([1, 2])))


def test_clamped_ids_read_zeros_and_write_nothing(gpu):
    lodkit.bounds_check("clamp")
    ids = np.array([5, -1, 6, 1 << 40, 1])
    rows = lodkit.lookup_table(gpu(TABLE), gpu(ids))
    np.testing.assert_array_equal(to_numpy(rows), [TABLE[5], [0, 0], [0, 0], [0, 0], TABLE[1]])
    bags = lodkit.embedding_bag(gpu(TABLE), gpu(LoDTensor(ids, [[3, 2]])), pool="sum")
    np.testing.assert_array_equal(to_numpy(bags), [TABLE[5], TABLE[1]])
    param = gpu(TABLE)
    lodkit.sgd(param, SelectedRows._wrap(gpu(ids), gpu(np.ones((5, 2))), 6), lr=1.0)
    expected = TABLE.copy()
    expected[[5, 1]] -= 1
    np.testing.assert_array_equal(to_numpy(param), expected)
    empty = lodkit.embedding_bag(gpu(TABLE[:0]), gpu(LoDTensor(ids, [[3, 2]])))
    np.testing.assert_array_equal(to_numpy(empty), np.zeros((2, 2)))


def test_rows_that_nobody_looked_at_are_looked_at_on_the_way_home(gpu):
    lodkit.bounds_check("clamp")
    grad = lodkit.lookup_table_grad(gpu(TABLE), gpu(np.array([5, -1])), gpu(np.ones((2, 2))))
    with pytest.raises(lodkit.RowIndexError, match=r"rows\[1\] = -1"):
        grad.to("cpu")


def test_labels_are_looked_at_in_every_mode(gpu):
    lodkit.bounds_check("clamp")
    with pytest.raises(lodkit.RowIndexError, match=r"labels\[1\] = 3 is outside"):
        lodkit.softmax_with_cross_entropy(gpu(np.zeros((2, 3))), gpu(np.array([0, 3])))


def test_deferred_checks_do_not_pile_up(gpu, monkeypatch):
    monkeypatch.setattr(ids, "MOST_PENDING", 3)
    lodkit.bounds_check("defer")
    for _ in range(3):
        lodkit.lookup_table(gpu(TABLE), gpu(np.array([9])))
    with pytest.raises(lodkit.RowIndexError, match=r"ids\[0\] = 9"):
        lodkit.lookup_table(gpu(TABLE), gpu(np.array([9])))


@emulator_only
def test_checks_that_come_while_others_are_read(gpu, monkeypatch):
    """As of another thread: they are not judged by what was read before them."""
    lodkit.bounds_check("defer")
    table, bad = gpu(TABLE), [gpu(np.array([9]))]

    def waiting(library, device):
        if bad:
            lodkit.lookup_table(table, bad.pop())

    lodkit.lookup_table(table, gpu(np.array([1])))
    monkeypatch.setattr(emulated.Library, "wait", waiting)
    views.raise_pending()
    with pytest.raises(lodkit.RowIndexError, match=r"ids\[0\] = 9"):
        views.raise_pending()


@emulator_only
def test_checks_of_other_streams_are_waited_for(gpu, monkeypatch):
    """A wait for the current stream says nothing of another one's check."""
    waits = []
    monkeypatch.setattr(emulated.Library, "wait", lambda library, device: waits.append("stream"))
    monkeypatch.setattr(emulated.Library, "synchronize", lambda *args: waits.append("device"), raising=False)
    lodkit.bounds_check("defer")
    for stream in (0, 0, 7):
        monkeypatch.setattr(emulated.Library, "stream", lambda library, device, stream=stream: stream)
        lodkit.lookup_table(gpu(TABLE), gpu(np.array([1])))
    views.raise_pending()
    assert waits == ["device", "stream"]


@emulator_only
def test_nothing_is_checked_while_a_graph_is_captured(gpu, monkeypatch):
    monkeypatch.setattr(emulated.Library, "captures", lambda library: True)
    for mode in ("raise", "defer"):
        lodkit.bounds_check(mode)
        with pytest.raises(lodkit.DeviceError, match="ids cannot be checked while a CUDA graph is captured"):
            lodkit.lookup_table(gpu(TABLE), gpu(np.array([1])))
    lodkit.bounds_check("clamp")
    lodkit.lookup_table(gpu(TABLE), gpu(np.array([1])))


@emulator_only
def test_strided_memory_overlaps_by_its_extent(gpu):
    whole = Array(lodkit.empty((6, 2), np.float64))
    assert memory.overlap(whole[::2], whole[1:2])
    assert not memory.overlap(whole[:2], whole[2:])
    assert not memory.overlap(whole[:0], whole)


@emulator_only
def test_two_gpus_are_not_mixed(gpu):
    ids = LoDTensor(np.array([1, 5, 1]), [[2, 1]])
    with pytest.raises(lodkit.DeviceError, match="cuda:0 and Library cuda:1"):
        lodkit.embedding_bag(gpu(TABLE), gpu(ids, 1))
    with pytest.raises(lodkit.DeviceError, match="out is on cuda:1, the inputs on cuda:0"):
        lodkit.embedding_bag(gpu(TABLE), gpu(ids), out=gpu(np.zeros((2, 2)), 1))


def test_bad_ids_are_the_callers_own(gpu, monkeypatch):
    """What a call finds when it raises at once is nowhere that another thread could take it from."""

    class Closed:
        def append(self, check):
            raise AssertionError("another thread could take this check")

    monkeypatch.setattr(ids, "pending", Closed())
    lodkit.lookup_table(gpu(TABLE), gpu(np.array([1, 5])))
    with pytest.raises(lodkit.RowIndexError, match=r"ids\[1\] = 99"):
        lodkit.lookup_table(gpu(TABLE), gpu(np.array([1, 99])))


@emulator_only
def test_a_deferred_check_neither_sends_nor_reads(gpu, monkeypatch):
    def fail(*args):
        raise AssertionError("waits")

    lodkit.bounds_check("defer")
    table, flat = gpu(TABLE), gpu(np.array([1, 9]))
    monkeypatch.setattr(emulated.Library, "send", fail)
    with monkeypatch.context() as patch:
        patch.setattr(emulated.Library, "read", fail)
        lodkit.lookup_table(table, flat)
    flat.numpy[1] = 1
    with pytest.raises(lodkit.RowIndexError, match=r"position 1 was outside \[0, 6\) \(it is 1 by now\)"):
        lodkit.OPS["lengths_to_offsets"](gpu(np.array([1])))
