"""SelectedRows' algebra against the dense array, and its gradients by the value against differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lodkit
from lodkit import SelectedRows
from lodkit.registry import Call


@st.composite
def selected_rows(draw, height=6):
    rows = draw(st.lists(st.integers(0, height - 1), max_size=12))
    numbers = st.lists(st.integers(-8, 8), min_size=2 * len(rows), max_size=2 * len(rows))
    return SelectedRows(rows, np.array(draw(numbers), np.float64).reshape(len(rows), 2), height)


@settings(deadline=None, max_examples=60)
@given(x=selected_rows(), y=selected_rows(), ids=st.lists(st.integers(0, 5), max_size=6), data=st.data())
def test_as_on_the_dense_array(x, y, ids, data):
    a, b = x.to_dense(), y.to_dense()
    equal = np.testing.assert_array_equal
    equal((x - y).to_dense(), a - b)
    equal(x - b, a - b)
    equal(b - x, b - a)
    equal(lodkit.abs(x).to_dense(), np.abs(a))
    equal(lodkit.square(x).to_dense(), a * a)
    equal(lodkit.sqrt(lodkit.square(x)).to_dense(), np.abs(a))
    equal(lodkit.clip_by_value(x, min=-2.0, max=3.0).to_dense(), np.clip(a, -2, 3))
    equal(lodkit.scale(x, scale=0.5).to_dense(), a / 2)
    equal(lodkit.elementwise_mul(x, b).to_dense(), a * b)
    equal(lodkit.cast(x, dtype="float32").to_dense(), a.astype(np.float32))
    np.testing.assert_allclose(lodkit.norm(x), np.linalg.norm(a))
    np.testing.assert_allclose(lodkit.clip_by_norm(x, max_norm=2.0).to_dense(), x.clip_by_norm(2.0).to_dense())
    equal(lodkit.gather_selected_rows(x, np.array(ids, np.int64)), a[ids])
    equal(lodkit.add_selected_rows(b.copy(), x), a + b)
    kept = np.isin(np.arange(6), ids)[:, None]
    equal(lodkit.filter_selected_rows(x, np.array(ids, np.int64)).to_dense(), a * kept)
    equal(lodkit.filter_selected_rows(x, np.array(ids, np.int64), exclude=True).to_dense(), a * ~kept)
    cut = data.draw(st.integers(0, 6))
    parts = lodkit.split_selected_rows(x, height_sections=(cut, 6 - cut))
    lodkit.testing.assert_equal(lodkit.concat_selected_rows(*parts).merge(), x.merge())


def gradient_by_value(op, x, attrs, more=()):
    """The rule's gradient by the value of the first input, and differences of the operator."""
    rng = np.random.default_rng(0)
    out = op(x, *more, **attrs)
    numbers = out.value if isinstance(out, SelectedRows) else out
    weights = rng.normal(size=numbers.shape)

    def loss(value):
        result = op(SelectedRows(x.rows, value, x.height), *more, **attrs)
        return ((result.value if isinstance(result, SelectedRows) else result) * weights).sum()

    call = Call(op, (x, *more), {**op.defaults, **attrs}, (out,))
    found = op.gradient_rule(call, weights)
    found = found[0] if isinstance(found, tuple) else found
    differences = np.zeros(x.value.shape)
    for place in np.ndindex(x.value.shape):
        step = np.zeros(x.value.shape)
        step[place] = 1e-6
        differences[place] = (loss(x.value + step) - loss(x.value - step)) / 2e-6
    return found, differences


@pytest.mark.parametrize(
    ("name", "more", "attrs"),
    [
        ("merge_selected_rows", (), {}),
        ("selected_rows_to_dense", (), {}),
        ("get_tensor_from_selected_rows", (), {}),
        ("gather_selected_rows", (np.array([[3, 1], [3, 0]]),), {}),
        ("sum", (SelectedRows([1, 0], [[1.0, 2.0], [3.0, 4.0]], 5),), {}),
        ("sum", (np.ones((5, 2)),), {}),
        ("abs", (), {}),
        ("square", (), {}),
        ("sqrt", (), {}),
        ("clip_by_value", (), {"min": 0.5, "max": 2.0}),
        ("scale", (), {"scale": 3.0}),
        ("scale", (), {"scale": 3.0, "bias": 1.0}),
        ("elementwise_mul", (np.array([2.0]),), {}),
        ("elementwise_mul", (np.arange(10.0).reshape(5, 2),), {}),
        ("assign", (), {}),
    ],
)
def test_gradients_by_the_value(name, more, attrs):
    value = np.random.default_rng(1).uniform(0.2, 1, (5, 2))
    for x in (SelectedRows([3, 1, 3, 4, 1], value, 5), SelectedRows([], np.zeros((0, 2)), 5)):
        found, differences = gradient_by_value(lodkit.OPS[name], x, attrs, more)
        np.testing.assert_allclose(found, differences, atol=1e-7)


def test_bad_input_is_refused():
    x = SelectedRows([1], [[1.0, 2.0]], 3)
    for call, error, message in (
        (lambda: lodkit.gather_selected_rows(x, [3]), lodkit.RowIndexError, "3 is outside"),
        (lambda: lodkit.filter_selected_rows(x, [-1]), lodkit.RowIndexError, "-1 is outside"),
        (lambda: lodkit.concat_selected_rows(x, x * 1.0, lodkit.cast(x, dtype="float32")), lodkit.DTypeError, "part 2"),
        (lambda: lodkit.clip_by_value(x, min=1.0, max=0.0), ValueError, "min = 1.0"),
        (lambda: lodkit.clip_by_norm(x, max_norm=-1.0), ValueError, "max_norm"),
        (lambda: lodkit.elementwise_mul(x, np.ones(2)), lodkit.ShapeMismatchError, "y has shape"),
        (lambda: lodkit.add_selected_rows(np.zeros((4, 2)), x), lodkit.ShapeMismatchError, "shape"),
        (lambda: lodkit.split_selected_rows(x, height_sections=(1, 1)), lodkit.LoDError, "add up to 2"),
    ):
        with pytest.raises(error, match=message):
            call()
