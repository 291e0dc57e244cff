"""Fused gradients under ``torch.amp.GradScaler`` and checkpointing: the same steps as without."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
from test_torch_fused import IDS, OFFSETS, pair, trained  # noqa: E402

from lodkit.interop.torch import EmbeddingBag, optim  # noqa: E402


@pytest.mark.parametrize("overflow", [None, 1])
@pytest.mark.parametrize("weights", [None, torch.linspace(-1, 2, 7)])
@pytest.mark.parametrize("name", ["SGD", "Adagrad"])
def test_a_grad_scaler_skips_the_step_that_overflows(name, weights, overflow):
    """And no other one, beside the gradients of a dense layer."""
    tables, stepped = [], []
    for kind in ({"fused": True}, {"sparse": False}):
        torch.manual_seed(0)
        module, linear = EmbeddingBag(7, 4, mode="sum", **kind), torch.nn.Linear(4, 2)
        optimizer = getattr(optim, name)([*module.parameters(), *linear.parameters()], lr=0.1)
        scaler, known = torch.amp.GradScaler("cpu", init_scale=1024.0), []
        for step in range(4):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                out = linear(module(IDS[step % 2], OFFSETS, weights))
            loss = out.float().pow(2).sum() * (1e38 if step == overflow else 1.0)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
            before = module.weight.detach().clone()
            scaler.step(optimizer)
            scaler.update()
            known.append((torch.equal(before, module.weight), scaler.get_scale()))
        tables.append(module.weight.detach())
        stepped.append(known)
    assert stepped[0] == stepped[1]
    assert [same for same, _ in stepped[0]] == [step == overflow for step in range(4)]
    torch.testing.assert_close(*tables, rtol=0, atol=1e-6)


def test_a_sum_that_overflows_of_rows_that_do_not():
    """A bag of no ids counts for nothing, whatever its gradient."""
    most = torch.finfo(torch.float32).max
    for rows, finite in (([[0.6 * most], [0.0], [0.6 * most]], False), ([[1.0], [float("inf")], [1.0]], True)):
        module = EmbeddingBag(3, 1, mode="sum", fused=True)
        module(torch.tensor([1, 1]), torch.tensor([0, 1, 1])).backward(torch.tensor(rows))
        found = torch.zeros(1)
        torch._amp_foreach_non_finite_check_and_unscale_([module.weight.grad], found, torch.tensor([0.5]))
        assert bool(found) != finite
        assert module.weight.grad.parts[0].grad[0, 0] == rows[0][0] / 2


def test_checkpointing_reads_the_table_again():
    def run(module, step):
        return torch.utils.checkpoint.checkpoint(module, IDS[step % 2], OFFSETS, use_reentrant=False).pow(2).sum()

    fused, plain = (trained(m, optim.Adagrad(m.parameters(), lr=0.1), run) for m in pair(mode="sum"))
    torch.testing.assert_close(fused, plain, rtol=1e-5, atol=1e-6)
