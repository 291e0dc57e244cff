"""The memory of a fused gradient is its own."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from lodkit.interop.torch import EmbeddingBag, optim  # noqa: E402

IDS, OFFSETS = torch.tensor([0, 3, 3, 1, 2]), torch.tensor([0, 2, 2])


def pair():
    """A fused module and one that is not, of equal tables."""
    table = torch.arange(20.0).view(5, 4)
    made = (
        EmbeddingBag.from_pretrained(table.clone(), freeze=False, mode="sum", fused=f, sparse=not f) for f in (1, 0)
    )
    return tuple(made)


def test_what_is_written_to_the_bags_gradient_changes_nothing():
    fused, plain = pair()
    for module in (fused, plain):
        grad = torch.ones(3, 4)
        module(IDS, OFFSETS).backward(grad)
        grad.zero_()
        optim.SGD(module.parameters(), lr=0.1).step()
    torch.testing.assert_close(fused.weight, plain.weight)


def test_another_leaf_may_take_the_memory_of_the_bags_gradient():
    ids, results = torch.arange(4).view(4, 1), []
    for fused in (True, False):
        module = EmbeddingBag.from_pretrained(torch.ones(4, 3), freeze=False, mode="sum", sparse=not fused, fused=fused)
        other = torch.nn.Parameter(torch.zeros(2, 6))
        for _ in range(2):
            ((module(ids) + other.view(4, 3)) * torch.ones(4, 3)).sum().backward()
        torch.nn.utils.clip_grad_norm_([other], 1.0)
        optim.SGD([module.weight, other], lr=1.0).step()
        results.append(module.weight.detach())
    torch.testing.assert_close(*results)


def test_it_has_no_memory_to_share():
    module = pair()[0]
    module(IDS, OFFSETS).sum().backward()
    with pytest.raises(NotImplementedError, match="zero_grad"):
        module.share_memory()
    with pytest.raises(NotImplementedError, match="fused=False"):
        module.weight.grad + 1


def test_what_grows_with_every_step_is_merged():
    fused, plain = pair()
    for module in (fused, plain):
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
        for _ in range(40):
            optimizer.zero_grad()
            module(IDS, OFFSETS).sum().backward()
            optimizer.step()
        if module is fused:
            buffer = optimizer.state[module.weight]["momentum_buffer"]
            assert sum(len(part.bags.values) for part in buffer.parts) <= 2 * 5 + len(IDS) * 9
    torch.testing.assert_close(fused.weight, plain.weight)
