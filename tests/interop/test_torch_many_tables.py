"""lodkit.interop.torch.embedding_bags against torch's own bags; lodkit.update_embedding_bags of tensors."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor, RowIndexError

torch = pytest.importorskip("torch")

from lodkit.interop import torch as bridge  # noqa: E402

rng = np.random.default_rng(0)


def draw():
    """Two tables, of which three columns read, and their bags; one is empty."""
    items, users = (torch.nn.Parameter(torch.from_numpy(rng.standard_normal(s))) for s in ((9, 3), (5, 2)))
    tables, columns = {"clicked": items, "user": users, "bought": items}, {}
    for name, lengths in (("bought", [0, 3, 2]), ("clicked", [2, 1, 4]), ("user", [1, 1, 1])):
        ids = rng.integers(0, len(tables[name]), sum(lengths))
        columns[name] = LoDTensor(torch.from_numpy(ids), [lengths])
    return tables, columns


def torch_bags(tables, columns, weights=None, pool="sum"):
    """The same by bags of torch, side by side."""
    parts = []
    for name, table in tables.items():
        ids, offsets = columns[name].values, torch.from_numpy(np.array(columns[name].offsets()))
        w = None if weights is None else weights[name]
        attrs = {"mode": pool, "per_sample_weights": w, "include_last_offset": True}
        parts.append(torch.nn.functional.embedding_bag(ids, table, offsets, **attrs))
    return torch.cat(parts, 1)


def gradients(out, tensors, factor):
    found = torch.autograd.grad((out * factor).sum(), tensors)
    return [g.to_dense() if g.is_sparse else g for g in found]


@pytest.mark.parametrize("is_sparse", [True, False])
@pytest.mark.parametrize(("pool", "weighted"), [("sum", False), ("mean", False), ("max", False), ("sum", True)])
def test_results_and_gradients_are_those_of_torch(pool, weighted, is_sparse):
    tables, columns = draw()
    weights = {n: torch.rand(len(c.values), dtype=torch.float64, requires_grad=True) for n, c in columns.items()}
    weights, factor = weights if weighted else None, torch.rand(3, 8, dtype=torch.float64)
    tensors = [tables["clicked"], tables["user"], *(weights.values() if weighted else ())]
    out = bridge.embedding_bags(tables, columns, weights, pool=pool, is_sparse=is_sparse)
    expected = torch_bags(tables, columns, weights, pool)
    torch.testing.assert_close(out, expected)
    for grad, other in zip(gradients(out, tensors, factor), gradients(expected, tensors, factor), strict=True):
        torch.testing.assert_close(grad, other)
    (sparse,) = torch.autograd.grad(
        bridge.embedding_bags(tables, columns, pool=pool, is_sparse=is_sparse).sum(), tensors[:1]
    )
    assert sparse.is_sparse == is_sparse


def test_tables_and_columns_of_torch():
    tables, columns = draw()
    expected = torch_bags(tables, columns)
    both = torch.nn.ParameterDict([*tables.items()])
    torch.testing.assert_close(bridge.embedding_bags(both, columns), expected)
    listed, bags = torch.nn.ParameterList(tables.values()), [columns[name] for name in tables]
    torch.testing.assert_close(bridge.embedding_bags(listed, bags), expected)
    jagged = [torch.nested.nested_tensor_from_jagged(c.values, torch.from_numpy(np.array(c.offsets()))) for c in bags]
    torch.testing.assert_close(bridge.embedding_bags(listed, jagged), expected)
    parts = bridge.embedding_bags(both, columns, as_dict=True)
    assert [*parts] == [*both] == ["clicked", "user", "bought"]
    torch.testing.assert_close(torch.cat([*parts.values()], 1), expected)
    (grad,) = torch.autograd.grad(parts["bought"].sum(), [tables["bought"]])
    assert grad.to_dense().sum(1).tolist() == [3.0 * n for n in np.bincount(columns["bought"].values, minlength=9)]


def test_what_is_refused():
    tables, columns = draw()
    with pytest.raises(RowIndexError, match=r"columns\['user'\]\[0\] = 5 is outside"):
        bridge.embedding_bags(tables, {**columns, "user": LoDTensor(torch.tensor([5]), [[1, 0, 0]])})
    with pytest.raises(ValueError, match=r"columns lacks \['user'\]"):
        bridge.embedding_bags(tables, {name: columns[name] for name in ("clicked", "bought")})
    with pytest.raises(TypeError, match="by the function of the same name"):
        lodkit.embedding_bags(tables, columns)
    detached = {name: table.detach() for name, table in tables.items()}
    torch.testing.assert_close(lodkit.embedding_bags(detached, columns), torch_bags(detached, columns))


@pytest.mark.parametrize("attrs", [{}, {"is_sparse": False}, {"padding_idx": 2}])
@pytest.mark.parametrize("joined", [False, True])
def test_in_a_compiled_function(attrs, joined):
    tables, columns = draw()
    given, ids = [*tables.values()], [columns[name] for name in tables]
    if joined:
        lengths = np.concatenate([column.lengths() for column in ids])
        ids = [LoDTensor(torch.cat([column.values for column in ids]), [[3] * 3, lengths])]

    def pooled(*ids):
        return bridge.embedding_bags(given, ids[0] if joined else [*ids], **attrs)

    torch._dynamo.reset()
    out, expected = torch.compile(pooled, fullgraph=True, backend="aot_eager")(*ids), pooled(*ids)
    torch.testing.assert_close(out, expected)
    tensors = [tables["clicked"], tables["user"]]
    found = torch.autograd.grad(out.sum(), tensors)
    assert all(grad.is_sparse == attrs.get("is_sparse", True) for grad in found)
    for grad, other in zip(found, gradients(expected, tensors, 1), strict=True):
        torch.testing.assert_close(grad.to_dense(), other)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_updates_of_parameters(dtype):
    tables, columns = draw()
    by_name = {name: torch.nn.Parameter(tables[name].detach().to(dtype)) for name in ("clicked", "user")}
    tables = {"clicked": by_name["clicked"], "user": by_name["user"], "bought": by_name["clicked"]}
    before = {name: table.detach().clone() for name, table in by_name.items()}
    grad, bad = torch.ones(3, 8, dtype=dtype), {**columns, "user": LoDTensor(torch.tensor([5]), [[1, 0, 0]])}
    with torch.no_grad(), pytest.raises(RowIndexError, match=r"tables\['user'\]"):
        lodkit.update_embedding_bags("sgd", tables, bad, grad, lr=0.25)
    assert all(torch.equal(table, before[name]) for name, table in by_name.items())
    with pytest.raises(TypeError, match="update under torch"):
        lodkit.update_embedding_bags("sgd", tables, columns, grad, lr=0.25)
    versions = [table._version for table in by_name.values()]
    with torch.no_grad():
        lodkit.update_embedding_bags("sgd", tables, columns, grad, lr=0.25)
    counts = np.bincount(np.concatenate([columns[name].values for name in ("clicked", "bought")]), minlength=9)
    expected = before["clicked"].double() - 0.25 * torch.from_numpy(counts)[:, None]
    torch.testing.assert_close(by_name["clicked"].detach(), expected.to(dtype), rtol=0.01, atol=0.01)
    assert all(table._version > version for table, version in zip(by_name.values(), versions, strict=True))
    shared = [by_name["user"], by_name["user"].detach()]
    with torch.no_grad(), pytest.raises(lodkit.OutputError, match="share memory"):
        lodkit.update_embedding_bags("sgd", shared, [columns["user"]] * 2, grad[:, :4], lr=0.25)
