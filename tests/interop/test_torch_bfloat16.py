"""Modules and updates in bfloat16: the memory of tensors is read and written, states are float32, sums rounded once."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from samples import SAMPLES

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.arrays import MOVED
from lodkit.interop.torch import EmbeddingBag, optim
from lodkit.registry.kinds import numbers_of, with_numbers
from lodkit.registry.tensors import call_on_bits

HALF = torch.bfloat16
KINDS = ({"fused": True}, {"sparse": True}, {})
LIKE_PARAM = {"param", "grad", "dense", "x"}


def half_of(x, given):
    """A value over a tensor of bfloat16, and over the same numbers in float32."""
    numbers = numbers_of(x)
    if not isinstance(numbers, np.ndarray):
        return x, x
    is_floating = numbers.dtype.kind == "f"
    numbers = numbers.astype(np.float32) if is_floating else numbers
    if given not in LIKE_PARAM or not is_floating:
        return with_numbers(x, numbers.copy()), with_numbers(x, numbers.copy())
    half = torch.from_numpy(numbers.astype(np.float32)).to(HALF)
    return with_numbers(x, half), with_numbers(x, half.float().numpy())


UPDATES = [name for name, op in lodkit.OPS.items() if op.updates and op.takes_bfloat16]


@pytest.mark.parametrize("name", UPDATES)
def test_updates_write_the_memory_of_tensors(name):
    op = lodkit.OPS[name]
    inputs, attrs = SAMPLES[name][0]
    pairs = [half_of(x, given) for given, x in zip(op._names(inputs), inputs, strict=True)]
    halves, wide = zip(*pairs, strict=True)
    place = numbers_of(halves[0]).data_ptr()
    assert call_on_bits(op, halves, dict(attrs)) is not NotImplemented
    op.full(*wide, **attrs)
    assert numbers_of(halves[0]).data_ptr() == place
    for got, want in zip(map(numbers_of, halves), map(numbers_of, wide), strict=True):
        # Rules that merge a gradient first round its sums.
        if isinstance(got, torch.Tensor):
            np.testing.assert_allclose(got.float().numpy(), want, rtol=2**-7, atol=0.01)
        elif isinstance(got, np.ndarray):
            np.testing.assert_allclose(got, want, rtol=2**-7, atol=0.01)


MOVES = [n for n, op in lodkit.OPS.items() if op.takes_bfloat16 and op.types and next(iter(op.types.values())) is MOVED]


@pytest.mark.parametrize("name", MOVES)
def test_what_moves_moves_bits(name):
    """All samples of operators that compute nothing, by the bits and again by a plan."""
    op = lodkit.OPS[name]
    for inputs, attrs in SAMPLES[name]:
        inputs = op._accept(inputs)
        if not any(isinstance(numbers_of(x), np.ndarray) and numbers_of(x).dtype.kind == "f" for x in inputs):
            continue
        halves, wide = zip(*(half_of(x, "x") if numbers_of(x) is not None else (x, x) for x in inputs), strict=True)
        expected = op.full(*wide, **attrs)
        for found in (call_on_bits(op, halves, dict(attrs)), op.full(*halves, **attrs), op.full(*halves, **attrs)):
            assert found is not NotImplemented
            pairs = zip(*(x if isinstance(x, tuple | list) else (x,) for x in (found, expected)), strict=True)
            for got, want in pairs:
                got, want = numbers_of(got), numbers_of(want)
                if isinstance(want, np.ndarray) and want.dtype == np.float32:
                    assert got.dtype is HALF and torch.equal(got.float(), torch.from_numpy(want.copy()))


def batches(count, seed=0, height=50):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield torch.from_numpy(rng.integers(0, height, (16, 5))), torch.from_numpy(rng.normal(size=(16, 8))).float()


def train(module, optimizer, steps, seed=0):
    for ids, wanted in batches(steps, seed):
        optimizer.zero_grad()
        (module(ids) - wanted.to(module.weight.dtype)).float().square().sum().backward()
        optimizer.step()
    return module.weight.detach().clone()


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_results_and_gradients_are_those_of_float32_rounded_once(kind, mode):
    start = torch.randn(50, 8).to(HALF)
    ids = torch.randint(0, 50, (16, 5))
    factors = torch.rand(16, 5).to(HALF) if mode == "sum" else None
    half = EmbeddingBag.from_pretrained(start.clone(), freeze=False, mode=mode, **kind)
    wide = EmbeddingBag.from_pretrained(start.float(), freeze=False, mode=mode)
    out = half(ids, per_sample_weights=factors)
    expected = wide(ids, per_sample_weights=None if factors is None else factors.float())
    assert out.dtype is HALF
    assert torch.equal(out, expected.to(HALF))
    out.backward(out.detach())
    expected.backward(out.detach().float())
    grad = half.weight.grad
    assert grad.dtype is HALF
    if kind != {"sparse": True} or (mode == "sum" and factors is None):
        assert torch.equal(grad.to_dense(), wide.weight.grad.to(HALF))
    else:  # a row for each id, each rounded
        torch.testing.assert_close(grad.to_dense().float(), wide.weight.grad, rtol=0.02, atol=0.02)


@pytest.mark.parametrize("name", ["SGD", "Adagrad", "Adam", "RowwiseAdagrad", "Momentum"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_training_beside_float32(name, kind):
    """Steps of a table in bfloat16 are those of its numbers in float32, rounded: state by state in float32."""
    start = torch.randn(50, 8).to(HALF)
    module = EmbeddingBag.from_pretrained(start.clone(), freeze=False, mode="sum", **kind)
    optimizer = getattr(optim, name)(module.parameters(), lr=0.05)
    place = module.weight.data_ptr()
    train(module, optimizer, 1)
    assert module.weight.data_ptr() == place
    wide = EmbeddingBag.from_pretrained(start.float(), freeze=False, mode="sum", **kind)
    other = getattr(optim, name)(wide.parameters(), lr=0.05)
    ids, wanted = next(batches(1))
    out = wide(ids).detach().to(HALF).float().requires_grad_()
    (out.to(HALF) - wanted.to(HALF)).float().square().sum().backward()
    wide(ids).backward(out.grad)
    other.step()
    step = (wide.weight.detach() - start.float()).abs().max()
    torch.testing.assert_close(
        module.weight.detach().float(), wide.weight.detach(), rtol=2**-8, atol=float(step) * 0.02
    )
    for state in optimizer.state[module.weight].values():
        if isinstance(state, torch.Tensor):
            assert state.dtype is torch.float32


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_training_goes_on_to_the_bits_after_loading(kind):
    whole = EmbeddingBag(50, 8, mode="sum", dtype=HALF, **kind)
    first = optim.Adam(whole.parameters(), lr=0.05, lazy=True)
    train(whole, first, 3)
    saved = copy.deepcopy((whole.state_dict(), first.state_dict()))
    expected = train(whole, first, 3, seed=1)
    resumed = EmbeddingBag(50, 8, mode="sum", dtype=HALF, **kind)
    again = optim.Adam(resumed.parameters(), lr=0.5, lazy=True)
    resumed.load_state_dict(saved[0])
    again.load_state_dict(saved[1])
    assert torch.equal(train(resumed, again, 3, seed=1), expected)
    assert resumed.weight.dtype is HALF


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_gradients_are_more_exact_than_those_of_pytorch(kind):
    """1,200 ids of one row: a sum in bfloat16 stops to grow."""
    torch.manual_seed(0)
    grad = torch.rand(1200, 4).to(HALF)
    exact, errors = grad.double().sum(0), []
    for make in (torch.nn.EmbeddingBag, EmbeddingBag):
        module = make(3, 4, mode="sum", dtype=HALF, **({} if make is torch.nn.EmbeddingBag else kind))
        module(torch.ones(1200, 1, dtype=torch.long)).backward(grad)
        made = module.weight.grad
        if kind == {"sparse": True} and make is EmbeddingBag:
            made = SelectedRows.from_torch(made).merge().to_dense()
        errors.append((made.to_dense()[1].double() - exact).abs().max().item())
    assert errors[1] <= 2**-8 * exact.max().item() < errors[0] / 10


def test_small_steps_count_where_they_are_rounded_at_random():
    param = torch.nn.Parameter(torch.ones(50, 4, dtype=HALF))
    optimizer = optim.SGD([param], lr=1.0, rounding_seed=3)
    for _ in range(100):
        param.grad = torch.full((50, 4), 1e-3, dtype=HALF)
        optimizer.step()
    assert param.detach().float().mean().item() == pytest.approx(0.9, abs=0.005)
    lost = torch.ones(50, 4, dtype=HALF)
    for _ in range(100):
        lodkit.sgd(lost, torch.full((50, 4), 1e-3, dtype=HALF), lr=1.0)
    assert torch.equal(lost, torch.ones_like(lost))


def test_calls_by_a_plan_are_those_before_it():
    table, ids = torch.randn(9, 4).to(HALF), LoDTensor(np.array([1, 1, 5]), [[2, 1]])
    first, second = lodkit.embedding_bag(table, ids), lodkit.embedding_bag(table, ids)
    wide = lodkit.embedding_bag(table.float(), ids)
    third = lodkit.embedding_bag(table, ids)
    assert wide.dtype is torch.float32
    for made in (first, second, third):
        assert made.dtype is HALF and torch.equal(made, wide.to(HALF))
    for _ in range(3):
        assert lodkit.embedding_bag(table, ids, torch.ones(3)).dtype is torch.float32
    assert lodkit.embedding_bag(table, ids, torch.ones(3).to(HALF)).dtype is HALF
    assert lodkit.embedding_bag(table, ids, dtype="float32").dtype is torch.float32
    out = torch.empty(2, 4, dtype=HALF)
    assert lodkit.embedding_bag(table, ids, out=out) is out and torch.equal(out, first)
    with pytest.raises(lodkit.base.errors.OutputError, match="out has"):
        lodkit.embedding_bag(table, ids, out=torch.empty(2, 4))
    with pytest.raises(lodkit.RowIndexError, match="9"):
        lodkit.lookup_table(table, torch.tensor([1, 9]))


@pytest.mark.parametrize("dtype", [HALF, torch.float16], ids=str)
@pytest.mark.parametrize("name", ["SGD", "Adam", "RowwiseAdagrad"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_master_weights(name, kind, dtype):
    """Steps are those of a table in float32, which is rounded after each; they go on to the bits after loading."""
    start = torch.randn(50, 8).to(dtype)
    factors = torch.rand(16, 5).to(dtype)

    def made(weight, **attrs):
        module = EmbeddingBag.from_pretrained(weight, freeze=False, mode="sum", **kind)
        return module, getattr(optim, name)(module.parameters(), lr=0.05, **attrs)

    def step(module, optimizer, ids, grad):
        optimizer.zero_grad()
        module(ids, per_sample_weights=factors.to(module.weight.dtype)).backward(grad.to(module.weight.dtype))
        optimizer.step()

    module, optimizer = made(start.clone(), master_weights=True)
    place = module.weight.data_ptr()
    steps = [(ids, grad.to(dtype)) for ids, grad in batches(6)]
    for ids, grad in steps[:3]:
        step(module, optimizer, ids, grad)
    master = optimizer.state[module.weight]["master_weights"]
    assert module.weight.data_ptr() == place and master.dtype is torch.float32
    assert torch.equal(module.weight.detach(), master.to(dtype))
    if kind == {"fused": True}:  # whose gradient is not rounded before the step
        wide, other = made(start.float())
        for ids, grad in steps[:3]:
            step(wide, other, ids, grad.float())
        assert torch.equal(master, wide.weight.detach())
    resumed, again = made(torch.zeros(50, 8, dtype=dtype), master_weights=True)
    again.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    resumed.load_state_dict(module.state_dict())
    for ids, grad in steps[3:]:
        step(module, optimizer, ids, grad)
        step(resumed, again, ids, grad)
    assert torch.equal(resumed.weight, module.weight)
    assert torch.equal(again.state[resumed.weight]["master_weights"], master)


def test_small_steps_count_with_master_weights():
    kept, lost = (torch.nn.Parameter(torch.ones(50, 4, dtype=HALF)) for _ in range(2))
    table = torch.nn.Parameter(torch.ones(3, 2))
    optimizer, plain = optim.SGD([kept, table], lr=1.0, master_weights=True), optim.SGD([lost], lr=1.0)
    for _ in range(100):
        kept.grad, lost.grad = (torch.full((50, 4), 2.0**-10, dtype=HALF) for _ in range(2))
        table.grad = torch.full((3, 2), 2.0**-10)
        optimizer.step()
        plain.step()
    assert (kept.detach().float() - (1 - 100 * 2.0**-10)).abs().max() <= 2.0**-9
    assert torch.equal(lost.detach(), torch.ones(50, 4, dtype=HALF))
    assert "master_weights" not in optimizer.state[table] and (table == 1 - 100 * 2.0**-10).all()
    with pytest.raises(ValueError, match="leave out rounding_seed"):
        optim.SGD([kept], lr=1.0, master_weights=True, rounding_seed=1)
    with torch.no_grad():
        kept[3] = 4.0  # by another: the copy takes it
    kept.grad = torch.full((50, 4), 2.0**-10, dtype=HALF)
    optimizer.step()
    assert (optimizer.state[kept]["master_weights"][3] == 4 - 2.0**-10).all()
