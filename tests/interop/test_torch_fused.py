"""``EmbeddingBag(..., fused=True)``: the same training as without, however gradients meet; or an error."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest
from calls import record_calls

torch = pytest.importorskip("torch")
from lodkit.interop.torch import BagGradient, EmbeddingBag, optim  # noqa: E402
from lodkit.ops.bag_updates import FUSED  # noqa: E402

RULES = [name for name in optim.__all__ if name != "Optimizer"]
OFFSETS = torch.tensor([0, 3, 3, 5])
IDS = [torch.tensor([1, 1, 4, 0, 6, 6, 2]), torch.tensor([6, 5, 1, 1, 1, 3, 0])]


def pair(**settings):
    """The same module fused, and with sparse gradients."""
    made = []
    for kind in ({"fused": True}, {"sparse": True}):
        torch.manual_seed(0)
        made.append(EmbeddingBag(7, 4, **settings, **kind))
    return made


def trained(module, optimizer, loss, steps=3):
    for step in range(steps):
        optimizer.zero_grad()
        loss(module, step).backward()
        optimizer.step()
    return module.weight.detach()


def simple(module, step):
    return module(IDS[step % 2], OFFSETS).pow(2).sum()


def weighted(module, step):
    return module(IDS[step % 2], OFFSETS, torch.linspace(-1, 2, 7)).pow(2).sum()


def twice(module, step):
    return simple(module, step) + module(IDS[0].reshape(1, 7)).sin().sum()


def twice_weighted(module, step):
    return simple(module, step) + weighted(module, step)


def accumulated(module, step):
    simple(module, step).backward()
    (simple(module, step + 1) / 3).backward()
    return module(IDS[1], OFFSETS).sum()


def beside_dense(module, step):
    return simple(module, step) + module.weight.pow(2).mean()


def beside_sparse(module, step):
    rows = torch.nn.functional.embedding(IDS[1], module.weight, sparse=True)
    return simple(module, step) + rows.pow(2).sum()


def hooked(module, step):
    module.weight.register_hook(lambda grad: grad * 0.5)
    return simple(module, step)


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("name", RULES)
def test_every_rule_trains_as_without(name, mode, lazy):
    if lazy and "lazy" not in getattr(optim, name)._defaults():
        pytest.skip("the rule has no lazy step")
    attrs = {"lazy": True} if lazy else {}
    fused, plain = (trained(m, getattr(optim, name)(m.parameters(), lr=0.1, **attrs), simple) for m in pair(mode=mode))
    torch.testing.assert_close(fused, plain, rtol=1e-5, atol=1e-6)
    assert not torch.equal(fused, pair()[0].weight)


LOSSES = [simple, weighted, twice, twice_weighted, accumulated, beside_dense, beside_sparse, hooked]


@pytest.mark.parametrize("padding_idx", [None, 1])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("name", "attrs"), [("Adagrad", {}), ("Adam", {"lazy": True, "amsgrad": True}), ("SGD", {})])
def test_every_way_gradients_meet(loss, name, attrs, padding_idx):
    fused, plain = (
        trained(m, getattr(optim, name)(m.parameters(), lr=0.1, **attrs), loss)
        for m in pair(mode="sum", padding_idx=padding_idx)
    )
    torch.testing.assert_close(fused, plain, rtol=1e-5, atol=1e-6)


def test_two_modules_share_a_table():
    tables = []
    for kind in ({"fused": True}, {"sparse": True}):
        torch.manual_seed(0)
        one = EmbeddingBag(7, 4, mode="sum", **kind)
        other = EmbeddingBag(7, 4, mode="mean", **kind)
        other.weight = one.weight
        optimizer = optim.Adagrad(one.parameters(), lr=0.1)
        for step in range(3):
            optimizer.zero_grad()
            (simple(one, step) + simple(other, step + 1)).backward()
            optimizer.step()
        tables.append(one.weight.detach())
    torch.testing.assert_close(*tables, rtol=1e-5, atol=1e-6)


@pytest.fixture
def calls(monkeypatch):
    """Names of the fused operators that ran."""
    ran = []
    record_calls(monkeypatch.setattr, ran.append)
    return ran


@pytest.mark.parametrize("op", FUSED, ids=lambda op: op.name)
def test_the_fused_operator_runs(op, calls):
    (name,) = [n for n in RULES if f"embedding_bag_{getattr(optim, n).rule.op.name}" == op.name]
    module = pair()[0]
    trained(module, getattr(optim, name)(module.parameters(), lr=0.1, lazy=True), simple, steps=1)
    assert calls[-1] == op.name
    assert "embedding_bag_grad" not in calls


def test_a_rule_that_changes_every_row_does():
    fused, plain = pair(mode="sum")
    for module in (fused, plain):
        trained(module, optim.Adam(module.parameters(), lr=0.1, weight_decay=0.1), simple)
    torch.testing.assert_close(fused.weight, plain.weight, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_types(dtype):
    tables = []
    for kind in ({"fused": True}, {"sparse": True}):
        torch.manual_seed(0)
        module = EmbeddingBag(7, 4, mode="sum", dtype=dtype, **kind)
        tables.append(trained(module, optim.Adagrad(module.parameters(), lr=0.1), simple))
    torch.testing.assert_close(*tables, rtol=1e-2 if dtype is torch.float16 else 1e-12, atol=1e-3)


def test_the_gradient_as_others():
    fused, plain = pair(mode="mean")
    for module in (fused, plain):
        twice(module, 0).backward()
        simple(module, 1).backward()
    grad, expected = fused.weight.grad, plain.weight.grad.to_dense()
    assert isinstance(grad, BagGradient)
    assert grad.shape == fused.weight.shape
    assert not grad.is_sparse
    torch.testing.assert_close(grad.to_dense(), expected)
    torch.testing.assert_close(grad.to_sparse().to_dense(), expected)
    np.testing.assert_allclose(grad.selected_rows().to_dense(), expected.numpy(), rtol=1e-5, atol=1e-6)
    for ord in (1, 2, 3, float("inf")):
        torch.testing.assert_close(torch.linalg.vector_norm(grad, ord), torch.linalg.vector_norm(expected, ord))
    torch.testing.assert_close((grad.clone() * 2 / 4).to_dense(), expected / 2)
    torch.testing.assert_close((-grad).to_dense(), -expected)
    torch.testing.assert_close(grad + expected, 2 * expected)
    torch.testing.assert_close(torch.add(expected, grad, alpha=3), 4 * expected)
    assert "21 ids in 9 bags" in repr(grad)
    copied = copy.deepcopy(grad)
    torch.testing.assert_close(copied.to_dense(), expected)
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(grad)


def test_clipping_of_gradients():
    tables = []
    for kind in ({"fused": True}, {"sparse": False}):
        torch.manual_seed(0)
        module = EmbeddingBag(7, 4, mode="sum", **kind)
        linear = torch.nn.Linear(4, 2)
        params = [*module.parameters(), *linear.parameters()]
        optimizer = optim.Adagrad(params, lr=0.1)
        linear(module(IDS[0], OFFSETS)).pow(2).sum().backward()
        norm = torch.nn.utils.clip_grad_norm_(params, 0.5)
        optimizer.step()
        tables += [module.weight.detach(), norm]
    torch.testing.assert_close(tables[0], tables[2])
    torch.testing.assert_close(tables[1], tables[3])
    simple(module := pair()[0], 0).backward()
    with pytest.raises(NotImplementedError, match="fused=False"):
        torch.nn.utils.clip_grad_value_(module.parameters(), 0.1)


@pytest.mark.parametrize("set_to_none", [True, False])
def test_a_gradient_that_was_dropped_is_dropped(set_to_none):
    module = pair()[0]
    optimizer = optim.Adagrad(module.parameters(), lr=0.1)
    before = module.weight.detach().clone()
    simple(module, 0).backward()
    optimizer.zero_grad(set_to_none=set_to_none)
    optimizer.step()
    optimizer.step()
    assert torch.equal(module.weight, before)
    simple(module, 0).backward()
    optimizer.step()
    assert not torch.equal(module.weight, before)


def test_a_step_uses_the_ids_of_its_forward():
    fused, plain = pair(mode="sum")
    for module in (fused, plain):
        ids, weights = IDS[0].clone(), torch.ones(7)
        optimizer = optim.Adagrad(module.parameters(), lr=0.1)
        module(ids, OFFSETS, weights).pow(2).sum().backward()
        ids.fill_(99)
        weights.fill_(5)
        optimizer.step()
    torch.testing.assert_close(fused.weight, plain.weight)


def test_pytorchs_optimizers_work_or_refuse():
    fused, plain = pair(mode="sum")
    for module in (fused, plain):
        trained(module, torch.optim.SGD(module.parameters(), lr=0.1), simple)
    torch.testing.assert_close(fused.weight, plain.weight)
    for name in ("Adagrad", "Adam", "RMSprop"):
        module = pair()[0]
        before = module.weight.detach().clone()
        with pytest.raises(NotImplementedError, match=r"lodkit\.interop\.torch\.optim"):
            trained(module, getattr(torch.optim, name)(module.parameters(), lr=0.1), simple, steps=1)
        assert torch.equal(module.weight, before)
    module = pair()[0]
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients"):
        trained(module, torch.optim.SparseAdam(module.parameters()), simple, steps=1)


def test_weights_get_their_gradient_too():
    fused, plain = pair(mode="sum")
    grads = []
    for module in (fused, plain):
        weights = torch.linspace(-1, 1, 7).requires_grad_()
        module(IDS[0], OFFSETS, weights).pow(2).sum().backward()
        grads.append(weights.grad)
    torch.testing.assert_close(*grads)
    torch.testing.assert_close(fused.weight.grad.to_dense(), plain.weight.grad.to_dense())


def test_nothing_is_left_of_a_step():
    """Ids and gradients die with the gradient, without the collector."""
    module = EmbeddingBag(7, 4, mode="mean", fused=True)
    optimizer = optim.Adam(module.parameters(), lr=0.1, lazy=True)
    trained(module, optimizer, simple, steps=1)
    alive = []
    gc.disable()
    for step in range(20):
        optimizer.zero_grad()
        simple(module, step).backward()
        (part,) = module.weight.grad.parts
        alive += [weakref.ref(part.bags), weakref.ref(part.grad)]
        del part
        optimizer.step()
    optimizer.zero_grad()
    gc.enable()
    assert [ref() for ref in alive] == [None] * 40


def test_a_gradient_outlives_its_module():
    module = pair(mode="sum")[0]
    simple(module, 0).backward()
    grad, expected = module.weight.grad, module.weight.grad.to_dense()
    del module
    gc.collect()
    assert torch.equal(grad.to_dense(), expected)


def test_bags_of_nothing():
    module = pair()[0]
    before = module.weight.detach().clone()
    optimizer = optim.Adagrad(module.parameters(), lr=0.1)
    module(torch.tensor([], dtype=torch.long), torch.tensor([0, 0])).sum().backward()
    optimizer.step()
    assert torch.equal(module.weight, before)
