"""The bridge as a part of PyTorch: in-place edits, needs, layouts, types, refusals, memory."""

from __future__ import annotations

import gc
import resource
import subprocess
import sys
import weakref

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.registry import operators

torch = pytest.importorskip("torch")
from lodkit.interop import torch as bridge  # noqa: E402


def ids(*lengths):
    return bridge.ragged(torch.arange(sum(lengths)) % 7, lengths)


def table(dtype=torch.float32):
    return torch.randn(10, 3).to(dtype).requires_grad_()


def test_every_operator_with_a_gradient_is_there():
    for name, op in lodkit.OPS.items():
        if op.gradient_rule:
            function = getattr(bridge, name)
            assert (function.__name__, function.__doc__) == (name, op.__doc__)
            assert function is getattr(bridge, name)
            assert name in dir(bridge)
    with pytest.raises(AttributeError, match="did you mean embedding_bag"):
        bridge.embeding_bag
    with pytest.raises(AttributeError, match=r"no gradient; call lodkit\.sequence_mask"):
        bridge.sequence_mask
    with pytest.raises(lodkit.LodkitError, match="sequence_mask has no gradient"):
        bridge.differentiable(lodkit.sequence_mask)


def test_importing_lodkit_loads_no_torch():
    code = "import sys, lodkit; lodkit.interop.torch, lodkit.sgd; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_an_operator_of_another_package(monkeypatch):
    monkeypatch.setattr(operators, "OPS", operators.Registry(lodkit.OPS))

    @lodkit.op(rowwise=True)
    def doubled_here(x: lodkit.Dense, /) -> lodkit.Dense:
        return 2 * x

    doubled_here.kernel("cpu")(lambda x: 2 * x)
    doubled_here.gradient(lambda call, grad: doubled_here(grad))
    x = torch.ones(3, requires_grad=True)
    bridge.differentiable(doubled_here)(x).sum().backward()
    assert x.grad.tolist() == [2.0] * 3


def test_a_table_has_a_sparse_gradient_that_is_not_coalesced():
    w = table()
    bridge.embedding_bag(w, ids(3, 2)).sum().backward()
    assert w.grad.is_sparse
    assert not w.grad.is_coalesced()
    assert w.grad._indices().tolist() == [[0, 1, 2, 3, 4]]
    w.grad._values().mul_(2)  # its own memory
    bridge.embedding_bag(w, ids(1)).sum().backward()
    assert w.grad.coalesce().values()[0].tolist() == [3.0] * 3
    dense = torch.autograd.grad(bridge.embedding_bag(w, ids(3), is_sparse=False).sum(), w)[0]
    assert not dense.is_sparse


@pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")
@pytest.mark.parametrize("optimizer", ["SGD", "Adagrad", "SparseAdam"])
def test_optimizers_of_torch_take_the_gradient(optimizer):
    w, v = table(), None
    v = w.detach().clone().requires_grad_()
    steps = [getattr(torch.optim, optimizer)([p], lr=0.1) for p in (w, v)]
    batch = ids(3, 0, 4)
    starts = torch.tensor([0, 3, 3])
    for _ in range(3):
        for step in steps:
            step.zero_grad()
        bridge.embedding_bag(w, batch).square().sum().backward()
        torch.nn.functional.embedding_bag(batch.values, v, starts, mode="sum", sparse=True).square().sum().backward()
        for step in steps:
            step.step()
    torch.testing.assert_close(w, v)


def test_edits_between_forward_and_backward_are_noticed():
    x = torch.randn(3, requires_grad=True)
    y = bridge.gelu(x * 1)
    y.mul_(2).sum().backward()  # gelu reads its input, and not its result
    z = x * 1
    y = bridge.gelu(z)
    z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    y = bridge.tanh(x)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    batch = ids(3)
    y = bridge.embedding_bag(table(), batch)
    batch.values[0] = 5
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_result_that_no_rule_reads_may_be_edited():
    x, w = torch.randn(4, 3, requires_grad=True), torch.randn(3, 2, requires_grad=True)
    found = torch.autograd.grad(bridge.fc(x, w).relu_().sum(), (x, w))
    for g, e in zip(found, torch.autograd.grad((x @ w).relu().sum(), (x, w)), strict=True):
        torch.testing.assert_close(g, e)


def test_an_output_gradient_that_requires_grad():
    w = table()
    for is_sparse in (True, False):
        y = bridge.embedding_bag(w, ids(2, 1), is_sparse=is_sparse)
        (g,) = torch.autograd.grad(y, w, torch.ones(2, 3, requires_grad=True))
        assert g.to_dense().sum() == 9


@pytest.mark.parametrize("pool", ["sum", "mean", "sqrt"])
@pytest.mark.parametrize("lengths", [(3, 0, 4, 1), (9000, 0, 20000)])
def test_the_gradient_of_bags_has_the_bits_of_the_operator(pool, lengths):
    w, batch, g = table(), ids(*lengths), torch.randn(len(lengths), 3)
    (found,) = torch.autograd.grad(bridge.embedding_bag(w, batch, pool=pool), w, g)
    expected = lodkit.embedding_bag_grad(w.detach(), batch, g, pool=pool)
    assert torch.equal(found._values(), expected.value)
    assert found._indices().tolist() == [expected.rows.tolist()]


@pytest.mark.parametrize("pool", ["sum", "max"])
def test_ids_that_others_wrote_since_forward_are_checked(pool):
    w, flat = table(), torch.zeros(5, dtype=torch.int64)
    y = bridge.embedding_bag(w, bridge.ragged(flat, [2, 3]), pool=pool)
    # PyTorch does not see the write.
    flat.numpy()[3] = 1 << 40
    with pytest.raises(lodkit.RowIndexError, match="1099511627776"):
        y.sum().backward()


def test_differentiating_twice_raises():
    x = torch.randn(3, requires_grad=True)
    (g,) = torch.autograd.grad(bridge.tanh(x).sum(), x, create_graph=True)
    torch.testing.assert_close(g.detach(), 1 - torch.tanh(x.detach()) ** 2)
    with pytest.raises(RuntimeError, match="tanh can be differentiated once"):
        (g.sum() + x.sum()).backward()
    w = table()
    (g,) = torch.autograd.grad(bridge.embedding_bag(w, ids(2)).square().sum(), w, create_graph=True)
    with pytest.raises(RuntimeError, match="embedding_bag can be differentiated once"):
        g.to_dense().sum().backward()


def test_only_what_is_needed_is_computed(monkeypatch):
    seen = []
    rule = lodkit.embedding_bag.gradient_rule
    monkeypatch.setattr(lodkit.embedding_bag, "gradient_rule", lambda c, *g: seen.append(c.wanted) or rule(c, *g))
    w, weights = table(), torch.ones(3, requires_grad=True)
    bridge.embedding_bag(w.detach(), ids(3), weights).sum().backward()
    bridge.embedding_bag(w, ids(3), weights.detach()).sum().backward()
    assert seen == [(False, False, True), (True, False, False)]
    assert not bridge.embedding_bag(w.detach(), ids(3)).requires_grad
    with torch.no_grad():
        assert not bridge.embedding_bag(w, ids(3)).requires_grad


def test_output_gradients_in_any_layout():
    w = table()
    expected = torch.autograd.grad(bridge.embedding_bag(w, ids(2, 1), is_sparse=False), w, torch.ones(2, 3))[0]
    layouts = torch.ones(1, 1).expand(2, 3), torch.ones(3, 2).t(), torch.ones(4, 6)[::2, ::2]
    for g in layouts:
        found = torch.autograd.grad(bridge.embedding_bag(w, ids(2, 1), is_sparse=False), w, g)[0]
        torch.testing.assert_close(found, expected)
    x = torch.randn(4, 6, requires_grad=True)
    torch.testing.assert_close(bridge.softmax(x.t()), torch.softmax(x.t(), -1))
    bridge.softmax(x[:, ::2]).square().sum().backward()
    assert x.grad.shape == x.shape


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_types(dtype):
    w = table(dtype)
    y = bridge.embedding_bag(w, ids(2, 0, 3))
    assert y.dtype == dtype
    y.sum().backward()
    assert w.grad.dtype == dtype
    x = bridge.ragged(torch.randn(5, 2).to(dtype).requires_grad_(), [2, 3])
    y = bridge.sequence_softmax(x)
    assert y.values.dtype == dtype
    y.values.square().sum().backward()
    assert x.values.grad.dtype == dtype


def test_batches_without_rows():
    w = table()
    for batch in (bridge.ragged(torch.zeros(0, dtype=torch.int64), []), ids(0, 0)):
        y = bridge.embedding_bag(w, batch)
        assert y.shape == (len(batch), 3)
        (g,) = torch.autograd.grad(y.sum(), w)
        assert g._nnz() == 0
        assert g.shape == w.shape


def test_an_input_used_twice_and_one_that_comes_back():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    bridge.elementwise_mul(x, x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    x.grad = None
    parts = bridge.sum(x, x, torch.ones(2))
    g = torch.ones(2)
    parts.backward(g)
    assert x.grad.tolist() == [2.0, 2.0]
    assert g.tolist() == [1.0, 1.0]
    y = bridge.dropout(x, rate=0.5, seed=0, training=False)
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_gradients_have_memory_of_their_own():
    a, b = (torch.ones(2, requires_grad=True) for _ in range(2))
    g = torch.ones(2)
    bridge.sum(a, b).backward(g)
    a.grad.mul_(5)
    assert b.grad.tolist() == g.tolist() == [1.0, 1.0]
    x = bridge.lod_reset(a, [1, 1])
    (h,) = torch.autograd.grad(x.values, a, g)
    h.mul_(5)
    assert g.tolist() == [1.0, 1.0]


def test_lists_arrays_and_none_are_constants():
    w = table()
    y = bridge.lookup_table(w, [1, 2])
    assert y.shape == (2, 3)
    x = LoDTensor(np.ones((3, 2)), [[1, 2]])
    assert isinstance(bridge.sequence_softmax(x).values, torch.Tensor)
    weight = torch.randn(2, 6, requires_grad=True, dtype=torch.float64)
    hidden, _ = bridge.simple_rnn(x, None, weight[:, :2], None, None)
    hidden.values.sum().backward()
    assert weight.grad.abs().sum() > 0


def test_sparse_tensors_are_selected_rows():
    dense = torch.randn(5, 2, requires_grad=True)
    sparse = dense.detach().to_sparse(1).requires_grad_()
    merged = bridge.merge_selected_rows(sparse)
    assert isinstance(merged, SelectedRows)
    merged.value.square().sum().backward()
    torch.testing.assert_close(sparse.grad.to_dense(), 2 * dense.detach())
    rows = SelectedRows._wrap(np.array([1, 1]), torch.ones(2, 2, requires_grad=True), 3)
    y = bridge.selected_rows_to_dense(rows)
    assert y.tolist() == [[0, 0], [2, 2], [0, 0]]
    (y * 3).sum().backward()
    assert rows.value.grad.tolist() == [[3, 3], [3, 3]]


@pytest.mark.filterwarnings("ignore:Sparse CSR:UserWarning")
def test_errors_are_those_of_the_operators():
    with pytest.raises(lodkit.RowIndexError, match="99"):
        bridge.embedding_bag(table(), bridge.ragged(torch.tensor([99]), [1]))
    with pytest.raises(TypeError, match="pol"):
        bridge.embedding_bag(table(), ids(1), pol="sum")
    with pytest.raises(TypeError, match="jagged"):
        bridge.relu(torch.ones(2, 2).to_sparse_csr())
    x = torch.randn(2, 3, requires_grad=True)
    with pytest.raises((TypeError, RuntimeError)):
        torch.func.grad(lambda x: bridge.relu(x).sum())(x.detach())


def test_a_tape_does_not_record_what_torch_does():
    x = torch.randn(3, requires_grad=True)
    with lodkit.Tape() as tape:
        y = bridge.relu(x)
    assert tape._calls == []
    y.sum().backward()
    assert x.grad is not None


def test_nothing_is_left_of_10_000_steps():
    w = table()
    batch = ids(3, 0, 4)

    def step():
        w.grad = None
        y = bridge.embedding_bag(w, batch)
        y.sum().backward()
        return weakref.ref(y.grad_fn)

    for _ in range(100):
        graph = step()
    assert graph() is None  # without the collector
    gc.collect()
    counts = sys.getrefcount(w), sys.getrefcount(batch.values), len(gc.get_objects())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(10_000):
        step()
    gc.collect()
    now = sys.getrefcount(w), sys.getrefcount(batch.values), len(gc.get_objects())
    assert now[:2] == counts[:2]
    assert now[2] - counts[2] < 100
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 4096  # kilobytes


def test_results_outlive_their_inputs():
    w = torch.randn(10, 3, requires_grad=True)
    expected = torch.nn.functional.embedding(torch.tensor([1, 2]), w).detach()
    x = bridge.lookup_table(w * 1, torch.tensor([1, 2]))
    y = bridge.assign(bridge.ragged(w * 1, [4, 6]))
    gc.collect()
    torch.testing.assert_close(x.detach(), expected)
    (x.sum() + y.values.sum()).backward()
    assert w.grad.to_dense().sum() == 36
