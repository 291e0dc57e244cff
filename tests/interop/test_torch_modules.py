"""``lodkit.interop.torch.EmbeddingBag`` against PyTorch's: results, gradients, states, refusals."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lodkit
from lodkit import LoDTensor

torch = pytest.importorskip("torch")
from lodkit.interop.torch import EmbeddingBag, collate  # noqa: E402

DTYPES = {torch.float32: 1e-5, torch.float64: 1e-12, torch.float16: 5e-3, torch.bfloat16: 4e-2}


def pair(height=7, width=3, dtype=torch.float32, **settings):
    """PyTorch's module and lodkit's, with the same table."""
    torch.manual_seed(height + width)
    theirs = torch.nn.EmbeddingBag(height, width, dtype=dtype, **settings)
    mine = EmbeddingBag(height, width, dtype=dtype, **settings)
    mine.load_state_dict(theirs.state_dict())
    return theirs, mine


def run(module, *inputs, weights=None):
    """Result, and the gradients of the table (dense) and of the weights."""
    module.zero_grad()
    given = () if weights is None else (weights.clone().requires_grad_(),)
    if module.include_last_offset and len(inputs) == 2:
        inputs = inputs[0], torch.cat([inputs[1], torch.tensor([len(inputs[0])], dtype=inputs[1].dtype)])
    out = module(*inputs, **({"per_sample_weights": given[0]} if given else {}))
    scale = torch.arange(1, out.numel() + 1).reshape(out.shape) % 5
    (out * scale.to(out.dtype)).sum().backward()
    grad = module.weight.grad
    assert grad.layout is (torch.sparse_coo if module.sparse else torch.strided)
    return out.detach(), grad.to_dense(), given[0].grad if given else None


def same(found, expected, dtype):
    for f, e in zip(found, expected, strict=True):
        assert (f is None) == (e is None)
        if f is not None:
            assert f.dtype == e.dtype == dtype
            torch.testing.assert_close(f, e, rtol=DTYPES[dtype], atol=DTYPES[dtype])


@st.composite
def cases(draw):
    """Settings of a module, ids, offsets and weights that PyTorch takes."""
    mode = draw(st.sampled_from(["sum", "mean", "max"]))
    made = {"mode": mode, "include_last_offset": draw(st.booleans())}
    if mode != "max":
        made["sparse"] = draw(st.booleans())
    made["padding_idx"] = draw(st.sampled_from([None, None, 0, 3, -1]))
    made["max_norm"] = draw(st.sampled_from([None, None, 1.0]))
    lengths = draw(st.lists(st.integers(0, 4), min_size=1, max_size=6))
    ids = draw(st.lists(st.integers(0, 6), min_size=sum(lengths), max_size=sum(lengths)))
    weighted = mode == "sum" and draw(st.booleans())
    kind = draw(st.sampled_from([torch.int32, torch.int64]))
    return made, ids, lengths, weighted, kind


@settings(max_examples=150, deadline=None)
@given(case=cases(), dtype=st.sampled_from([*DTYPES]))
def test_results_and_gradients_are_pytorchs(case, dtype):
    made, ids, lengths, weighted, kind = case
    theirs, mine = pair(dtype=dtype, **made)
    ids = torch.tensor(ids, dtype=kind)
    offsets = torch.tensor(np.cumsum([0, *lengths[:-1]]), dtype=kind)
    weights = torch.linspace(-1, 1, len(ids), dtype=dtype) if weighted else None
    expected, found = (run(module, ids, offsets, weights=weights) for module in (theirs, mine))
    same(found, expected, dtype)
    torch.testing.assert_close(mine.weight, theirs.weight)  # the largest norm was given alike
    if weights is None and made["max_norm"] is None:  # a half that was given the norm may be given it again
        with torch.no_grad():
            again = mine(lodkit.LoDTensor(ids.numpy(), [lengths]))
        assert torch.equal(again, found[0])


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding_idx", [None, 2])
def test_a_matrix_of_ids(mode, padding_idx):
    theirs, mine = pair(mode=mode, padding_idx=padding_idx)
    ids = torch.tensor([[0, 2, 2], [6, 6, 1], [2, 2, 2]])
    same(run(mine, ids), run(theirs, ids), torch.float32)
    assert mine(ids.T[:, :0]).shape == (3, 3)
    assert mine(ids[:0]).shape == theirs(ids[:0]).shape == (0, 3)
    same([mine(ids.T).detach()], [theirs(ids.T).detach()], torch.float32)  # not contiguous
    if mode == "sum":
        weights = torch.rand(3, 3)
        same(run(mine, ids, weights=weights), run(theirs, ids, weights=weights), torch.float32)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_gradients_by_frequency(mode, dtype):
    """As PyTorch's Embedding: on the CPU its EmbeddingBag divides by the counts of other ids ([0, 0, 1]: 1 by 2)."""
    ids = torch.tensor([[0, 0, 1, 5], [5, 0, 2, 2]])
    _, mine = pair(mode=mode, scale_grad_by_freq=True, padding_idx=5, dtype=dtype)
    rows = torch.nn.functional.embedding(ids, mine.weight, 5, scale_grad_by_freq=True)
    out = rows.sum(1) if mode == "sum" else rows.sum(1) / 3  # the padding of each bag is not counted
    (expected,) = torch.autograd.grad(out.float().pow(2).sum(), mine.weight)
    with torch.no_grad():
        mine.weight[5] = 0
    mine(ids).float().pow(2).sum().backward()
    torch.testing.assert_close(mine.weight.grad, expected, rtol=4 * DTYPES[dtype], atol=4 * DTYPES[dtype])


def test_not_a_number_is_the_largest():
    module = EmbeddingBag.from_pretrained(torch.tensor([[1.0, 5], [float("nan"), 2]]), mode="max", freeze=False)
    out = module(torch.tensor([[0, 1]]))
    out.sum().backward()
    assert out.isnan().tolist() == [[True, False]]
    assert module.weight.grad.tolist() == [[0, 1], [1, 0]]


def test_a_nested_tensor_and_lodtensors():
    theirs, mine = pair(mode="sum")
    values, offsets = torch.tensor([1, 2, 4, 4, 0]), torch.tensor([0, 2, 2, 5])
    nested = torch.nested.nested_tensor_from_jagged(values, offsets)
    expected = run(theirs, values, offsets[:-1])
    same(run(mine, nested), expected, torch.float32)
    same(run(mine, lodkit.LoDTensor.from_offsets(values.numpy(), offsets.numpy())), expected, torch.float32)
    weights = torch.nested.nested_tensor_from_jagged(torch.arange(5.0), offsets)
    found, plain = mine(nested, per_sample_weights=weights), mine(values, offsets[:-1], torch.arange(5.0))
    assert torch.equal(found, plain)
    ragged = lodkit.LoDTensor(values.numpy(), [[2, 1], [2, 0, 3]])
    weighted = mine(ragged, per_sample_weights=ragged.with_values(np.arange(5, dtype=np.float32)))
    assert weighted.recursive_sequence_lengths() == [[2, 1]]
    assert torch.equal(weighted.values, plain)
    holes = torch.nested.nested_tensor_from_jagged(values, offsets, lengths=torch.tensor([1, 0, 3]))
    with pytest.raises(lodkit.LoDError, match="holes"):
        mine(holes)


def test_states_move_both_ways():
    theirs, mine = torch.nn.EmbeddingBag(5, 2, padding_idx=1), EmbeddingBag(5, 2, padding_idx=1)
    assert mine.state_dict().keys() == theirs.state_dict().keys() == {"weight"}
    assert not mine.weight[1].any()
    mine.load_state_dict(theirs.state_dict())
    theirs.load_state_dict(mine.state_dict())
    assert torch.equal(mine.weight, theirs.weight)
    for other in (copy.deepcopy(mine), pickle.loads(pickle.dumps(mine))):
        assert torch.equal(other(torch.tensor([[1, 4]])), mine(torch.tensor([[1, 4]])))
    made = EmbeddingBag.from_pretrained(theirs.weight.detach(), freeze=False, mode="sum", fused=True)
    assert made.weight.requires_grad
    assert made.fused
    assert not EmbeddingBag.from_pretrained(torch.ones(2, 2)).weight.requires_grad
    assert isinstance(mine, torch.nn.EmbeddingBag)
    assert "fused=True" in repr(made)
    table = torch.ones(4, 2)
    assert EmbeddingBag(4, 2, _weight=table).weight.data_ptr() == table.data_ptr()


def test_a_table_that_is_not_contiguous():
    table = torch.arange(12.0).reshape(2, 6).t()
    theirs = torch.nn.EmbeddingBag.from_pretrained(table, freeze=False, mode="sum", sparse=True)
    mine = EmbeddingBag.from_pretrained(table, freeze=False, mode="sum", sparse=True)
    ids = torch.tensor([[0, 5], [3, 3]])
    same(run(mine, ids), run(theirs, ids), torch.float32)


@pytest.mark.parametrize("kind", [{}, {"sparse": True}, {"fused": True}, {"mode": "max"}])
def test_a_batch_of_empty_histories(kind):
    """Empty lists and tensors have a floating type in PyTorch; there is no id in them that it could be wrong for."""
    table = EmbeddingBag(4, 2, **kind)
    for x in (collate([[], []]), collate([torch.tensor([])] * 2)):
        out = table(x)
        assert torch.equal(out, torch.zeros(2, 2))
        out.sum().backward()
        grad = table.weight.grad
        assert not (grad if kind in ({}, {"mode": "max"}) else grad.to_dense()).any()
    assert torch.equal(table(torch.tensor([]), torch.tensor([0, 0])), torch.zeros(2, 2))
    assert table(torch.tensor([]), torch.tensor([])).shape == (0, 2)


BAD = {
    "an id": (torch.tensor([1, 7]), torch.tensor([0]), lodkit.RowIndexError, r"input\[1\] = 7 is outside \[0, 7\)"),
    "a negative id": (torch.tensor([[1, 2], [-1, 2]]), None, lodkit.RowIndexError, r"input\[1, 0\] = -1"),
    "a start": (torch.tensor([1, 2]), torch.tensor([1]), lodkit.LoDError, r"offsets\[0\] = 1"),
    "a fall": (torch.tensor([1, 2, 3]), torch.tensor([0, 3, 2]), lodkit.LoDError, r"offsets\[2\] = 2 is less than"),
    "an end": (torch.tensor([1, 2]), torch.tensor([0, 3]), lodkit.LoDError, r"offsets\[1\] = 3 is beyond the 2 ids"),
    "a start below 0": (torch.tensor([1]), torch.tensor([-1]), lodkit.LoDError, r"offsets\[0\] = -1"),
    "no offsets": (torch.tensor([1, 2]), None, ValueError, "one dimension"),
    "offsets of two dimensions": (torch.tensor([1, 2]), torch.tensor([[0]]), ValueError, r"shape \(1, 1\)"),
    "offsets of a matrix": (torch.tensor([[1, 2]]), torch.tensor([0]), ValueError, "offsets must be None"),
    "three dimensions": (torch.tensor([[[1, 2]]]), None, ValueError, "3 dimensions"),
    "no dimension": (torch.tensor(1), torch.tensor([0]), ValueError, "0 dimensions"),
    "floats": (torch.tensor([1.0]), torch.tensor([0]), lodkit.DTypeError, r"input must be integers, not torch.fl"),
    "float offsets": (torch.tensor([1]), torch.tensor([0.0]), lodkit.DTypeError, "offsets must be integers"),
    "flags": (torch.tensor([True]), torch.tensor([0]), lodkit.DTypeError, "convert with .long"),
    "a list": ([1, 2], torch.tensor([0]), TypeError, "list"),
}


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("what", BAD)
def test_bad_input(what, mode):
    ids, offsets, error, message = BAD[what]
    theirs, mine = pair(mode=mode)
    before = mine.weight.detach().clone()
    for module in (mine, EmbeddingBag(7, 3, mode=mode, max_norm=0.01, padding_idx=0, _weight=before.clone())):
        kept = module.weight.detach().clone()
        with pytest.raises(error, match=message):
            module(ids, offsets) if offsets is not None else module(ids)
        assert torch.equal(module.weight, kept)
    if (what, mode) != ("a fall", "max") and what != "flags":  # PyTorch takes these, and bags of negative length
        with pytest.raises(Exception):  # noqa: B017, PT011  whatever PyTorch raises
            theirs(ids, offsets)


def test_the_last_offset_is_the_number_of_ids():
    mine = EmbeddingBag(7, 3, include_last_offset=True)
    with pytest.raises(lodkit.LoDError, match=r"offsets\[1\] = 2 is the last, and there are 3 ids"):
        mine(torch.tensor([1, 2, 3]), torch.tensor([0, 2]))
    with pytest.raises(lodkit.LoDError, match="one more than bags"):
        mine(torch.tensor([], dtype=torch.long), torch.tensor([], dtype=torch.long))


def test_settings_that_contradict_each_other():
    for bad in ({"sparse": True}, {"scale_grad_by_freq": True}, {"fused": True}):
        with pytest.raises(ValueError, match="mode"):
            EmbeddingBag(3, 2, mode="max", **bad)
    with pytest.raises(ValueError, match="sparse=False"):
        EmbeddingBag(3, 2, scale_grad_by_freq=True, sparse=True)
    with pytest.raises(ValueError, match="'sum', 'mean' or 'max'"):
        EmbeddingBag(3, 2, mode="min")
    with pytest.raises(AssertionError):
        EmbeddingBag(3, 2, padding_idx=3)
    module = EmbeddingBag(3, 2)
    module.mode = "other"
    with pytest.raises(ValueError, match="mode must be"):
        module(torch.tensor([[1]]))
    ids, weights = torch.tensor([[1, 2]]), torch.ones(1, 2)
    with pytest.raises(NotImplementedError, match="mode='sum'"):
        EmbeddingBag(3, 2, mode="mean")(ids, per_sample_weights=weights)
    module = EmbeddingBag(3, 2, mode="sum")
    with pytest.raises(lodkit.DTypeError, match="float64"):
        module(ids, per_sample_weights=weights.double())
    with pytest.raises(lodkit.ShapeMismatchError, match="per_sample_weights has shape"):
        module(ids, per_sample_weights=weights[0])


def test_what_is_written_between_forward_and_backward():
    ids, weights = torch.tensor([[0, 1], [1, 2]]), torch.ones(2, 2)
    for mode, factors in (("max", None), ("sum", weights.clone().requires_grad_())):
        module = EmbeddingBag(3, 2, mode=mode)
        out = module(ids, per_sample_weights=factors)
        with torch.no_grad():
            module.weight.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.sum().backward()
    module = EmbeddingBag(3, 2, mode="sum", sparse=True)
    out = module(ids)
    ids.fill_(99)  # ids are copied on entry
    out.sum().backward()
    assert module.weight.grad.to_dense()[:, 0].tolist() == [1, 2, 1]


def test_sparse_gradients_are_not_coalesced_and_add_up():
    module = EmbeddingBag(4, 2, mode="sum", sparse=True)
    ids = torch.tensor([[3, 3, 0]])
    for _ in range(2):
        module(ids).sum().backward()
    grad = module.weight.grad
    assert not grad.is_coalesced()
    assert grad.to_dense()[:, 0].tolist() == [2, 0, 0, 4]
    torch.sparse_coo_tensor(grad._indices(), grad._values(), grad.shape, check_invariants=True)


def test_lists_are_told_what_makes_bags_of_them():
    module, input = EmbeddingBag(4, 2), [[1, 2], [3]]
    with pytest.raises(TypeError, match=r"got list; pass LoDTensor\.from_nested\(input\)$"):
        module(input)
    assert module(LoDTensor.from_nested(input)).shape == (2, 2)


def test_second_derivatives_are_refused():
    module = EmbeddingBag(4, 2, mode="sum")
    out = module(torch.tensor([[1, 2]])).square().sum()
    (grad,) = torch.autograd.grad(out, module.weight, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.sum().backward()


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_gradcheck(mode):
    module = EmbeddingBag(6, 2, mode=mode, dtype=torch.float64)
    ids, offsets = torch.tensor([1, 1, 4, 0, 5]), torch.tensor([0, 2, 2])
    weights = torch.rand(5, dtype=torch.float64, requires_grad=True) if mode == "sum" else None

    def function(table, *given):
        return torch.func.functional_call(module, {"weight": table}, (ids, offsets, *given))

    given = (module.weight,) if weights is None else (module.weight, weights)
    assert torch.autograd.gradcheck(function, given)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # dynamo looks at all
def test_it_compiles_around_the_module():
    module = EmbeddingBag(6, 2, mode="sum", sparse=True)
    compiled = torch.compile(lambda ids: module(ids) * 2, backend="eager")
    ids = torch.tensor([[1, 2], [3, 3]])
    assert torch.equal(compiled(ids), module(ids) * 2)
