"""The module ``EmbeddingBag`` in graphs of torch.compile and torch.export: the bits and the errors of eager."""

from __future__ import annotations

import copy
import functools
import shutil

import pytest

import lodkit
from lodkit import LoDTensor

torch = pytest.importorskip("torch")
from torch._dynamo.testing import CompileCounterWithBackend  # noqa: E402

from lodkit.interop import torch as bridge  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:The given NumPy array is not writable:UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

SETTINGS = ({}, {"mode": "sum"}, {"mode": "max"}, {"fused": True}, {"padding_idx": 1}, {"include_last_offset": True})
SETTINGS += ({"scale_grad_by_freq": True}, {"sparse": True}, {"sparse": True, "padding_idx": 1})


def bags(settings, dims, rows, length):
    """What a module of these settings is called with."""
    flat = torch.arange(rows * length) % 5
    weights = torch.rand(len(flat), dtype=torch.float64) if settings.get("mode") == "sum" else None
    if dims == 2:
        given = flat.reshape(rows, length), None, None if weights is None else weights.reshape(rows, length)
    else:
        starts = [i * length for i in range(rows + ("include_last_offset" in settings))]
        given = flat, torch.tensor(starts), weights
    return given if weights is not None else given[:2] if dims == 1 else given[:1]


def equal_bits(x, y):
    """Whether two gradients are the same, of sparse ones row by row."""
    if x.is_sparse and y.is_sparse:
        return torch.equal(x._indices(), y._indices()) and torch.equal(x._values(), y._values())
    return not x.is_sparse and not y.is_sparse and torch.equal(x, y)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_compiled_module(settings, backend):
    """One graph, with the bits of eager at any size; fused gradients, and sparse ones with padding, break it."""
    if backend == "inductor" and shutil.which("g++") is None:
        pytest.skip("inductor compiles C++")
    module, fused = bridge.EmbeddingBag(20, 4, dtype=torch.float64, **settings), "fused" in settings
    breaks = fused or (module.sparse and module.padding_idx is not None)
    for dims in (1, 2):
        counter = CompileCounterWithBackend(backend)
        torch._dynamo.reset()
        fast = torch.compile(module, fullgraph=not breaks, backend=counter)
        for rows, length in ((2, 3), (3, 2), (7, 5), (1, 9), (9, 8)):
            given = bags(settings, dims, rows, length)
            leaves = [module.weight, *[x.requires_grad_() for x in given if x is not None and x.is_floating_point()]]
            results = [m(*given) for m in (module, fast)]
            assert torch.equal(*results)
            grad = torch.rand_like(results[0])
            expected, found = (torch.autograd.grad(y, leaves, grad) for y in results)
            if fused:
                expected, found = ([g.to_dense() for g in grads] for grads in (expected, found))
            assert all(equal_bits(g, e) for g, e in zip(found, expected, strict=True))
        assert counter.frame_count <= 4
        with pytest.raises(lodkit.RowIndexError) as expected:
            module(given[0] + 100, *given[1:])
        with pytest.raises(lodkit.RowIndexError) as found:
            fast(given[0] + 100, *given[1:])
        assert str(found.value) == str(expected.value)
        with torch.no_grad():
            assert torch.equal(fast(*given), module(*given))


def test_what_a_compiled_module_leaves_to_eager():
    ids = torch.tensor([[1, 2]])
    for settings, given in (({"max_norm": 0.1}, (ids,)), ({}, (LoDTensor(ids[0], [[1, 1]]),))):
        module = bridge.EmbeddingBag(20, 4, **settings)
        torch._dynamo.reset()
        fast = torch.compile(copy.deepcopy(module), backend="aot_eager")
        assert torch.equal(fast(*given), module(*given))
    torch._dynamo.reset()
    fast = torch.compile(bridge.EmbeddingBag(20, 4), backend="aot_eager")
    for given, error, message in (
        ((ids, None, torch.ones(1, 2)), NotImplementedError, "mode='sum', not 'mean'"),
        ((ids[0],), ValueError, "offsets must be a tensor"),
        ((ids, ids[0]), ValueError, "offsets must be None"),
        ((ids.float(),), lodkit.DTypeError, "must be integers"),
        ((ids[0], torch.tensor([0, 5])), lodkit.LoDError, r"offsets\[1\] = 5 is beyond"),
    ):
        with pytest.raises(error, match=message):
            fast(*given)


def test_settings_that_change_after_it_compiled():
    module, ids = bridge.EmbeddingBag(20, 4, mode="sum"), torch.tensor([[1, 2], [3, 1]])
    torch._dynamo.reset()
    fast = torch.compile(module, backend="aot_eager")
    for name, value in (("mode", "mean"), ("padding_idx", 1), ("sparse", True), ("mode", "sum")):
        setattr(module, name, value)
        results = [m(ids) for m in (module, fast)]
        assert torch.equal(*results)
        assert equal_bits(*(torch.autograd.grad(y.sum(), module.weight)[0] for y in results))
    module.mode = "max"
    with pytest.raises(ValueError, match="takes no sparse gradients"):
        fast(ids)


def test_ids_that_are_written_before_backward():
    module, ids = bridge.EmbeddingBag(20, 4), torch.tensor([[1, 2]])
    torch._dynamo.reset()
    fast = torch.compile(module, fullgraph=True, backend="aot_eager")
    loss = fast(ids).sum()
    ids[0, 0] = 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    loss = fast(ids).sum()
    ids.numpy()[0, 0] = 100
    with pytest.raises(lodkit.RowIndexError, match=r"input\[0, 0\] = 100"):
        loss.backward()


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("dims", [1, 2])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_an_exported_module(settings, dims, strict):
    """The same results and gradients of other sizes; bad ids are refused where it runs."""
    module = bridge.EmbeddingBag(20, 4, dtype=torch.float64, **settings)
    inputs = functools.partial(bags, settings, dims)
    free = [None if x is None else dict.fromkeys(range(x.ndim), torch.export.Dim.AUTO) for x in inputs(2, 3)]
    exported = torch.export.export(module, inputs(2, 3), dynamic_shapes=free, strict=strict).module()
    for given in (inputs(2, 3), inputs(3, 2), inputs(4, 5)):
        assert torch.equal(exported(*given), module(*given))
        grads = [torch.autograd.grad(m(*given).square().sum(), m.weight)[0].to_dense() for m in (exported, module)]
        torch.testing.assert_close(*grads)
    ids, *others = inputs(2, 3)
    with pytest.raises(lodkit.RowIndexError, match=r"input\[0(, 0)?\] = 100"):
        exported(ids + 100, *others)


@pytest.mark.parametrize("padding_idx", [None, 1])
@pytest.mark.parametrize("offsets", [[0, 4, 2, 5], [0, -2, 4, 5], [1, 2, 3, 5], [0, 2, 3, 9]])
def test_offsets_are_checked_where_an_exported_module_runs(offsets, padding_idx):
    module = bridge.EmbeddingBag(20, 4, padding_idx=padding_idx)
    ids = torch.tensor([0, 2, 1, 1, 3])
    exported = torch.export.export(module, (ids, torch.tensor([0, 1, 2, 3]))).module()
    with pytest.raises((lodkit.LoDError, IndexError, RuntimeError)):
        exported(ids, torch.tensor(offsets))


def test_modules_that_are_not_exported():
    ids, weights = torch.tensor([[1, 2]]), torch.ones(1, 2)
    for settings, given, error, message in (
        ({"max_norm": 1.0}, (ids,), ValueError, "max_norm=1.0"),
        ({"mode": "mean"}, (ids, None, weights), NotImplementedError, "mode='sum', not 'mean'"),
        ({}, (ids[0],), ValueError, "offsets must be a tensor"),
        ({}, (ids, ids[0]), ValueError, "offsets must be None"),
        ({}, (ids.float(),), TypeError, "int32 or int64"),
    ):
        with pytest.raises(error, match=message):
            torch.export.export(bridge.EmbeddingBag(20, 4, **settings), given)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding_idx", [None, 2])
def test_opcheck(mode, padding_idx):
    table, ids, offsets = torch.randn(20, 4, requires_grad=True), torch.tensor([1, 2, 3, 3]), torch.tensor([0, 2])
    weights = torch.rand(4, requires_grad=True) if mode == "sum" else None
    bridge.EmbeddingBag(1, 1)
    call = table, ids, offsets, weights, mode, False, padding_idx, "dense"
    torch.library.opcheck(torch.ops.lodkit.bags.default, call)


def test_a_program_that_was_saved(tmp_path):
    module, ids, offsets = bridge.EmbeddingBag(20, 4, sparse=True), torch.arange(6), torch.tensor([0, 2, 3])
    sizes = {"input": {0: torch.export.Dim("ids", min=1)}, "offsets": {0: torch.export.Dim("bags")}}
    torch.export.save(torch.export.export(module, (ids, offsets), dynamic_shapes=sizes), tmp_path / "module.pt2")
    loaded, given = torch.export.load(tmp_path / "module.pt2").module(), (torch.arange(9), torch.tensor([0, 4]))
    assert torch.equal(loaded(*given), module(*given))
