"""Operators on PyTorch's CPU tensors: mixtures, updates, out=, autograd, bfloat16, unusual memory, tapes."""

from __future__ import annotations

import contextlib
import gc
import sys
import weakref

import numpy as np
import pytest
from samples import SAMPLES

import lodkit
from lodkit import DTypeError, LoDTensor, OutputError, SelectedRows
from lodkit.registry.tensors import numbers_in

torch = pytest.importorskip("torch")
X = np.arange(12, dtype=np.float32).reshape(6, 2)


def test_mixtures_give_tensors():
    table, ids = torch.from_numpy(X.copy()), np.array([2, 0])
    for made in (
        lodkit.lookup_table(table, ids),
        lodkit.lookup_table(X, torch.from_numpy(ids)),
        lodkit.lookup_table(table, [2, 0]),
        lodkit.run("lookup_table", table, [2, 0]),
        lodkit.OPS["lookup_table"](X, LoDTensor(torch.tensor([2, 0]))),
        lodkit.lookup_table(table, torch.tensor([2, 0], dtype=torch.int32)),
    ):
        assert isinstance(made, torch.Tensor) and made.tolist() == [[4, 5], [0, 1]]
    bag = lodkit.embedding_bag(X, LoDTensor(torch.tensor([2, 0]), [[2]]))
    assert isinstance(bag, torch.Tensor) and bag.tolist() == [[4, 6]]
    assert isinstance(lodkit.embedding_bag(table, [[2, 0], [1]]), torch.Tensor)
    assert isinstance(lodkit.lookup_table(X, ids), np.ndarray)
    assert lodkit.lookup_table.select(table, ids) == lodkit.lookup_table.select(X, ids)


def test_results_share_what_arrays_share():
    t = LoDTensor(torch.from_numpy(X.copy()), [[4, 2]])
    made = lodkit.lod_reset(t, [3, 3])
    assert made.values.data_ptr() == t.values.data_ptr() and made.lod() == [[0, 3, 6]]
    merged = SelectedRows([1, 2], torch.ones(2, 2), 4).merge()
    assert lodkit.merge_selected_rows(merged) is merged


def test_read_only_results_are_copied():
    """A tensor cannot be read-only, and structure must not be written to."""

    @lodkit.op
    def inner_offsets(x: LoDTensor, /):
        """Offsets of the innermost level."""
        return x.offsets()

    try:
        inner_offsets.kernel("cpu")(lambda x, /: x.offsets())
        t = LoDTensor(torch.ones(3), [[1, 2]])
        made = inner_offsets(t)
        made[...] = 77
        assert made.tolist() == [77, 77, 77] and t.lod() == [[0, 1, 3]]
    finally:
        del lodkit.OPS["inner_offsets"]


@pytest.mark.parametrize("wrap", [torch.Tensor.clone, torch.nn.Parameter], ids=["tensor", "Parameter"])
def test_updates_change_the_tensor(wrap):
    param, moment, grad = wrap(torch.ones(6, 2)), torch.zeros(6, 2), torch.full((6, 2), 2.0)
    expected = torch.ones(6, 2) - 0.5 * 2
    with torch.no_grad():
        before = param._version
        assert lodkit.sgd(param, grad, lr=0.5) is param and torch.equal(param.detach(), expected)
        assert param._version > before
        both = lodkit.adagrad(param, SelectedRows(torch.tensor([1, 1]), grad[:2], 6), moment, lr=torch.tensor([0.1]))
        assert both[0] is param and both[1] is moment and moment.count_nonzero() == 2
        array = np.ones((6, 2), np.float32)
        assert lodkit.sgd(array, grad, lr=0.5) is array and (array == 0).all()
    assert param.is_leaf


def test_autograd_notices_updates():
    leaf = torch.ones(3, requires_grad=True)
    weight = torch.ones(3)
    loss = (leaf * weight).sum()
    lodkit.sgd(weight, torch.ones(3), lr=0.5)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_a_tensor_that_requires_grad_names_the_bridge():
    leaf = torch.ones(6, 2, requires_grad=True)
    for call in (
        lambda: lodkit.relu(leaf),
        lambda: lodkit.sequence_pool(LoDTensor(leaf, [[6]])),
        lambda: lodkit.sgd(np.ones((6, 2)), SelectedRows(range(6), leaf, 6), lr=0.1),
        lambda: lodkit.sgd(leaf, torch.ones(6, 2), lr=0.1),
        lambda: lodkit.relu(X, out=leaf),
    ):
        with pytest.raises(TypeError, match=r"requires grad.*lodkit\.interop\.torch.*\.detach\(\)"):
            call()
    with torch.no_grad():
        assert lodkit.relu(leaf).tolist() == [[1, 1]] * 6
    assert lodkit.relu(leaf.detach()).tolist() == [[1, 1]] * 6


def test_out():
    x, out = torch.from_numpy(X - 5), torch.empty(6, 2)
    version = out._version
    assert lodkit.relu(x, out=out) is out and torch.equal(out, x.relu()) and out._version > version
    array = np.empty((6, 2), np.float32)
    assert lodkit.relu(x, out=array) is array and (array == out.numpy()).all()
    assert lodkit.relu(X - 5, out=out) is out
    t, into = LoDTensor(x, [[4, 2]]), LoDTensor(torch.empty(6, 2), [[6]])
    made = lodkit.sequence_softmax(LoDTensor(x[:, 0], [[4, 2]]), out=torch.empty(6))
    assert made.lod() == [[0, 4, 6]] and isinstance(made.values, torch.Tensor)
    assert lodkit.relu(t, out=into).values is into.values and into.lod() == [[0, 4, 6]]
    for bad, error in ((torch.empty(6, 3), "shape"), (torch.empty(6, 2).double(), "dtype"), (x[:, :], "overlap")):
        with pytest.raises(OutputError, match=error):
            lodkit.relu(x, out=bad)
    with pytest.raises(OutputError, match="contiguous"):
        lodkit.relu(x, out=torch.empty(2, 6).T)


def test_unusual_memory():
    base = torch.arange(24.0).reshape(6, 4)
    for x in (base[:, ::2], base[::2], base.T, base[3:], torch.ones(1).expand(5), torch.ones(1, 2).expand(6, 2)):
        assert torch.equal(lodkit.relu(x), x.relu())
        t = LoDTensor(x, [[len(x)]])
        assert torch.equal(lodkit.sequence_pool(t)[0], x.sum(0))
    negated = torch._neg_view(base)
    assert negated.is_neg() and torch.equal(lodkit.relu(negated), torch.zeros(6, 4))
    with torch.inference_mode():
        inside = torch.ones(3)
        assert lodkit.sgd(inside, torch.ones(3), lr=1.0) is inside and inside.tolist() == [0, 0, 0]
    column = base[:, 0]
    with pytest.raises(OutputError, match="contiguous"):
        lodkit.sgd(column, torch.ones(6), lr=1.0)
    expanded = torch.zeros(1).expand(6)
    with pytest.raises(OutputError, match="contiguous"):
        lodkit.sgd(expanded, torch.ones(6), lr=1.0)
    with pytest.raises(DTypeError, match=r"float8.*\.float\(\)"):
        lodkit.relu(torch.ones(3).to(torch.float8_e4m3fn))
    with pytest.raises(DTypeError, match="complex64"):
        lodkit.relu(torch.ones(3, dtype=torch.complex64).conj())
    with pytest.raises(TypeError, match="whose memory cannot be reached"):
        torch.vmap(lodkit.relu)(torch.ones(3, 2))


def test_attributes():
    param = torch.ones(3)
    for lr in (torch.tensor(0.5), torch.tensor([0.5], dtype=torch.bfloat16), np.array([0.5])):
        lodkit.sgd(param, torch.ones(3), lr=lr)
    assert param.tolist() == [-0.5] * 3
    with pytest.raises(TypeError, match="lr must be a number or a one-element array"):
        lodkit.sgd(param, torch.ones(3), lr=torch.ones(2))


def test_mistakes_change_nothing():
    param = torch.ones(3, 2)
    for grad in (torch.ones(3, 3), torch.ones(3, 2, dtype=torch.int64), SelectedRows([0], torch.ones(1, 3), 3)):
        with pytest.raises((ValueError, TypeError)):
            lodkit.sgd(param, grad, lr=1.0)
    assert (param == 1).all() and param._version == 0


FLOATS = {
    name: next((case for case in cases if any(getattr(x, "dtype", None) == np.float32 for x in case[0])), None)
    for name, cases in SAMPLES.items()
}
FLOATS = {name: case for name, case in FLOATS.items() if case and not lodkit.OPS[name].updates}


def rounded(x):
    """A value over bfloat16 if its numbers are floating, and what it is in float32."""
    values = numbers_in(x)
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f":
        return x, x
    half = torch.from_numpy(values.astype(np.float32)).bfloat16()
    made = [half, half.float().numpy()]
    if isinstance(x, LoDTensor):
        return tuple(map(x.with_values, made))
    return tuple(map(x._with_value, made)) if isinstance(x, SelectedRows) else tuple(made)


@pytest.mark.parametrize("name", FLOATS)
def test_bfloat16_is_computed_in_float32(name):
    inputs, attrs = FLOATS[name]
    halves, wide = zip(*map(rounded, inputs), strict=True)
    if not any(getattr(numbers_in(x), "dtype", None) is torch.bfloat16 for x in halves):
        pytest.skip("no floating input")
    results, expected = lodkit.OPS[name](*halves, **attrs), lodkit.OPS[name](*wide, **attrs)
    results, expected = (x if isinstance(x, tuple) else (x,) for x in (results, expected))
    for got, want in zip(results, expected, strict=True):
        got, want = numbers_in(got), numbers_in(want)
        if isinstance(want, np.ndarray) and want.dtype == np.float32:
            assert got.dtype is torch.bfloat16
            np.testing.assert_array_equal(got.float().numpy(), torch.from_numpy(want.copy()).bfloat16().float().numpy())
        elif isinstance(want, np.ndarray):
            assert torch.equal(torch.as_tensor(got), torch.from_numpy(want.copy()))


def test_bfloat16_updates():
    param, grad = torch.ones(4, 2, dtype=torch.bfloat16), torch.full((4, 2), 0.3).bfloat16()
    expected = (param.float() - 0.1 * grad.float()).bfloat16()
    version = param._version
    assert lodkit.sgd(param, grad, lr=0.1) is param and torch.equal(param, expected) and param._version > version
    moment = torch.zeros(4, 2)
    made = lodkit.adagrad(param, SelectedRows([1], grad[:1], 4), moment, lr=0.1)
    assert made[0] is param and made[1] is moment and moment[1].all() and not moment[0].any()
    out = torch.empty(4, 2, dtype=torch.bfloat16)
    assert lodkit.relu(param, out=out) is out and torch.equal(out, param.relu())
    for x, wrong in ((param, torch.empty(4, 2)), (moment, out)):
        with pytest.raises(OutputError, match="out has dtype torch"):
            lodkit.relu(x, out=wrong)
    assert lodkit.relu(LoDTensor(param, [[4]])).values.dtype is torch.bfloat16
    assert lodkit.elementwise_mul(param, torch.ones(4, 2)).dtype is torch.float32
    with pytest.raises(OutputError, match="overlap"):
        lodkit.adagrad(param, grad, param, lr=0.1)


def test_tapes_name_the_bridge():
    x = torch.ones(6, 2)
    for call in (
        lambda: lodkit.relu(x),
        lambda: lodkit.sequence_pool(LoDTensor(x, [[6]])),
        lambda: lodkit.lookup_table(X, torch.tensor([1])),
        lambda: lodkit.relu(X, out=x),
        lambda: LoDTensor(x, [[6]]) * 2,
    ):
        with lodkit.Tape(), pytest.raises(TypeError, match=r"\.numpy\(\)"):
            call()
    weight = lodkit.parameter(x.numpy())
    with lodkit.Tape() as tape:
        made = lodkit.relu(weight)
    assert tape.gradient(made, [weight])[0].tolist() == [[1, 1]] * 6


def test_descriptions():
    x = torch.ones(6, 2)
    for value, array in ((x, X), (LoDTensor(x, [[6]]), LoDTensor(X, [[6]]))):
        assert lodkit.VarDesc.of(value) == lodkit.VarDesc.of(array)
    assert lodkit.VarDesc.of(x.bfloat16()) == lodkit.VarDesc.of(X).but(dtype="bfloat16")
    assert lodkit.VarDesc.of(SelectedRows([1], x[:1], 5)).dims == (5, 2)


def test_nothing_leaks_and_nothing_dangles():
    source = torch.ones(1000, 100)
    alive = weakref.ref(source)
    made = lodkit.lookup_table(source, torch.arange(1000))
    t = LoDTensor(source, [[1000]])
    for _ in range(100):
        lodkit.sequence_pool(t)
        lodkit.sgd(source, source.clone(), lr=0.0)
    del source, t
    gc.collect()
    assert alive() is None and (made == 1).all()


def test_mixed_devices_raise():
    class Cuda:
        """An array that says it is on a GPU."""

        shape, dtype, ndim = (6, 2), np.dtype(np.float32), 2
        __cuda_array_interface__ = {"shape": (6, 2), "typestr": "<f4", "data": (0, False), "version": 3}

    x = torch.ones(6, 2)
    for call in (
        lambda: lodkit.elementwise_mul(x, Cuda()),
        lambda: lodkit.elementwise_mul(Cuda(), LoDTensor(x, [[6]])),
        lambda: SelectedRows(torch.arange(6), Cuda(), 6),
    ):
        with pytest.raises(lodkit.DeviceError, match=r"different devices|on a GPU"):
            call()


def test_ten_thousand_round_trips_keep_no_reference():
    x, grad, ids = torch.ones(4, 2), torch.ones(4, 2), torch.tensor([0, 1])
    half = torch.ones(4, 2, dtype=torch.bfloat16)
    t, s = LoDTensor(x, [[1, 3]]), SelectedRows(ids, grad[:2], 4)

    def refused():
        with contextlib.suppress(lodkit.LoDError):
            LoDTensor(x, [[9]])

    calls = {
        "a LoDTensor": lambda: LoDTensor(x, [[1, 3]])[0],
        "SelectedRows": lambda: SelectedRows(ids, grad[:2], 4).merge(),
        "a call": lambda: lodkit.sequence_pool(t),
        "an update": lambda: lodkit.sgd(x, s, lr=0.0),
        "bfloat16": lambda: lodkit.sgd(half, grad, lr=0.0),
        "out=": lambda: lodkit.relu(grad, out=x),
        "a ufunc": lambda: t + grad[0],
        "DLPack": lambda: torch.from_dlpack(LoDTensor(x)),
        "an error": refused,
    }
    for name, call in calls.items():
        call()
        gc.collect()
        before = [sys.getrefcount(y) for y in (x, grad, ids, half)]
        for _ in range(10_000):
            call()
        gc.collect()
        assert [sys.getrefcount(y) for y in (x, grad, ids, half)] == before, name
