"""Tensors that are joined at once are what reading them one by one gives: rows, types, structure, graph and errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lodkit import LoDTensor
from lodkit.lod import encodings, nesting

torch = pytest.importorskip("torch")
from lodkit.interop.torch import batches, collate  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning"),
    pytest.mark.filterwarnings("ignore:The given NumPy array is not writable:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*[qQ]uantiz.*"),
    pytest.mark.filterwarnings("ignore:Sparse CSR:UserWarning"),
]
law = settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])
TYPES = (
    *(torch.int64, torch.int32, torch.uint8, torch.uint16, torch.bool, torch.float16, torch.bfloat16),
    *(torch.float32, torch.float64, torch.complex64),
)
ITEMS = ((), (2,), (0,), (2, 3))
WAYS = (
    *(["plain"] * 20),
    *("strided", "view", "transposed", "graph", "parameter", "number", "sparse", "meta", "quantized", "nested"),
    *("freed", "conjugate", "array", "frozen", "subclass"),
)


class Subclass(torch.Tensor):
    """A tensor of a kind of its own."""


def in_way(x, how):
    """A tensor, or what is like one, made of one in another way."""
    if how == "strided":
        return torch.repeat_interleave(x, 2, 0)[::2]
    if how == "view":
        return torch.cat([x, x])[len(x) :]
    if how == "transposed":
        return x.movedim(0, -1).contiguous().movedim(-1, 0)
    if how in ("graph", "parameter") and x.is_floating_point():
        return torch.nn.Parameter(x) if how == "parameter" else x.requires_grad_() * 1
    if how == "number":
        return torch.zeros((), dtype=x.dtype)
    if how == "sparse":
        return x.to_sparse()
    if how == "meta":
        return x.to("meta")
    if how == "quantized" and x.dtype is torch.float32:
        return torch.quantize_per_tensor(x, 0.5, 0, torch.qint8)
    if how == "nested":
        return torch.nested.nested_tensor([x, x])
    if how == "freed":
        x.untyped_storage().resize_(x.nbytes // 2)
    if how in ("array", "frozen") and x.dtype is not torch.bfloat16:
        array = x.numpy().copy()
        array.setflags(write=how == "array")
        return array
    return x.conj() if how == "conjugate" else x.as_subclass(Subclass) if how == "subclass" else x


@st.composite
def tensors(draw, types=TYPES, items=ITEMS, ways=WAYS):
    dtype, item = draw(st.sampled_from(types)), draw(st.sampled_from(items))
    rows = draw(st.integers(0, 3))
    x = torch.arange(1, rows * int(np.prod(item, dtype=int)) + 1).reshape(rows, *item).to(dtype)
    try:
        return in_way(x, draw(st.sampled_from(ways)))
    except (RuntimeError, TypeError):  # PyTorch has none of this type
        return x


@st.composite
def some(draw):
    """Sequences of one kind, of which a few may be of another."""
    dtype, item = draw(st.sampled_from(TYPES)), draw(st.sampled_from(ITEMS))
    number = draw(st.sampled_from([1, 2.5, True, np.float32(0.1), 2**63, None, "a"]))
    lists = st.lists(st.just(number), max_size=3)
    kinds = [
        *(tensors([dtype], [item], ["plain", "view"]), tensors([dtype], [item]), tensors([dtype, torch.int32])),
        *(tensors(), tensors([dtype], [item], ["array"]), tensors([torch.int64, dtype], [item], ["array", "plain"])),
        *(lists, st.lists(lists, max_size=2), st.just(number), st.one_of(tensors(), lists, st.just(number))),
    ]
    return draw(st.lists(kinds[draw(st.integers(0, len(kinds) - 1))], max_size=5))


def outcome(call, x):
    """What a call gives: rows, type and structure, and whether there is a graph; or the error and its message."""
    try:
        t = call(x)
    except Exception as error:
        return type(error), str(error)
    values = t.values if isinstance(t, LoDTensor) else t
    if isinstance(values, list):
        return values
    kept = [str(values.dtype), tuple(values.shape), t.lod() if isinstance(t, LoDTensor) else None]
    if isinstance(values, np.ndarray):
        return [*kept, values.tobytes()]
    if values.requires_grad:
        kept += [len(values.grad_fn.next_functions), values.detach().resolve_conj().tolist()]
    elif not values.is_quantized and not values.is_meta:
        kept += [values.tolist()]
    return [*kept, str(values.device), values.is_contiguous(), values.untyped_storage().resizable()]


def read_one_by_one(call, x):
    """``outcome`` where nothing is joined at once."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (encodings, nesting, batches):
            patch.setattr(module, "join_sequences", lambda cls, parts, kinds: None)
        patch.setattr(batches, "NUMBERS", frozenset())
        return outcome(call, x)


def second_field(x):
    return collate([(i, part) for i, part in enumerate(x)])[1]


@law
@given(some())
@example([torch.ones(2), torch.ones(0, dtype=torch.int64)])
@example([torch.ones(2), torch.ones(0, 3)])
@example([torch.ones(2, 3), torch.ones(0)])
@example([torch.ones(2), torch.ones(0, device="meta")])
@example([torch.ones(2, 0), torch.ones(3, 0)])
@example([torch.zeros(0), torch.zeros(0)])
@example([np.ones(2, np.float32), np.ones(1, np.int64)])
@example([np.ones(2, ">f4"), np.ones(1, ">f4")])
@example([np.ones(2)[::-1], np.ones(1)])
@example([[1], [2.5]])
@example([[], []])
def test_joined_at_once_or_one_by_one(x):
    for call in (LoDTensor.from_sequences, LoDTensor.from_nested, collate, second_field):
        assert repr(outcome(call, x)) == repr(read_one_by_one(call, x))


@pytest.mark.parametrize("item", [(), (3,), (2, 2)])
@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.bfloat16])
def test_tensors_are_read_in_one_call(monkeypatch, item, dtype):
    whole = torch.arange(5 * int(np.prod(item, dtype=int))).reshape(5, *item).to(dtype)
    x = list(torch.split(whole, [2, 0, 3]))
    monkeypatch.setattr(encodings.Conversions, "_from_tensors", None)
    monkeypatch.setattr(nesting, "_part", None)
    monkeypatch.setattr(batches, "_read_field", None)
    for call in (LoDTensor.from_sequences, LoDTensor.from_nested, collate, second_field):
        t = call(x)
        assert t.recursive_sequence_lengths() == [[2, 0, 3]]
        assert t.values.dtype is dtype
        assert torch.equal(t.values, whole)


@pytest.mark.parametrize(
    "x", [[[1, 2], [], [3]], [np.array([1, 2]), np.zeros(0), np.array([3])], [torch.tensor([1, 2, 3])]]
)
def test_collate_reads_sequences_in_one_call(monkeypatch, x):
    monkeypatch.setattr(batches, "_read_field", None)
    assert collate(x).values.tolist() == [1, 2, 3]
    assert collate(x).values.dtype is torch.int64
    assert collate([{"x": part} for part in x])["x"].equals(collate(x))


def test_gradients_reach_every_tensor_with_rows():
    x = [torch.ones(2, requires_grad=True), torch.ones(0, requires_grad=True), torch.ones(1, requires_grad=True)]
    collate(x).values.sum().backward()
    assert [part.grad if part.grad is None else part.grad.tolist() for part in x] == [[1, 1], None, [1]]


def test_arrays_go_to_the_default_device():
    with torch.device("meta"):
        assert outcome(collate, [np.ones(2)]) == read_one_by_one(collate, [np.ones(2)])
        assert collate([np.ones(2)]).values.is_meta
        assert collate([[1], [2]]).values.is_meta
