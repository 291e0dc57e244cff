"""Laws of CUDA operators with cases of their own: bad ids, devices, layouts, memory. On the emulated GPU."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("greenlet")
pytest.importorskip("numba_cuda")
pytest.importorskip("array_api_compat")

import emulated
from emulated import Array, to_numpy

import lodkit
from lodkit import LoDTensor, SelectedRows, _transfer
from lodkit.cuda import launch, memory
from lodkit.cuda.launch import cuda

TABLE = np.arange(12.0).reshape(6, 2)


@pytest.fixture
def gpu(monkeypatch):
    monkeypatch.setitem(memory.LIBRARIES, "emulated", emulated.Library)
    monkeypatch.setattr(launch, "runner", emulated.Launcher(3))
    monkeypatch.setattr(_transfer, "_TO_CUDA", {"emulated": lambda module, array: module.to_gpu(array)})
    before = lodkit.bounds_check()
    yield emulated.to_gpu
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


@pytest.mark.parametrize("bad", [-1, 6, 1 << 40])
def test_bad_ids_raise_before_anything_is_made(gpu, bad):
    for call in calls(gpu, np.array([0, 5, bad])):
        with pytest.raises(lodkit.RowIndexError, match=rf"\[2\] = {bad} is outside \[0, 6\)"):
            call()
    with pytest.raises(lodkit.RowIndexError, match=rf"ids\[1, 0\] = {bad}"):
        lodkit.lookup_table(gpu(TABLE), gpu(np.array([[1], [bad]])))


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


def test_types_that_kernels_do_not_know(gpu):
    for dtype in (complex, np.bool_, ">f4"):
        with pytest.raises(lodkit.DTypeError, match=r"no type of lodkit|takes float16"):
            lodkit.lookup_table(Array(np.zeros((3, 2), dtype)), gpu(np.array([1])))
    for ids in (np.array([0.5]), np.array([True])):
        with pytest.raises(lodkit.DTypeError, match=r"int32 or int64|no type of lodkit"):
            lodkit.lookup_table(gpu(TABLE), Array(ids))


def test_strided_arrays_are_read_and_not_written(gpu):
    strided = Array(np.repeat(TABLE, 2, axis=0)[::2])
    np.testing.assert_array_equal(to_numpy(lodkit.lookup_table(strided, gpu(np.array([4])))), TABLE[[4]])
    with pytest.raises(ValueError, match="contiguous"):
        lodkit.sgd(strided, gpu(np.ones((6, 2))), lr=1.0)
    np.testing.assert_array_equal(strided.numpy, TABLE)


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
        (x.values[:2], "overlaps input 0"),
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


def test_nothing_is_launched_for_nothing(gpu, monkeypatch):
    def fail(*args):
        raise AssertionError("launched")

    monkeypatch.setattr(launch, "runner", fail)
    assert lodkit.lookup_table(gpu(TABLE), gpu(np.zeros(0, np.int64))).shape == (0, 2)
    assert lodkit.sequence_pool(gpu(LoDTensor(np.zeros((0, 3)), [[]]))).shape == (0, 3)


def test_offsets_are_sent_once(gpu, monkeypatch):
    x, sent = gpu(LoDTensor(TABLE, [[2, 4]])), []
    send = emulated.Library.send
    monkeypatch.setattr(emulated.Library, "send", lambda self, a, d: sent.append(a) or send(self, a, d))
    for _ in range(3):
        lodkit.sequence_pool(x)
    assert len(sent) == 1


@cuda.jit
def _largest_in_blocks(values, offsets, columns, out, index):
    """The review's program: a block a sequence, its threads over the columns."""
    s, j = cuda.blockIdx.x, cuda.threadIdx.x
    while j < columns:
        best, at = values[offsets[s] * columns + j], offsets[s]
        for i in range(offsets[s] + 1, offsets[s + 1]):
            if values[i * columns + j] > best:
                best, at = values[i * columns + j], i
        out[s * columns + j], index[s * columns + j] = best, at
        j += cuda.blockDim.x


def test_max_with_index_is_that_of_one_block_a_sequence(gpu):
    x = gpu(LoDTensor(np.random.default_rng(0).integers(0, 5, (23, 7)).astype(np.float32), [[3, 1, 12, 7]]))
    values = memory.view(x.values)
    best, where = values.like((4, 7)), values.like((4, 7), np.int64)
    offsets = values.send(x.row_offsets())
    launch.launch(_largest_in_blocks, 4 * 32, values, offsets, 7, best, where, block=32, exact=True)
    out, index = lodkit.sequence_pool(x, pool="max", return_index=True)
    np.testing.assert_array_equal(to_numpy(out), best.read())
    np.testing.assert_array_equal(to_numpy(index), where.read())


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
