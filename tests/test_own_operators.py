"""What registration of an operator, a kernel or a gradient rule refuses, and what calls say of such operators."""

from __future__ import annotations

import contextlib
import re

import numba
import numpy as np
import pytest

import lodkit
from lodkit import Dense, LoDTensor, SelectedRows, VarDesc
from lodkit.registry import operators

X = np.array([1.0, 2.0, 3.0])


@pytest.fixture
def triple(monkeypatch):
    """An operator without kernels, infer rule or gradient."""
    monkeypatch.setattr(operators, "OPS", operators.Registry(lodkit.OPS))

    @lodkit.op
    def triple(x: Dense, weight: Dense | None = None, /, *, times: float = 2.0) -> Dense | None:
        """Multiply."""

    return triple


@pytest.fixture
def tripled(triple):
    """The same with a kernel."""

    @triple.kernel("cpu")
    def kernel(x: Dense, weight: Dense | None = None, /, *, times):
        return x * times

    return triple


@pytest.mark.parametrize(
    ("definition", "error", "text"),
    [
        (5, TypeError, "an operator is a function, .*; got 5"),
        (int, TypeError, "got <class 'int'>"),
        (lambda x, /: x, ValueError, "the name of its function, which is '<lambda>'; use def"),
    ],
)
def test_what_is_no_definition(definition, error, text):
    before = set(lodkit.OPS)
    with pytest.raises(error, match=text):
        lodkit.op(definition)
    assert set(lodkit.OPS) == before


@pytest.mark.parametrize(
    ("devices", "error", "text"),
    [
        ((), TypeError, r'triple.kernel needs a device: @triple.kernel\("cpu"\)'),
        ((lambda x: x,), TypeError, "triple.kernel needs a device"),
        (("tpu",), ValueError, 'triple.kernel: a device is "cpu" or "cuda", got \'tpu\''),
        ((5,), ValueError, "got 5"),
        (("cpu", "gpu"), ValueError, "got 'gpu'"),
    ],
)
def test_devices_that_are_none(triple, devices, error, text):
    with pytest.raises(error, match=text):
        triple.kernel(*devices)


def test_a_kernel_of_one_device_comes_before_one_for_several(tripled):
    tripled.kernel("cpu", "cuda")(lambda on, x, weight, /, *, times: x * 10)
    np.testing.assert_array_equal(tripled(X), X * 2)

    @tripled.kernel("cpu")
    def again(x: Dense, weight: Dense | None = None, /, *, times):
        return x * 5

    np.testing.assert_array_equal(tripled(X), X * 5)


def test_of_kernels_for_several_devices_the_last_one_runs(triple):
    for factor in (7, 8):
        triple.kernel("cpu", "cuda")(lambda on, x, weight, /, *, times, factor=factor: x * factor)
        np.testing.assert_array_equal(triple(X), X * factor)


@pytest.mark.parametrize(
    ("devices", "kernel", "text"),
    [
        (["cpu"], lambda x, /, *, times: x, "too many positional arguments"),
        (["cpu"], lambda x, y, z, /, *, times: x, "missing a required (positional-only )?argument: 'z'"),
        (["cpu"], lambda x, y=None, /: x, "got an unexpected keyword argument 'times'"),
        (["cpu"], lambda x, y=None, /, *, times, more: x, "missing a required (keyword-only )?argument: 'more'"),
        (["cpu", "cuda"], lambda x, /, *, times: x, "does not take the device, then the inputs"),
        (["cpu"], lambda on, x, /, *, times: x, "takes the device first, which a kernel of one device is not given"),
    ],
)
def test_kernels_that_could_not_be_called(triple, devices, kernel, text):
    with pytest.raises(TypeError, match=text) as caught:
        triple.kernel(*devices)(kernel)
    assert "of triple(x: Dense, weight: Dense | None = None, /, *, times: float = 2.0)" in str(caught.value)
    assert not triple.kernels
    with pytest.raises(lodkit.NoKernelError, match="kernels: none"):
        triple(X)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="njit returns the function")
def test_a_compiled_function_is_no_kernel(triple):
    with pytest.raises(TypeError, match="a kernel of triple must be a Python function, got CPUDispatcher; write one"):
        triple.kernel("cpu")(numba.njit(lambda x, weight, times: x))


def test_inference_without_a_rule(tripled):
    with pytest.raises(lodkit.LodkitError, match=r"triple has no rule for infer; give it one by @triple.infer_rule"):
        tripled.infer(VarDesc.of(X))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: lodkit.lookup_table(np.ones((3, 2)), ids=[1]), "ids is positional, pass it without ids="),
        (
            lambda: lodkit.embedding_bag(np.ones((3, 2)), LoDTensor([1], [[1]]), weights=np.ones(1)),
            "embedding_bag: weights is positional, pass it without weights=",
        ),
        (lambda: lodkit.lookup_table(table=X, ids=[1]), "table and ids are positional, pass them without table=, ids="),
        (lambda: lodkit.sum(xs=[X]), "sum: xs is positional"),
        (lambda: lodkit.lookup_table.infer(VarDesc.of(X), ids=VarDesc.of(X)), "ids is positional"),
    ],
)
@pytest.mark.parametrize("context", [contextlib.nullcontext, lodkit.Tape])
def test_inputs_by_name(call, text, context):
    with context(), pytest.raises(TypeError, match=re.escape(text)) as caught:
        call()
    assert re.search(r"=: (embedding_bag|lookup_table|sum)\(\*?\w+(, ids)?\)$", str(caught.value))


@pytest.mark.parametrize(
    ("rule", "error", "text"),
    [
        (lambda call, g: g[:2], lodkit.ShapeMismatchError, r"a gradient of shape \(2,\) for x of shape \(3,\)"),
        (lambda call, g: np.float64(2), lodkit.ShapeMismatchError, r"a gradient of shape \(\) for x of shape \(3,\)"),
        (lambda call, g: SelectedRows([0], [1.0], 4), lodkit.ShapeMismatchError, r"of shape \(4,\) for x"),
        (lambda call, g: 2.0, lodkit.LodkitError, "the gradient rule of triple returned float for x; return an array"),
        (lambda call, g: [g, None], lodkit.LodkitError, "returned list for x; .* several as a tuple"),
        (lambda call, g: (g, None, None), lodkit.LodkitError, "returned 3 gradients, one for each input would be 2"),
    ],
)
def test_gradient_rules_are_checked(tripled, rule, error, text):
    tripled.gradient(rule)
    x = lodkit.parameter(X)
    with lodkit.Tape() as tape:
        y = tripled(x)
    with pytest.raises(error, match=text):
        tape.gradient(y, [x])


def test_gradients_of_the_shape_of_a_table_or_of_its_rows(tripled):
    tripled.gradient(lambda call, g: SelectedRows([0, 2], [1.0, 5.0], 3))
    x = lodkit.parameter(X)
    with lodkit.Tape() as tape:
        y = tripled(x)
    np.testing.assert_array_equal(tape.gradient(y, [x])[0].to_dense(), [1, 0, 5])
    table = SelectedRows([0, 0], [[1.0], [2.0]], 3)
    with lodkit.Tape() as tape:
        y = lodkit.selected_rows_to_dense(table)
    np.testing.assert_array_equal(tape.gradient(y, [table])[0], [[1], [1]])


@pytest.mark.parametrize(
    ("declare", "text"),
    [
        (lambda x, by, /, *, times=2.0: x, "'by' that triple(x"),
        (lambda x, grad, /, *, factor=2.0: x, "attribute 'factor' that triple has not"),
    ],
)
def test_a_gradient_takes_what_the_operator_has(triple, declare, text):
    declare.__name__ = "triple_grad"
    with pytest.raises(TypeError, match=re.escape(text)):
        lodkit.op(declare, gradient_of=triple)


def test_a_rule_is_written_from_the_signature_of_the_gradient(tripled):
    @lodkit.op(like=("x", "weight"), gradient_of=tripled)
    def triple_grad(out: Dense, grad: Dense, x: Dense, weight: Dense | None = None, /, *, times: float = 2.0) -> tuple:
        """Give the gradient by x, and one by the weight that shows what came."""
        return grad * times, None if weight is None else out + x

    @triple_grad.kernel("cpu")
    def kernel(out, grad, x, weight: Dense | None = None, /, *, times):
        return triple_grad.definition(out, grad, x, weight, times=times)

    weight = np.ones(3)
    with lodkit.Tape() as tape:
        tape.watch(X), tape.watch(weight)
        y = tripled(X, weight, times=3.0)
    by_x, by_weight = tape.gradient(y, [X, weight])
    assert np.array_equal(by_x, [3.0, 3.0, 3.0]) and np.array_equal(by_weight, 4 * X)
    with lodkit.Tape() as tape:
        tape.watch(X)
        y = tripled(X)
    assert np.array_equal(tape.gradient(y, [X])[0], [2.0, 2.0, 2.0])
    x = VarDesc.of(LoDTensor(X, [[1, 2]]))
    assert [d.lod_level for d in triple_grad.infer(x, x, x, x)] == [0, 0]


def test_a_written_rule_refuses_gradients_by_further_results(triple):
    @lodkit.op(like=("x", "x"))
    def two_results(x: Dense, /) -> tuple:
        """Give twice and three times x."""
        return 2 * x, 3 * x

    @lodkit.op(like="x", gradient_of=two_results)
    def two_results_grad(x: Dense, grad: Dense, /) -> Dense:
        """Give the gradient by the first result."""
        return 2 * grad

    for op in (two_results, two_results_grad):
        op.kernel("cpu")(op.definition)
    x = lodkit.parameter(np.ones(3))
    with lodkit.Tape() as tape:
        first, second = two_results(x)
    assert tape.gradient(first, [x])[0].tolist() == [2, 2, 2]
    with pytest.raises(lodkit.LodkitError, match="two_results has no gradient by its result 1: its rule"):
        tape.gradient(second, [x])


def test_results_are_like_inputs_that_there_are():
    def alike(x, /):
        """Return x."""

    with pytest.raises(TypeError, match="alike: like= or updates= names 'y', inputs are x"):
        lodkit.op(alike, like=("x", "y"))
