"""Operators under torch.compile: one graph, the same numbers, sizes that are not known while it traces."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from samples import SAMPLES

import lodkit
from lodkit import LoDTensor, SelectedRows, VarDesc

torch = pytest.importorskip("torch")
from torch._dynamo.testing import CompileCounterWithBackend  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext  # noqa: E402

from lodkit.interop import torch as bridge  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:The given NumPy array is not writable:UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
NAMES = [name for name, op in lodkit.OPS.items() if op.gradient_rule]
TESTS = ("test_schema", "test_autograd_registration", "test_faketensor")
#: What models are made of: these are traced forward and backward too, with sizes that are unknown.
MODELS = ("embedding_bag", "lookup_table", "sequence_pool", "segment_reduce", "sequence_softmax", "sequence_pad")
MODELS += ("sequence_unpad", "sequence_attention", "simple_rnn", "fc", "sequence_conv")


def tensor(a):
    """The array as a tensor of its own."""
    a = torch.from_numpy(np.asarray(a))
    a = torch.empty(a.shape, dtype=a.dtype).copy_(a)
    return a.requires_grad_(a.is_floating_point())


def written(op, inputs, attrs):
    """A sample as the custom operator takes it; None for kinds that it does not take."""
    inputs = op._accept(inputs)
    if any(isinstance(x, SelectedRows | lodkit.RankTable) for x in inputs):
        return None
    if any(not isinstance(value, str | int | float | list | tuple | None) for value in attrs.values()):
        return None
    inputs = [
        LoDTensor._wrap(tensor(x.values), x._lod)
        if isinstance(x, LoDTensor)
        else tensor(x)
        if isinstance(x, np.ndarray)
        else x
        for x in inputs
    ]
    numbers = [x.values if isinstance(x, LoDTensor) else x for x in inputs]
    if any(x.is_floating_point() and not x.isfinite().all() for x in numbers if isinstance(x, torch.Tensor)):
        return None
    if "array" in repr(attrs):
        return None
    return bridge.library.write_call(inputs, attrs)


@pytest.mark.parametrize("name", NAMES)
def test_opcheck(name):
    op = lodkit.OPS[name]
    getattr(bridge, name)
    overload = getattr(torch.ops.lodkit, name).default
    cases = SAMPLES[name]
    for inputs, attrs in cases[:: max(1, len(cases) // 4)]:
        call = written(op, inputs, attrs)
        if call is not None:
            torch.library.opcheck(overload, call, test_utils=TESTS)


@pytest.mark.parametrize("name", NAMES)
def test_sizes_that_are_unknown_while_it_traces(name):
    """Sizes of results follow from those of inputs, or are new where infer knows none."""
    op = lodkit.OPS[name]
    getattr(bridge, name)
    overload = getattr(torch.ops.lodkit, name).default
    cases = SAMPLES[name]
    for inputs, attrs in cases[:: max(1, len(cases) // 12)]:
        call = written(op, inputs, attrs)
        if call is None:
            continue
        mode, real = FakeTensorMode(shape_env=ShapeEnv()), overload(*call)
        free = [StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC] * t.ndim) for t in call[0]]
        given = [mode.from_tensor(t.detach(), symbolic_context=f) for t, f in zip(call[0], free, strict=True)]
        with mode, torch.no_grad():
            fakes = overload(given, call[1])
        promise = op.full.infer(*map(VarDesc.of, op._accept(inputs)), **attrs)
        is_new = []
        for desc in promise if isinstance(promise, tuple) else (promise,):
            is_new += [[d == -1 for d in desc.dims], *[[not desc.sequences]] * desc.lod_level]
        for found, expected, new in zip(fakes, real, is_new, strict=True):
            hints = [size if isinstance(size, int) else size.node.hint for size in found.shape]
            assert all(h in (None, size) for h, size in zip(hints, expected.shape, strict=True)), (hints, call)
            # Sums of sizes, of sequences that are joined, are new here.
            assert name == "sequence_concat" or [h is None for h in hints] == new, (hints, call)


@pytest.mark.parametrize("name", MODELS)
def test_opcheck_of_a_trace(name):
    op = lodkit.OPS[name]
    getattr(bridge, name)
    overload = getattr(torch.ops.lodkit, name).default
    cases = SAMPLES[name]
    for inputs, attrs in cases[:: max(1, len(cases) // 3)]:
        call = written(op, inputs, attrs)
        if call is not None:
            torch.library.opcheck(overload, call, test_utils="test_aot_dispatch_dynamic")


def ids(*lengths):
    return bridge.ragged(torch.arange(sum(lengths)) % 10, lengths)


def compiled(function):
    torch._dynamo.reset()
    return torch.compile(function, fullgraph=True, backend="aot_eager")


@pytest.mark.parametrize("is_sparse", [True, False])
@pytest.mark.parametrize("padding_idx", [None, 3])
def test_a_table(is_sparse, padding_idx):
    table = torch.randn(10, 4, requires_grad=True)
    attrs = {"is_sparse": is_sparse, "padding_idx": padding_idx}

    def loss(table, ids):
        rows = bridge.sequence_pool(bridge.tanh(bridge.lookup_table(table, ids, **attrs)), pool="max")
        if is_sparse:  # PyTorch adds no sparse gradients while it traces
            return (rows**2).sum()
        return ((bridge.embedding_bag(table, ids, pool="mean", **attrs) + rows) ** 2).sum()

    fast = compiled(loss)
    for lengths in ([2, 1], [3, 0, 4], [1, 5, 5, 5]):
        (expected,) = torch.autograd.grad(loss(table, ids(*lengths)), table)
        (found,) = torch.autograd.grad(fast(table, ids(*lengths)), table)
        assert found.is_sparse == is_sparse
        torch.testing.assert_close(found.to_dense(), expected.to_dense())


@pytest.mark.skipif(shutil.which("g++") is None, reason="inductor compiles C++")
def test_inductor():
    torch._dynamo.reset()
    table, weight = torch.randn(10, 4, requires_grad=True), torch.randn(4, 2, requires_grad=True)

    def loss(table, weight, ids):
        return bridge.fc(torch.tanh(bridge.embedding_bag(table, ids)), weight).square().sum()

    expected = torch.autograd.grad(loss(table, weight, ids(3, 0, 4)), (table, weight))
    fast = torch.compile(loss, fullgraph=True, backend="inductor")
    found = torch.autograd.grad(fast(table, weight, ids(3, 0, 4)), (table, weight))
    for g, e in zip(found, expected, strict=True):
        torch.testing.assert_close(g.to_dense(), e.to_dense())


@pytest.mark.parametrize("number", [np.float32(2), np.float64(-1.5), np.float16(3), np.float32("inf"), 2, 2.5])
def test_attributes_that_are_numbers(number):
    def pooled(x):
        return bridge.sequence_pool(x, pad_value=number)

    x = bridge.ragged(torch.ones(4, 3, requires_grad=True), [2, 0, 2])
    expected, found = pooled(x), compiled(pooled)(x)
    assert torch.equal(found, expected)
    assert torch.equal(*(torch.autograd.grad(y[0].sum(), x.values)[0] for y in (found, expected)))


def test_an_attribute_that_changes():
    x = bridge.ragged(torch.ones(4, 3), [2, 0, 2])
    pooled = compiled(lambda x, number: bridge.sequence_pool(x, pad_value=number))
    assert [pooled(x, number)[1, 0].item() for number in (1, 2, 3, 2.5, 3.5, 1)] == [1, 2, 3, 2.5, 3.5, 1]


def test_numbers_that_a_graph_does_not_know():
    x = bridge.ragged(torch.ones(4, 3), [2, 0, 2])
    for number in (np.int64(3), torch.tensor(3)):
        with pytest.raises(torch._dynamo.exc.Unsupported, match="max_length is a"):
            compiled(lambda x, n=number: bridge.sequence_pad(x, max_length=n)[0])(x)


def test_sequences_come_back_as_lodtensors():
    x = bridge.ragged(torch.randn(5, 4, requires_grad=True), [1, 1], [2, 3])
    y = compiled(lambda x: bridge.sequence_softmax(x))(x)
    assert isinstance(y, LoDTensor)
    assert y.lod() == x.lod()
    torch.testing.assert_close(y.values, bridge.sequence_softmax(x).values)


def test_a_recurrent_layer_and_attention():
    values = torch.randn(6, 4, requires_grad=True)
    weights = [torch.randn(4, 9, requires_grad=True), torch.randn(3, 9, requires_grad=True)]

    def model(values, *weights):
        x = bridge.ragged(values, [2, 4]) if not torch.compiler.is_compiling() else LoDTensor._wrap(values, levels)
        y = bridge.sequence_attention(x, x, x, causal=True)
        hidden, _ = bridge.gru(y, *weights)
        padded, lengths = bridge.sequence_pad(hidden)
        return padded.sum() + bridge.sequence_pool(hidden, pool="last").sum() + lengths.sum()

    levels = bridge.ragged(values, [2, 4])._lod
    expected = torch.autograd.grad(model(values, *weights), (values, *weights))
    found = torch.autograd.grad(compiled(model)(values, *weights), (values, *weights))
    for g, e in zip(found, expected, strict=True):
        torch.testing.assert_close(g, e)


def test_nested_tensors_inside_a_graph():
    nested = torch.nested.nested_tensor([torch.randn(2, 3), torch.randn(1, 3)], layout=torch.jagged)
    y = compiled(lambda x: bridge.sequence_pool(x))(nested)
    torch.testing.assert_close(y, torch.stack([x.sum(0) for x in nested.unbind()]))


def test_other_lengths_compile_once():
    counter = CompileCounterWithBackend("aot_eager")
    torch._dynamo.reset()
    table = torch.randn(10, 4)
    bag = torch.compile(lambda ids: bridge.embedding_bag(table, ids), fullgraph=True, backend=counter)
    for lengths in ([2, 1], [3, 0, 4], [1, 5, 5, 5], [2] * 9, [7, 7, 3, 2, 1]):
        torch.testing.assert_close(bag(ids(*lengths)), bridge.embedding_bag(table, ids(*lengths)))
    assert counter.frame_count <= 2


def test_what_a_graph_refuses():
    rows = SelectedRows([1], np.ones((1, 2)), 3)
    with pytest.raises(Exception, match="SelectedRows"):
        compiled(lambda x: bridge.selected_rows_to_dense(rows) + x)(torch.ones(3, 2))
    overload = torch.ops.lodkit.sequence_pool.default
    call = "((1,), {})"
    with pytest.raises(lodkit.LoDError, match="decrease"):
        overload([torch.ones(3, 2), torch.tensor([0, 4, 3])], call)
    with pytest.raises(lodkit.LoDError):
        overload([torch.ones(3, 2), torch.tensor([0, 4])], call)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_bfloat16_is_what_eager_gives(backend):
    table = torch.randn(5, 3).bfloat16()
    ids = LoDTensor(torch.tensor([0, 2, 2, 4]), [[3, 1]])

    def model(table, ids):
        return bridge.relu(bridge.embedding_bag(table, ids, pool="mean", is_sparse=False)) * 2

    results = []
    for call in (model, torch.compile(model, fullgraph=True, backend=backend)):
        leaf = table.clone().requires_grad_()
        made = call(leaf, ids)
        made.sum().backward()
        results.append((made.detach(), leaf.grad))
    for eager, compiled in zip(*results, strict=True):
        assert eager.dtype is compiled.dtype is torch.bfloat16
        torch.testing.assert_close(eager, compiled)
