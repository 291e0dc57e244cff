"""Dense operators in one compiled pass on the CPU: as exact as their definitions, at the ends of ranges too."""

from __future__ import annotations

import fractions

import numpy as np
import pytest

import lodkit

FLOATS = np.float16, np.float32, np.float64
X = np.concatenate([np.linspace(-30, 30, 2001), np.random.default_rng(0).normal(size=1000), [0.0, -0.0, 1e-4, -1e-4]])
GRAD = np.random.default_rng(1).normal(size=len(X))
LABELS = (GRAD > 0).astype(np.float64)
CALLS = {
    "sigmoid": ((X,), {}),
    "sigmoid_grad": ((np.tanh(X) / 2, GRAD), {}),
    "tanh_grad": ((np.tanh(X), GRAD), {}),
    "relu_grad": ((X, GRAD), {}),
    "silu": ((X,), {}),
    "silu_grad": ((X, GRAD), {}),
    "gelu": ((X,), {"approximate": False}),
    "gelu_grad": ((X, GRAD), {"approximate": False}),
    "sigmoid_cross_entropy_with_logits": ((X, LABELS), {}),
    "sigmoid_cross_entropy_with_logits_grad": ((X, LABELS, GRAD), {}),
}
BY_TANH = {"gelu": ((X,), {"approximate": True}), "gelu_grad": ((X, GRAD), {"approximate": True})}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("name", "call"), [*CALLS.items(), *BY_TANH.items()])
def test_is_the_definition_to_a_few_units(name, call, dtype):
    inputs, attrs = [x.astype(dtype) for x in call[0]], call[1]
    got = lodkit.run(name, *inputs, **attrs)
    with np.errstate(all="ignore"):
        expected = lodkit.OPS[name].definition(*(x.astype(np.float64) for x in inputs), **attrs)
    eps = np.finfo(dtype).eps if dtype is not np.float16 else np.finfo(np.float32).eps
    eps *= 16 if attrs.get("approximate") else 1  # of a cube and a square, with which errors grow
    rounding = np.finfo(np.float16).eps if dtype is np.float16 else 0
    for a, b in zip(*((r if isinstance(r, tuple) else (r,)) for r in (got, expected)), strict=True):
        assert a.dtype == dtype
        np.testing.assert_allclose(a.astype(np.float64), b, rtol=8 * eps + rounding, atol=4 * eps + rounding / 1024)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_small_losses_and_shares_keep_their_digits(dtype):
    x = np.array([-50, -30, -20, -10, -5], dtype)
    rtol = 1e-5 if dtype is np.float32 else 1e-13  # x itself is rounded before its square
    losses = lodkit.sigmoid_cross_entropy_with_logits(x, np.zeros_like(x))
    np.testing.assert_allclose(losses, np.log1p(np.exp(x.astype(np.float64))), rtol=rtol)
    np.testing.assert_allclose(lodkit.gelu(x[3:]), lodkit.gelu.definition(x[3:].astype(np.float64)), rtol=rtol)


def test_ends_of_ranges():
    x = np.array([np.inf, -np.inf, np.nan, 1e30, -1e30], np.float32)
    grad = np.ones_like(x)
    np.testing.assert_array_equal(lodkit.sigmoid(x), np.array([1, 0, np.nan, 1, 0], np.float32))
    np.testing.assert_array_equal(lodkit.silu(x), np.array([np.inf, np.nan, np.nan, 1e30, 0], np.float32))
    for approximate in (False, True):
        y = lodkit.gelu(x, approximate=approximate)
        np.testing.assert_array_equal(y, np.array([np.inf, np.nan, np.nan, 1e30, 0], np.float32))
        by_x = lodkit.gelu_grad(x, grad, approximate=approximate)
        np.testing.assert_array_equal(by_x[2:], np.array([np.nan, 1, 0], np.float32))


WIDE = {
    "softmax_grad": ((np.float32([[0.5, 0.5]]), np.array([[2**40 + 1, 2**40]])), [[0.25, -0.25]]),
    "layer_norm_grad": ((np.float32([[1, 3]]), None, np.array([[1e300, 1e300]])), [[0, 0]]),
    "sigmoid_grad": ((np.float32([0, 1]), np.array([1e39, 1e39])), [0, 0]),
    "silu_grad": ((np.float32([-60]), np.array([1e39])), [-5.1662e14]),
    "softmax_with_cross_entropy_grad": ((np.float32([[0, -30]]), [0], np.array([[1e45]])), [[-9.3576e31, 9.3576e31]]),
    "relu_grad": ((np.float16([1, 0]), np.array([1e-9, 1e300])), [0, 0]),
}


@pytest.mark.parametrize("name", WIDE)
def test_a_gradient_of_a_wider_type_is_not_rounded_first(name):
    inputs, expected = WIDE[name]
    got = lodkit.run(name, *inputs)
    got = got[0] if isinstance(got, tuple) else got
    assert got.dtype == inputs[0].dtype
    np.testing.assert_allclose(got, expected, rtol=2e-3, atol=1e-30)  # of 1 less 9e-14


def test_labels_of_a_wider_type_are_not_rounded_first():
    loss = lodkit.sigmoid_cross_entropy_with_logits(np.float32([1000]), np.array([0.99123456789]))
    np.testing.assert_allclose(loss, [8.76543211], rtol=1e-7)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble, fractions.Fraction])
def test_attributes_may_be_numbers_of_any_type(kind):
    x = np.float32([[1, 2, 4]])
    expected = lodkit.layer_norm(x, epsilon=0.25), lodkit.layer_norm_grad(x, None, x, epsilon=0.25)[0]
    got = lodkit.layer_norm(x, epsilon=kind(0.25)), lodkit.layer_norm_grad(x, None, x, epsilon=kind(0.25))[0]
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (15,), (16,), (17,), (4097,), (3, 0), (3, 5, 7)])
def test_any_shape_layout_and_type_of_gradient(shape):
    x, grad = np.random.default_rng(2).normal(size=(2, *shape)).astype(np.float32)
    expected = lodkit.silu_grad.definition(x, grad)
    strided = np.repeat(x[..., None], 2, -1)[..., 0] if shape else x
    swapped = x.astype(x.dtype.newbyteorder())
    for given in (x, strided, swapped):
        for g in (grad, grad.astype(np.float64), grad.astype(np.longdouble)):
            got = lodkit.silu_grad(given, g)
            assert (got.shape, got.dtype) == (shape, np.float32)
            np.testing.assert_allclose(got, expected, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("width", [1, 3, 16, 17, 100, 1025])
def test_layer_norm_of_numbers_far_from_0(width, dtype):
    rng, far = np.random.default_rng(0), 100 if dtype is np.float16 else 10_000
    x = (rng.normal(size=(300, width)) + far).astype(dtype)
    x[0, 0] *= 50  # an outlier where differences are taken from
    scale, bias, grad = rng.normal(size=width), rng.normal(size=width), rng.normal(size=x.shape)
    scale, bias, grad = (given.astype(dtype) for given in (scale, bias, grad))
    wide = [given.astype(np.float64) for given in (x, scale, bias, grad)]
    rtol = {np.float16: 2e-3, np.float32: 1e-6, np.float64: 1e-9}[dtype]
    np.testing.assert_allclose(
        lodkit.layer_norm(x, scale, bias), lodkit.layer_norm.definition(*wide[:3]), rtol=rtol, atol=rtol
    )
    got, expected = lodkit.layer_norm_grad(x, scale, grad), lodkit.layer_norm_grad.definition(*wide[:2], wide[3])
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.abs(b).max(initial=1e-3))


def test_layer_norm_of_float64_beside_an_outlier():
    x = np.random.default_rng(0).normal(size=(3, 500))
    x[:, 0] = 1e9
    wide = x.astype(np.longdouble)
    expected = wide - wide.mean(axis=1, keepdims=True)
    expected /= np.sqrt((expected**2).mean(axis=1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(lodkit.layer_norm(x), expected.astype(np.float64), rtol=1e-14, atol=0)


def test_layer_norm_of_what_is_not_finite():
    rows = [[1, np.inf, 2], [np.inf, 1, 2], [1, np.nan, 3], [np.inf, np.inf, 1]]
    assert np.isnan(lodkit.layer_norm(np.array(rows))).all()
    assert not lodkit.layer_norm(np.array([[1e200, 1, -1e200]])).any()  # squares overflow, as in the definition


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("width", [1, 2, 15, 16, 17, 1023, 1025, 3000])
def test_rows_of_any_width(width, dtype):
    rng = np.random.default_rng(width)
    x, labels = (rng.normal(size=(9, width)) * 4).astype(dtype), rng.integers(0, width, 9)
    wide, grad = x.astype(np.float64), rng.normal(size=(9, 1)).astype(dtype)
    rtol = {np.float16: 2e-3, np.float32: 2e-6, np.float64: 1e-13}[dtype]
    for got, expected in (
        (lodkit.softmax(x), lodkit.softmax.definition(wide)),
        (lodkit.softmax_with_cross_entropy(x, labels), lodkit.softmax_with_cross_entropy.definition(wide, labels)),
        (
            lodkit.softmax_with_cross_entropy_grad(x, labels, grad),
            lodkit.softmax_with_cross_entropy_grad.definition(wide, labels, grad.astype(np.float64)),
        ),
    ):
        assert got.dtype == dtype
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol / 100)


@pytest.mark.parametrize("dtype", FLOATS)
def test_rows_that_are_not_finite(dtype):
    inf, nan = np.inf, np.nan
    x = np.array([[inf, 0, inf], [inf, 0, 1], [-inf, -inf, -inf], [-inf, 0, 1], [nan, 0, inf], [0, nan, 1]], dtype)
    for label in range(3):
        labels, grad = np.full(len(x), label), np.full((len(x), 1), 2, dtype)
        with np.errstate(all="ignore"):
            expected = lodkit.softmax_with_cross_entropy.definition(x, labels)
            by_x = lodkit.softmax_with_cross_entropy_grad.definition(x, labels, grad)
        np.testing.assert_allclose(lodkit.softmax_with_cross_entropy(x, labels), expected, rtol=1e-3)
        np.testing.assert_allclose(lodkit.softmax_with_cross_entropy_grad(x, labels, grad), by_x, rtol=1e-3)
    np.testing.assert_allclose(lodkit.softmax(x), lodkit.softmax.definition(x), rtol=1e-3)


def test_the_gradient_of_a_sure_label_is_rounded_once():
    x = np.array([[9, 0]], np.float16)
    by_x = lodkit.softmax_with_cross_entropy_grad(x, np.array([0]), np.ones((1, 1), np.float16))
    share = 1 / (1 + np.exp(9.0))
    np.testing.assert_allclose(by_x, [[-share, share]], rtol=1e-3)
