"""Kernels on a GPU, where LODKIT_TEST_DEVICES names cuda: samples, large batches, streams, threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from conftest import copy

pytest.importorskip("numba_cuda")
pytest.importorskip("array_api_compat")
pytest.importorskip("greenlet")

from emulated import to_numpy
from gpus import LIBRARIES, to_gpu
from samples import SAMPLES, defined
from test_every_op import same, same_bits

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.arrays.cuda import launcher

if not LIBRARIES:
    pytest.skip("LODKIT_TEST_DEVICES names no cuda", allow_module_level=True)

CASES = [pytest.param(n, *case, id=f"{n}-{i}") for n, cases in SAMPLES.items() for i, case in enumerate(cases)]
each_library = pytest.mark.parametrize("library", LIBRARIES)
of_streams = pytest.mark.parametrize("library", [name for name in LIBRARIES if name != "numba.cuda"])


@each_library
@pytest.mark.parametrize(("name", "inputs", "attrs"), CASES)
def test_kernel_equals_definition(library, name, inputs, attrs):
    op = lodkit.OPS[name]
    there = [to_gpu(x, library) for x in op._accept(tuple(map(copy, inputs)))]
    try:
        found = op.full(*there, **attrs)
    except lodkit.DeviceError as error:
        assert library == "numba.cuda" and "have no arithmetic" in str(error)
        pytest.skip("Numba's arrays have no arithmetic")
    same(to_numpy(found), defined(op, map(copy, inputs), attrs))


def batches():
    """Large inputs: segments of power-law lengths, a few of them long, and ids of which some are hot."""
    rng = np.random.default_rng(0)
    lengths = np.minimum(rng.zipf(1.6, 20_000), 60_000)
    lengths[::7] = 0
    rows = int(lengths.sum())
    x = LoDTensor(rng.standard_normal((rows, 16)).astype(np.float32), [lengths])
    ids = LoDTensor(rng.zipf(1.2, rows) % 30_000, [lengths])
    table = rng.standard_normal((30_000, 64)).astype(np.float32)
    few = LoDTensor(rng.integers(0, 30_000, 60_000), [np.full(3_000, 20)])
    grad = rng.standard_normal((3_000, 64)).astype(np.float32)
    spread = SelectedRows(rng.zipf(1.2, 90_000) % 30_000, rng.standard_normal((90_000, 64)).astype(np.float32), 30_000)
    for pool in ("sum", "mean", "max", "logsumexp"):
        yield "sequence_pool", (x,), {"pool": pool}
    yield "sequence_softmax", (LoDTensor(x.values[:, 0].copy(), [lengths]),), {}
    short = np.minimum(lengths, 5_000)
    yield "sequence_softmax", (LoDTensor(x.values[: short.sum(), 1].copy(), [short]),), {}
    yield "sequence_pool", (x,), {"pool": "max", "return_index": True}
    yield "sequence_reverse", (x,), {}
    yield "embedding_bag", (table, few), {"pool": "mean"}
    yield "embedding_bag", (table, ids), {}
    yield "embedding_bag_grad", (table, few, grad), {}
    yield "lookup_table", (table, ids), {}
    yield "merge_selected_rows", (spread,), {}
    yield "sgd", (table, spread), {"lr": 0.1}
    yield "adagrad", (table, spread, np.ones_like(table)), {"lr": 0.1}
    yield "unique", (ids.values,), {"return_inverse": True, "return_counts": True}
    yield "sequence_pad", (LoDTensor(x.values[: 400 * 50], [np.full(400, 50)]),), {}
    yield "segment_reduce", (x.values, np.sort(rng.integers(0, 5_000, rows))), {"by": "ids"}


BATCHES = [pytest.param(*case, id=f"{case[0]}-{i}") for i, case in enumerate(batches())]


@of_streams
@pytest.mark.parametrize(("name", "inputs", "attrs"), BATCHES)
def test_large_batches_are_those_of_the_cpu(library, name, inputs, attrs, monkeypatch):
    """To rounding; and the same bits from run to run, however many blocks there are."""
    op, found = lodkit.OPS[name], []
    for blocks in (8, 8, 1):
        monkeypatch.setattr(launcher, "BLOCKS_EACH", blocks)
        monkeypatch.setattr(launcher, "modules", {} if blocks == 1 else launcher.modules)
        found.append(to_numpy(op(*(to_gpu(copy(x), library) for x in inputs), **attrs)))
    same_bits(found[1], found[0])
    same_bits(found[2], found[0])
    expected = op(*map(copy, inputs), **attrs)
    for got, wanted in zip(parts(found[0]), parts(expected), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-4, atol=2e-3 if wanted.dtype.kind == "f" else 0)


def parts(result):
    """The arrays of a result."""
    if isinstance(result, tuple):
        return [array for part in result for array in parts(part)]
    if isinstance(result, SelectedRows):
        return [result.rows, result.value]
    return [result.values if isinstance(result, LoDTensor) else result]


def in_stream(library):
    """A context in which a stream of its own is current, and a function that keeps the GPU busy there."""
    if library == "torch":
        import torch

        return torch.cuda.stream(torch.cuda.Stream()), lambda: torch.cuda._sleep(200_000_000)
    import cupy

    code = 'extern "C" __global__ void s() { long long t = clock64(); while (clock64() - t < 200000000); }'
    slow = cupy.RawKernel(code, "s")
    return cupy.cuda.Stream(non_blocking=True), lambda: slow((1,), (1,), ())


@of_streams
def test_work_waits_for_the_callers_stream(library):
    """Nothing is read before what was queued there has written it."""
    lengths = np.arange(1_000) % 9
    numbers = np.random.default_rng(0).integers(-9, 9, (lengths.sum(), 8)).astype(np.float32)
    x = to_gpu(LoDTensor(np.zeros_like(numbers), [lengths]), library)
    source, stream_busy = to_gpu(numbers, library), in_stream(library)
    context, busy = stream_busy
    expected = lodkit.sequence_pool(LoDTensor(numbers, [lengths]))
    for _ in range(3):
        x.values[...] = 0
        with context:
            busy()
            x.values[...] = source
            pooled = lodkit.sequence_pool(x)
            np.testing.assert_array_equal(to_numpy(pooled), expected)


@of_streams
def test_deferred_checks_of_another_stream(library):
    """They are waited for, too."""
    table = to_gpu(np.ones((4, 2), np.float32), library)
    context, busy = in_stream(library)
    before = lodkit.bounds_check()
    lodkit.bounds_check("defer")
    try:
        ids = to_gpu(np.array([1, 9]), library)
        with context:
            busy()
            lodkit.lookup_table(table, ids)
        with pytest.raises(lodkit.RowIndexError, match=r"ids\[1\] = 9"):
            lodkit.lengths_to_offsets(to_gpu(np.array([1, 2]), library))
    finally:
        lodkit.bounds_check(before)


@of_streams
def test_threads_on_one_gpu(library):
    """Each with batches of its own, on the default stream."""
    rng, failed = np.random.default_rng(0), []
    table = rng.integers(-9, 9, (500, 24)).astype(np.float32)
    there = to_gpu(table, library)
    gate = threading.Barrier(8)

    def run(seed):
        try:
            own = np.random.default_rng(seed)
            gate.wait()
            for _ in range(40):
                lengths = own.integers(0, 40, 60)
                ids = LoDTensor(own.integers(0, 500, lengths.sum()), [lengths])
                found = lodkit.embedding_bag(there, to_gpu(ids, library), pool="sum")
                np.testing.assert_array_equal(to_numpy(found), lodkit.embedding_bag(table, ids, pool="sum"))
                grad = SelectedRows(ids.values, np.ones((len(ids.values), 24), np.float32), 500)
                param = to_gpu(table.copy(), library)
                lodkit.sgd(param, to_gpu(grad, library), lr=1.0)
                home = table.copy()
                lodkit.sgd(home, grad, lr=1.0)
                np.testing.assert_array_equal(to_numpy(param), home)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed[0]


@pytest.mark.skipif("torch" not in LIBRARIES, reason="needs PyTorch")
def test_calls_are_captured_in_graphs():
    """Replayed over new numbers in the same memory; what looks at ids is refused."""
    import torch

    rng, lengths = np.random.default_rng(0), np.arange(60) % 7
    table, rows = rng.integers(-9, 9, (40, 16)).astype(np.float32), int(lengths.sum())
    ids, param = LoDTensor(torch.zeros(rows, dtype=torch.int64, device="cuda"), [lengths]), to_gpu(table, "torch")
    grad = to_gpu(np.ones((60, 16), np.float32), "torch")

    before = lodkit.bounds_check()
    lodkit.bounds_check("clamp")
    try:
        stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            lodkit.embedding_bag(param, ids, pool="sum")
            lodkit.embedding_bag_grad(param, ids, grad)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            pooled = lodkit.embedding_bag(param, ids, pool="sum")
            by_rows = lodkit.embedding_bag_grad(param, ids, grad).value
            for mode in ("raise", "defer"):
                lodkit.bounds_check(mode)
                with pytest.raises(lodkit.DeviceError, match="while a CUDA graph is captured"):
                    lodkit.embedding_bag(param, ids)
        for _ in range(3):
            numbers = rng.integers(0, 40, rows)
            ids.values.copy_(torch.from_numpy(numbers))
            graph.replay()
            expected = lodkit.embedding_bag(table, LoDTensor(numbers, [lengths]), pool="sum")
            np.testing.assert_array_equal(to_numpy(pooled), expected)
            np.testing.assert_array_equal(to_numpy(by_rows), np.ones((rows, 16), np.float32))
    finally:
        lodkit.bounds_check(before)


@pytest.mark.skipif("torch" not in LIBRARIES, reason="needs PyTorch")
@pytest.mark.parametrize("rows", [60, 3_000, 90_000])
def test_steps_are_captured_in_graphs(rows):
    """Replayed over new ids: the gradient of a table, and updates by its rows, also fused, of which some are hot."""
    import torch

    rng, lengths = np.random.default_rng(0), np.full(rows // 3, 3)
    ids = LoDTensor(torch.zeros(rows, dtype=torch.int64, device="cuda"), [lengths])
    grad = torch.randn(rows // 3, 16, device="cuda")
    tables = [torch.ones(500, 16, device="cuda") for _ in range(4)]

    def step():
        lodkit.adagrad(tables[0], lodkit.embedding_bag_grad(tables[0], ids, grad), tables[1], lr=0.1)
        lodkit.embedding_bag_adagrad(tables[2], ids, grad, tables[3], lr=0.1)

    before = lodkit.bounds_check()
    lodkit.bounds_check("clamp")
    try:
        stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            step()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            step()
        for _ in range(3):
            numbers = rng.zipf(1.3, rows) % 500
            ids.values.copy_(torch.from_numpy(numbers))
            expected = [table.cpu().numpy() for table in tables[:2]]
            there = SelectedRows(numbers, np.repeat(grad.cpu().numpy(), 3, axis=0), 500)
            lodkit.adagrad(expected[0], there, expected[1], lr=0.1)
            graph.replay()
            for table, by in zip(tables, [*expected, *expected], strict=True):
                np.testing.assert_allclose(table.cpu().numpy(), by, rtol=1e-4, atol=1e-5)
    finally:
        lodkit.bounds_check(before)


@pytest.mark.skipif("cupy" not in LIBRARIES, reason="needs CuPy")
def test_calls_on_cupy_arrays_are_captured_in_graphs():
    import cupy

    rng, lengths, stream = np.random.default_rng(0), np.arange(60) % 7, cupy.cuda.Stream(non_blocking=True)
    table, rows = rng.integers(-9, 9, (40, 16)).astype(np.float32), int(lengths.sum())
    before = lodkit.bounds_check("clamp")
    try:
        with stream:
            param, ids = cupy.asarray(table), LoDTensor(cupy.zeros(rows, np.int64), [lengths])
            lodkit.embedding_bag(param, ids)  # compiles, and leaves memory in CuPy's pool
            stream.synchronize()
            stream.begin_capture()
            pooled = lodkit.embedding_bag(param, ids)
            lodkit.bounds_check("raise")
            with pytest.raises(lodkit.DeviceError, match="while a CUDA graph is captured"):
                lodkit.embedding_bag(param, ids)
            graph = stream.end_capture()
            for _ in range(3):
                numbers = rng.integers(0, 40, rows)
                ids.values.set(numbers)
                graph.launch(stream)
                expected = lodkit.embedding_bag(table, LoDTensor(numbers, [lengths]))
                np.testing.assert_array_equal(pooled.get(), expected)
    finally:
        lodkit.bounds_check(before)
