"""Every operator with a gradient under torch.autograd, by its samples. Nothing here names an operator."""

from __future__ import annotations

import numpy as np
import pytest
from differences import parameters
from samples import SAMPLES

import lodkit
from lodkit import LoDTensor, SelectedRows

torch = pytest.importorskip("torch")
from lodkit.interop import torch as bridge  # noqa: E402

NAMES = [name for name, op in lodkit.OPS.items() if op.gradient_rule]
FEW = 40  # numbers up to which every one is moved; beyond, one random direction


def cases():
    for name in NAMES:
        for i, (inputs, attrs) in enumerate(SAMPLES[name]):
            yield pytest.param(name, inputs, attrs, id=f"{name}-{i}")


def memory(x):
    return x.values if isinstance(x, LoDTensor) else x.value if isinstance(x, SelectedRows) else x


def over(x, array):
    """A value like ``x`` over another array or tensor."""
    if isinstance(x, LoDTensor):
        return LoDTensor._wrap(array, x._lod)
    return x._with_value(array) if isinstance(x, SelectedRows) else array


def packed(a):
    """A tensor of the numbers, with strides of its shape even where it is empty: gradcheck wants them."""
    a = torch.from_numpy(np.asarray(a))
    return torch.empty(a.shape, dtype=a.dtype).copy_(a)


def in_double(x, moved=True):
    """The value over a tensor of float64, moved off ties and zeros, where the two sides have different slopes."""
    a = memory(x)
    if not isinstance(a, np.ndarray):
        return x
    if a.dtype.kind != "f":
        return over(x, packed(a))
    noise = np.random.default_rng(a.size).uniform(1e-3, 3e-3, a.shape) * moved
    return over(x, packed(a.astype(np.float64) + noise).requires_grad_())


def results(value):
    return tuple(part for v in value for part in results(v)) if isinstance(value, tuple) else (value,)


def dense(gradient):
    return gradient if gradient is None or gradient.layout is torch.strided else gradient.to_dense()


class Densified(torch.autograd.Function):
    """The identity; gradcheck takes no sparse gradient."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return dense(grad)


@pytest.mark.parametrize(("name", "inputs", "attrs"), [*cases()])
def test_gradcheck(name, inputs, attrs):
    op, function = lodkit.OPS[name], getattr(bridge, name)
    given = op._accept(inputs)
    inputs = [in_double(x) for x in given]
    try:
        made = results(function(*inputs, **attrs))
    except lodkit.DTypeError:
        pytest.skip("a sample about half precision")
    except ValueError:  # a number that is to be an integer
        inputs = [in_double(x, moved=False) for x in given]
        made = results(function(*inputs, **attrs))
    if any(isinstance(memory(x), torch.Tensor) and not memory(x).isfinite().all() for x in (*inputs, *made)):
        pytest.skip("differences of infinities are NaN")
    made = [memory(r) for r in made]
    leaves = [memory(x) for x in inputs if isinstance(memory(x), torch.Tensor) and memory(x).requires_grad]

    def call(which):
        def run(*tensors):
            given = iter(tensors)
            moved = [
                over(x, Densified.apply(next(given))) if any(memory(x) is leaf for leaf in leaves) else x
                for x in inputs
            ]
            return memory(results(function(*moved, **attrs))[which])

        return run

    if not leaves:
        assert not any(isinstance(m, torch.Tensor) and m.requires_grad for m in made)
    checked = 0
    for which, out in enumerate(made):
        if not isinstance(out, torch.Tensor) or not out.requires_grad or out.dtype != torch.float64:
            continue
        many = out.numel() + sum(leaf.numel() for leaf in leaves) > FEW
        try:
            torch.autograd.gradcheck(call(which), leaves, fast_mode=many, nondet_tol=0.0)
        except lodkit.LodkitError:
            assert checked, "the first result has a gradient"
        checked += 1


@pytest.mark.parametrize("name", NAMES)
def test_results_and_gradients_are_those_of_a_tape(name):
    """In the types of the samples: the same bits as lodkit alone."""
    op, function = lodkit.OPS[name], getattr(bridge, name)
    for inputs, attrs in SAMPLES[name]:
        inputs = op._accept(inputs)
        tensors = []
        for x in inputs:
            a = memory(x)
            if isinstance(a, np.ndarray):
                a = packed(a)
                x = over(x, a.requires_grad_(a.is_floating_point()))
            tensors.append(x)
        plain = parameters(
            over(x, memory(t).detach().numpy()) if isinstance(memory(t), torch.Tensor) else x
            for x, t in zip(inputs, tensors, strict=True)
        )
        with lodkit.Tape() as tape:
            expected = results(op(*plain, **attrs))
        got = results(function(*tensors, **attrs))
        assert len(got) == len(expected)
        for g, e in zip(got, expected, strict=True):
            same(g, e)
        out, target = memory(got[0]), expected[0]
        if not isinstance(out, torch.Tensor) or not out.requires_grad:
            continue
        inputs_of_tape = [memory(x) for x in plain if isinstance(memory(x), np.ndarray)]
        if not out.numel() or any(np.may_share_memory(memory(target), a) for a in inputs_of_tape):
            continue  # to a tape an input that comes back is no result
        weights = np.random.default_rng(0).normal(size=tuple(out.shape)).astype(memory(target).dtype)
        places = [i for i, t in enumerate(tensors) if isinstance(memory(t), torch.Tensor) and memory(t).requires_grad]
        leaves = [memory(tensors[i]) for i in places]
        found = torch.autograd.grad(out, leaves, torch.from_numpy(weights), allow_unused=True)
        given = SelectedRows(target.rows, weights, target.height) if isinstance(target, SelectedRows) else weights
        sources = [plain[i] for i in places]
        for g, e in zip(found, tape.gradient(target, sources, given, unconnected="none"), strict=True):
            assert (g is None) == (e is None)
            if g is not None and isinstance(e, SelectedRows) and g.layout is torch.sparse_coo:
                assert not g.is_coalesced() or len(e.rows) < 2
                np.testing.assert_array_equal(g._indices()[0].numpy(), e.rows)
                np.testing.assert_array_equal(g._values().numpy(), e.value)
            elif g is not None:
                np.testing.assert_array_equal(g.numpy(), memory(e))


def same(got, expected):
    """The same kind, structure and bits."""
    assert isinstance(got, type(expected)) or isinstance(expected, np.ndarray)
    if isinstance(expected, LoDTensor):
        assert got.lod() == expected.lod()
    if isinstance(expected, SelectedRows):
        np.testing.assert_array_equal(got.rows, expected.rows)
    if isinstance(memory(expected), np.ndarray):
        assert isinstance(memory(got), torch.Tensor)
        np.testing.assert_array_equal(memory(got).detach().numpy(), np.asarray(memory(expected)))
