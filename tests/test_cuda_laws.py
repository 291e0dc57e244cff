"""Laws of CUDA operators with cases of their own: bad ids, devices, layouts, memory. On the emulated GPU."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("greenlet")
pytest.importorskip("numba_cuda")
pytest.importorskip("array_api_compat")

import os
import pathlib
import subprocess
import sys
import threading

import emulated
from conftest import copy
from emulated import Array, to_numpy
from gpus import LIBRARIES, PLACES, emulator_only, install
from samples import CAFFE2
from test_every_op import same

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.arrays.cuda import launcher
from lodkit.kernels.cuda.primitives import offsets

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "asv_benchmarks"))
import one_block

TABLE = np.arange(12.0).reshape(6, 2)


@pytest.fixture(name="gpu", params=PLACES)
def any_gpu(monkeypatch, request):
    before = lodkit.bounds_check()
    yield install(monkeypatch, request.param, 3)
    lodkit.bounds_check(before)


def calls(gpu, ids):
    """Everything that takes ids, with ids outside a table of 6 rows."""
    table, flat = gpu(TABLE), gpu(ids)
    yield lambda: lodkit.lookup_table(table, flat)
    yield lambda: lodkit.gather(table, flat)
    yield lambda: lodkit.lookup_table_grad(table, flat, gpu(np.ones((3, 2))))
    yield lambda: lodkit.embedding_bag(table, gpu(LoDTensor(ids, [[1, 2]])))
    yield lambda: lodkit.embedding_bag_grad(table, gpu(LoDTensor(ids, [[1, 2]])), gpu(np.ones((2, 2))))
    yield lambda: SelectedRows(flat, gpu(np.ones((3, 2))), 6)


def test_devices_are_not_mixed_and_lists_go_where_the_others_are(gpu):
    with pytest.raises(lodkit.DeviceError, match="different devices"):
        lodkit.lookup_table(gpu(TABLE), np.array([1]))
    with pytest.raises(lodkit.DeviceError, match="different devices"):
        lodkit.sgd(gpu(TABLE), SelectedRows([1], np.ones((1, 2)), 6), lr=1.0)
    with pytest.raises(lodkit.DeviceError, match="rows are not"):
        SelectedRows(np.array([1]), gpu(np.ones((1, 2))), 6)
    with pytest.raises(lodkit.DeviceError, match="value is not"):
        SelectedRows(gpu(np.array([1])), np.ones((1, 2)), 6)
    np.testing.assert_array_equal(to_numpy(lodkit.lookup_table(gpu(TABLE), [1, 0])), TABLE[[1, 0]])
    assert SelectedRows([1, 4], gpu(np.ones((2, 2))), 6).device == "cuda"
    with pytest.raises(lodkit.RowIndexError, match=r"rows\[1\] = 9"):
        SelectedRows([1, 9], gpu(np.ones((2, 2))), 6)


@emulator_only
def test_types_that_kernels_do_not_know(gpu):
    for dtype in (complex, ">u2", ">f4"):
        with pytest.raises(lodkit.DTypeError, match=r"no type of lodkit|takes float16"):
            lodkit.lookup_table(Array(np.zeros((3, 2), dtype)), gpu(np.array([1])))
    for odd in (np.array([0.5]), np.array([True])):
        with pytest.raises(lodkit.DTypeError, match=r"must be integers|no type of lodkit"):
            lodkit.lookup_table(gpu(TABLE), Array(odd))


@emulator_only
def test_strided_arrays_are_read_and_not_written(gpu):
    strided = Array(np.repeat(TABLE, 2, axis=0)[::2])
    np.testing.assert_array_equal(to_numpy(lodkit.lookup_table(strided, gpu(np.array([4])))), TABLE[[4]])
    with pytest.raises(ValueError, match="contiguous"):
        lodkit.sgd(strided, gpu(np.ones((6, 2))), lr=1.0)
    np.testing.assert_array_equal(strided.numpy, TABLE)


@emulator_only
def test_out_is_filled_or_refused(gpu):
    x, out = gpu(LoDTensor(TABLE, [[2, 4]])), gpu(np.zeros((2, 2)))
    assert lodkit.sequence_pool(x, out=out) is out
    np.testing.assert_array_equal(to_numpy(out), [TABLE[:2].sum(0), TABLE[2:].sum(0)])
    target = gpu(np.ones((6, 2)))
    assert lodkit.relu(gpu(-TABLE), out=target) is target
    np.testing.assert_array_equal(to_numpy(target), np.zeros((6, 2)))
    for bad, text in (
        (gpu(np.zeros((3, 2))), "shape"),
        (gpu(np.zeros((2, 2), np.float32)), "dtype"),
        (Array(np.zeros((2, 2), order="F")), "contiguous"),
        (x.values[:2], "out overlaps x; pass separate memory"),
    ):
        before = to_numpy(bad).copy()
        with pytest.raises(ValueError, match=text):
            lodkit.sequence_pool(x, out=bad)
        np.testing.assert_array_equal(to_numpy(bad), before)


def test_a_tape_gives_gradients_where_the_variables_are(gpu):
    table, weight = gpu(np.ones((6, 2), np.float32)), gpu(np.ones((2, 3), np.float32))
    ids = gpu(LoDTensor(np.array([1, 5, 1]), [[2, 1]]))
    with lodkit.Tape() as tape:
        rows = lodkit.embedding_bag(table, ids, pool="mean")
        loss = lodkit.mean(lodkit.softmax_with_cross_entropy(lodkit.fc(rows, weight), gpu(np.array([0, 2]))))
    by_table, by_weight = tape.gradient(loss, [table, weight])
    assert by_table.device == "cuda"
    assert to_numpy(by_table.rows).tolist() == [1, 5, 1]
    assert to_numpy(by_weight).shape == (2, 3)
    both = tape.gradient([loss, rows], [table])[0]
    ones = np.array([[0.5], [0.5], [1.0]]) * np.ones(2)
    np.testing.assert_allclose(to_numpy(both.value), to_numpy(by_table.value) + ones)


def test_the_methods_of_selected_rows(gpu):
    grad = SelectedRows([4, 1, 4], gpu(np.array([[1.0], [2.0], [3.0]])), 6)
    assert grad.norm() == pytest.approx(20**0.5)
    merged = grad.merge()
    assert to_numpy(merged.rows).tolist() == [1, 4] and merged.merge() is merged
    assert to_numpy(grad.to_dense()).ravel().tolist() == [0, 2, 0, 0, 4, 0]
    home = grad.to("cpu")
    assert isinstance(home.value, np.ndarray) and home.to("cuda").device == "cuda"
    assert len((grad + grad).rows) == 6


@emulator_only
def test_nothing_is_launched_for_nothing(gpu, monkeypatch):
    def fail(*args):
        raise AssertionError("launched")

    monkeypatch.setattr(launcher, "runner", fail)
    assert lodkit.lookup_table(gpu(TABLE), gpu(np.zeros(0, np.int64))).shape == (0, 2)
    assert lodkit.sequence_pool(gpu(LoDTensor(np.zeros((0, 3)), [[]]))).shape == (0, 3)


@emulator_only
def test_offsets_are_sent_once(gpu, monkeypatch):
    x, sent = gpu(LoDTensor(TABLE, [[2, 4]])), []
    send = emulated.Library.send
    monkeypatch.setattr(emulated.Library, "send", lambda self, a, d: sent.append(a) or send(self, a, d))
    for _ in range(3):
        lodkit.sequence_pool(x)
        lodkit.sequence_pad_grad(x, gpu(np.zeros((2, 4, 2))))
    assert len(sent) == 1


@emulator_only
def test_each_thread_sends_for_a_stream_of_its_own(gpu, monkeypatch):
    """Every thread has another stream under CUDA's name for the default stream per thread."""
    x, sent = gpu(LoDTensor(TABLE, [[2, 4]])), []
    send = emulated.Library.send
    monkeypatch.setattr(emulated.Library, "send", lambda self, a, d: sent.append(a) or send(self, a, d))
    monkeypatch.setattr(emulated.Library, "stream", lambda self, device: 2)
    for _ in range(2):
        lodkit.sequence_pool(x)
    thread = threading.Thread(target=lodkit.sequence_pool, args=(x,))
    thread.start(), thread.join()
    assert len(sent) == 2


def test_max_with_index_is_that_of_one_block_a_sequence(gpu):
    x = gpu(LoDTensor(np.random.default_rng(0).integers(0, 5, (23, 7)).astype(np.float32), [[3, 1, 12, 7]]))
    best, where = one_block.largest(x.values, gpu(x.row_offsets()))
    out, index = lodkit.sequence_pool(x, pool="max", return_index=True)
    np.testing.assert_array_equal(to_numpy(out), to_numpy(best))
    np.testing.assert_array_equal(to_numpy(index), to_numpy(where))


def test_the_main_job_learns_on_the_emulated_gpu(gpu, tmp_path, capsys):
    from lodkit.__main__ import main

    words = {"a": "red green", "b": "one two"}
    lines = [f"{label}\t{words[label]} {i % 3}" for i in range(20) for label in "ab"]
    data = tmp_path / "texts.tsv"
    data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    options = ["--data", str(data), "--dim", "4", "--batch", "16", "--save", str(tmp_path / "state")]
    assert main([*options, "--epochs", "2", "--device", "cuda"]) == 0
    assert "test accuracy: 100.0 %" in capsys.readouterr().out
    assert main([*options, "--epochs", "3", "--resume", str(tmp_path / "state"), "--device", "cuda"]) == 0
    assert main([*options, "--epochs", "4", "--resume", str(tmp_path / "state")]) == 0


def test_a_gradient_of_another_type_is_converted(gpu):
    x = LoDTensor(np.array([[0.5], [1.5], [2.0]], np.float32), [[2, 1]])
    out = np.array([[1.0], [1.0]], np.float32)
    for pool in ("sum", "sqrt", "logsumexp", "max"):
        for dtype in (np.int64, np.float64, np.float16):
            grad = np.array([[2], [3]], dtype)
            expected = lodkit.sequence_pool_grad(x, out, grad, pool=pool)
            found = lodkit.sequence_pool_grad(gpu(x), gpu(out), gpu(grad), pool=pool)
            np.testing.assert_allclose(to_numpy(found).values, expected.values, rtol=1e-5)
    weights, ids = np.array([0.5, 0.5, 2.0], np.float32), LoDTensor(np.array([1, 5, 1]), [[2, 1]])
    table, grad = TABLE.astype(np.float32), np.array([[1, 2], [3, 4]])
    for call in (lodkit.embedding_bag_grad, lodkit.embedding_bag_weights_grad):
        expected = call(table, ids, grad, weights, pool="mean")
        found = to_numpy(call(gpu(table), gpu(ids), gpu(grad), gpu(weights), pool="mean"))
        np.testing.assert_allclose(getattr(found, "value", found), getattr(expected, "value", expected), rtol=1e-6)


@pytest.mark.parametrize("logs", [False, True])
def test_softmax_of_segments_longer_than_a_tile(gpu, logs, monkeypatch):
    """In one kernel, and where one segment is too long for that in several: the same to rounding."""
    monkeypatch.setattr(offsets.settings, "tile_rows", 3)
    values = np.random.default_rng(0).normal(size=90).astype(np.float32)
    values[5], values[60] = -np.inf, np.inf
    x = LoDTensor(values, [[40, 0, 50]])
    op = lodkit.sequence_log_softmax if logs else lodkit.sequence_softmax
    for warp_rows in (64, 45):
        monkeypatch.setattr(offsets.settings, "warp_rows", warp_rows)
        np.testing.assert_allclose(to_numpy(op(gpu(x))).values, op(x).values, rtol=1e-5)


def test_updates_by_a_merged_gradient(gpu):
    grad = SelectedRows([4, 1, 4], np.array([[1.0], [2.0], [3.0]]), 6)
    for duplicates in ("merge", "sequential"):
        param, expected = np.zeros((6, 1)), np.zeros((6, 1))
        on_gpu = gpu(param)
        lodkit.sgd(expected, grad.merge(), lr=0.5, duplicates=duplicates)
        lodkit.sgd(on_gpu, gpu(grad).merge(), lr=0.5, duplicates=duplicates)
        np.testing.assert_array_equal(to_numpy(on_gpu), expected)


class Exporter:
    """The least that an array on a GPU can be."""

    def __init__(self, interface):
        self.__cuda_array_interface__ = interface
        self.shape, self.dtype = interface["shape"], np.dtype(interface["typestr"])

    def __len__(self):
        return self.shape[0]


@pytest.mark.skipif(bool(LIBRARIES), reason="a GPU would read at that address")
def test_an_exporter_without_methods_says_what_is_missing():
    interface = {"shape": (2,), "typestr": "<f4", "data": (4096, False), "version": 3}
    with pytest.raises(lodkit.DeviceError, match="none can be reached"):
        LoDTensor(Exporter(interface), [[2]]).to("cpu")


class Parameter:
    """A tensor that PyTorch differentiates exports nothing."""

    @property
    def __cuda_array_interface__(self):
        raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad.")


def test_a_parameter_of_torch_is_refused():
    for call in (lambda: lodkit.relu(Parameter()), lambda: LoDTensor(Parameter(), [[1]])):
        with pytest.raises(TypeError, match=r"requires grad: pass x\.detach\(\)"):
            call()


@pytest.mark.parametrize("name", lodkit.caffe2.OPERATORS)
def test_published_names_take_arrays_of_a_gpu(name, gpu):
    *inputs, last = CAFFE2[name]
    attrs, inputs = (last, inputs) if isinstance(last, dict) else ({}, [*inputs, last])
    on_gpu = [gpu(copy(x)) if isinstance(x, np.ndarray | LoDTensor | SelectedRows) else x for x in inputs]
    expected = getattr(lodkit.caffe2, name)(*map(copy, inputs), **attrs)
    same(to_numpy(getattr(lodkit.caffe2, name)(*on_gpu, **attrs)), expected)


def test_threads_may_make_the_first_calls():
    """Half a module, imported by one thread while another imports the whole, would stay for good."""
    code = """
import threading
import lodkit

class Array:
    __cuda_array_interface__ = {"shape": (2,), "typestr": "<i8", "data": (0, False), "version": 3}

def call(name, gate):
    gate.wait()
    try:
        lodkit.OPS[name](Array(), Array())
    except lodkit.DeviceError:
        return
    failed.append(name)

failed, gate = [], threading.Barrier(8)
names = ["lookup_table", "gather", "segment_reduce", "sum"] * 2
threads = [threading.Thread(target=call, args=(name, gate)) for name in names]
[t.start() for t in threads], [t.join() for t in threads]
lodkit.LoDTensor([1, 2], [[2]])
raise SystemExit(bool(failed))
"""
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}  # no GPU reads what these arrays say
    run = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(run, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0 and "Exception" not in done.stderr, done.stderr
