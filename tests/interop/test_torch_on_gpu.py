"""Autograd, modules and optimizers on a GPU: all tensors say that they are there, and kernels are emulated."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("greenlet")
pytest.importorskip("numba_cuda")
pytest.importorskip("array_api_compat")

from conftest import DEVICES, copy  # noqa: E402
from emulated_torch import on_gpu  # noqa: E402
from samples import SAMPLES  # noqa: E402

import lodkit  # noqa: E402
from lodkit import LoDTensor, SelectedRows  # noqa: E402
from lodkit.interop import torch as bridge  # noqa: E402
from lodkit.interop.torch import EmbeddingBag, SequencePool, optim  # noqa: E402


def values_of(x):
    return x.values if isinstance(x, LoDTensor) else x.value if isinstance(x, SelectedRows) else x


def gradients(name, inputs, attrs, rows_on, to=lambda tensor: tensor):
    """Gradients of the first result by the floating inputs of an operator, by PyTorch's autograd."""
    leaves = []

    def over_leaf(x):
        values = values_of(x)
        if not isinstance(values, np.ndarray):
            return x
        leaves.append(to(torch.from_numpy(np.array(values))).requires_grad_(values.dtype.kind == "f"))
        if isinstance(x, SelectedRows):
            return SelectedRows._wrap(rows_on(x._rows), leaves[-1], x.height, x.is_merged)
        return LoDTensor._wrap(leaves[-1], x._lod) if isinstance(x, LoDTensor) else leaves[-1]

    made = getattr(bridge, name)(*map(over_leaf, inputs), **attrs)
    outputs = [values_of(x) for x in (made if isinstance(made, tuple) else (made,))]
    outputs = [x for x in outputs if isinstance(x, torch.Tensor) and x.requires_grad]
    for x in outputs[:1]:
        x.backward(torch.ones_like(x))
    return [None if leaf.grad is None else leaf.grad.to_dense() for leaf in leaves]


@pytest.mark.parametrize("place", ["emulated", *(["cuda"] if "cuda" in DEVICES else [])])
@pytest.mark.parametrize("name", [name for name, op in lodkit.OPS.items() if op.gradient_rule])
def test_gradients_of_operators(name, place):
    """They are those on the CPU, by the first sample that has any."""
    op = lodkit.OPS[name]
    for inputs, attrs in SAMPLES[name]:
        given = op._accept(tuple(map(copy, inputs)))
        expected = gradients(name, given, attrs, lambda rows: rows) if all(np.size(values_of(x)) for x in given) else []
        if any(x is not None for x in expected):
            found = gradients_there(name, given, attrs, place)
            for f, e in zip(found, expected, strict=True):
                assert (f is None) == (e is None)
                if e is not None:
                    torch.testing.assert_close(f.cpu(), e, equal_nan=True)
            return
    raise AssertionError("no sample has a gradient")


def gradients_there(name, given, attrs, place):
    if place == "cuda":
        return gradients(name, given, attrs, lambda rows: torch.from_numpy(rows.copy()).cuda(), torch.Tensor.cuda)
    with on_gpu():
        return gradients(name, given, attrs, lambda rows: torch.from_numpy(rows.copy()))


IDS, OFFSETS = torch.tensor([3, 0, 3, 5, 2, 2, 1]), torch.tensor([0, 3, 3, 5])
KINDS = [
    {"mode": mode, **attrs}
    for mode in ("sum", "mean", "max")
    for attrs in ({}, {"sparse": True}, {"scale_grad_by_freq": True}, {"padding_idx": 3}, {"max_norm": 0.5})
    if mode != "max" or not attrs.keys() & {"sparse", "scale_grad_by_freq"}
]


@pytest.mark.parametrize("attrs", KINDS, ids=str)
def test_embedding_bag(attrs):
    """The same results and gradients as on the CPU: PyTorch's own, which divides some rows by another id's count."""
    torch.manual_seed(0)
    theirs = (EmbeddingBag if "scale_grad_by_freq" in attrs else torch.nn.EmbeddingBag)(6, 4, **attrs)
    mine = EmbeddingBag(6, 4, **attrs)
    mine.load_state_dict(theirs.state_dict())
    weighted = attrs["mode"] == "sum"
    factors = [torch.linspace(0.5, 2, 7).requires_grad_() for _ in range(2)] if weighted else [None, None]
    expected, grad = theirs(IDS, OFFSETS, factors[0]), torch.arange(16.0).reshape(4, 4)
    expected.backward(grad)
    with on_gpu():
        found = mine(IDS, OFFSETS, factors[1])
        found.backward(grad)
    torch.testing.assert_close(found, expected)
    assert mine.weight.grad.is_sparse == bool(attrs.get("sparse"))
    torch.testing.assert_close(mine.weight.grad.to_dense(), theirs.weight.grad.to_dense())
    if weighted:
        torch.testing.assert_close(factors[1].grad, factors[0].grad)


def test_bags_of_any_form():
    table, ids = torch.arange(12.0).reshape(6, 2), LoDTensor(IDS, [[2, 1], [3, 0, 4]])
    expected = lodkit.embedding_bag(table, ids)
    with on_gpu():
        bag = EmbeddingBag.from_pretrained(table, mode="sum")
        found, by_rows = bag(LoDTensor(IDS, [[2, 1], [3, 0, 4]])), bag(IDS[:6].reshape(3, 2))
        with pytest.raises(lodkit.RowIndexError, match="6 is outside"):
            bag(torch.tensor([[1, 6]]))
        with pytest.raises(TypeError, match="fused=True runs on the CPU"):
            EmbeddingBag(6, 2, mode="sum", fused=True)(IDS, OFFSETS)
        with pytest.raises(lodkit.LoDError, match=r"offsets\[1\] = 9 is beyond"):
            bag(IDS, torch.tensor([0, 9]))
    assert found.recursive_sequence_lengths() == [[2, 1]]
    torch.testing.assert_close(found.values, expected.values)
    torch.testing.assert_close(by_rows, table[IDS[:6]].reshape(3, 2, 2).sum(1))


def test_sequence_pool():
    x, offsets = torch.arange(8.0).reshape(4, 2).requires_grad_(), torch.tensor([0, 3, 3, 4])
    with on_gpu():
        pooled = SequencePool("max")(x, offsets)
        pooled.sum().backward()
    torch.testing.assert_close(pooled.detach(), torch.tensor([[4.0, 5], [0, 0], [6, 7]]))
    torch.testing.assert_close(x.grad, torch.tensor([[0.0, 0], [0, 0], [1, 1], [1, 1]]))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", ["SGD", "Adagrad", "Adam", "FTRL", "LAMB", "RowwiseAdagrad", "NAdam", "SGD bfloat16"])
def test_optimizers(name, sparse):
    name, _, kind = name.partition(" ")
    kind = getattr(torch, kind or "float32")

    def train():
        param = torch.nn.Parameter(torch.linspace(-1, 1, 12, dtype=kind).reshape(6, 2))
        made = getattr(optim, name)([param], lr=0.1)
        for k in range(3):
            value = torch.full((3, 2), k + 0.5, dtype=kind)
            grad = torch.sparse_coo_tensor(torch.tensor([[4, 1, 4]]), value, (6, 2), check_invariants=True)
            param.grad = grad if sparse else grad.to_dense()
            made.step()
            made.load_state_dict(made.state_dict())
        return param

    expected = train()
    with on_gpu():
        found = train()
    torch.testing.assert_close(found, expected)
