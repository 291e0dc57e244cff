"""``lodkit.interop.torch.SequencePool``: as the operator, of each kind of input, with gradients."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit

torch = pytest.importorskip("torch")
from lodkit.interop.torch import SequencePool  # noqa: E402

POOLS = ["sum", "mean", "average", "sqrt", "max", "min", "first", "last", "prod", "logsumexp"]


@pytest.mark.parametrize("pool", ["max", "min"])
def test_ties_go_to_the_first(pool):
    """PyTorch's ``segment_reduce`` shares the gradient among them."""
    grads = []
    for run in (lambda x: SequencePool(pool)(x, torch.tensor([0, 3])), lambda x: _segments(x, pool)):
        rows = torch.tensor([[2.0], [2.0], [2.0]], requires_grad=True)
        run(rows).sum().backward()
        grads.append(rows.grad.flatten())
    assert grads[0].tolist() == [1, 0, 0]
    torch.testing.assert_close(grads[1], torch.full((3,), 1 / 3))


def _segments(x, pool):
    return torch.segment_reduce(x, pool, lengths=torch.tensor([3]), axis=0)


@pytest.mark.parametrize("pool", POOLS)
def test_sequence_pool(pool):
    rows = torch.rand(6, 2, dtype=torch.float64, requires_grad=True)
    offsets = torch.tensor([0, 2, 2, 6])
    module = SequencePool(pool=pool)
    ragged = lodkit.LoDTensor(rows.detach().numpy(), [[2, 0, 4]])
    expected = lodkit.sequence_pool(ragged, pool=pool)
    np.testing.assert_allclose(module(rows, offsets).detach(), expected)
    nested = torch.nested.nested_tensor_from_jagged(rows, offsets)
    assert torch.equal(module(nested), module(rows, offsets))
    assert torch.autograd.gradcheck(lambda x: module(x, offsets), (rows,))
    two = lodkit.LoDTensor(rows.detach().numpy(), [[2, 1], [2, 0, 4]])
    assert module(two).recursive_sequence_lengths() == [[2, 1]]
    outer = SequencePool(pool=pool, level=0)(two)
    np.testing.assert_allclose(outer, lodkit.sequence_pool(two, pool=pool, level=0))


def test_what_sequence_pool_refuses():
    with pytest.raises(ValueError, match="pool must be one of sum"):
        SequencePool("other")
    pool = SequencePool()
    with pytest.raises(ValueError, match="needs offsets"):
        pool(torch.ones(2))
    with pytest.raises(lodkit.LoDError, match="last offset 1 at level 0"):
        pool(torch.ones(2), torch.tensor([0, 1]))
    with pytest.raises(TypeError, match="must be a LoDTensor"):
        pool([1.0])
    with pytest.raises(lodkit.LoDLevelError, match="level 1 does not exist"):
        SequencePool(level=1)(torch.ones(2), torch.tensor([0, 2]))
    half = torch.ones(2, 3, dtype=torch.bfloat16, requires_grad=True)
    out = pool(half, torch.tensor([0, 2]))
    out.sum().backward()
    assert out.dtype == half.grad.dtype == torch.bfloat16
