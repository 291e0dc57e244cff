"""Convolutions along sequences: windows of any place and size, Paddle's errors put right, wrong inputs."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor

X = LoDTensor(np.arange(1.0, 7.0).reshape(3, 2), [[1, 0, 2]])


@pytest.mark.parametrize("start", [-9, -2, -1, 0, 1, 9])
@pytest.mark.parametrize("length", [1, 2, 5])
def test_windows_of_any_place_and_size(start, length):
    """Against a convolution of each sequence between its padding; Paddle refuses windows that end before the row."""
    rng = np.random.default_rng(0)
    before, behind = max(0, -start), max(0, start + length - 1)
    x = LoDTensor(rng.normal(size=(9, 2)), [[2, 0, 6, 1]])
    weight, padding = rng.normal(size=(length * 2, 3)), rng.normal(size=(before + behind, 2))
    out = lodkit.sequence_conv(x, weight, padding, context_start=start, context_length=length)
    for sequence, got in zip(x, out, strict=True):
        padded = np.concatenate([padding[:before], sequence, padding[before:]])
        first = start + before
        windows = [padded[first + t : first + t + length].reshape(-1) for t in range(len(sequence))]
        np.testing.assert_allclose(got, np.array(windows).reshape(len(sequence), 2 * length) @ weight, atol=1e-12)


def test_filter_gradient_where_a_sequence_is_not_longer_than_the_start():
    """Paddle's has the windows of the sequence before in it."""
    weight = lodkit.parameter(np.ones((4, 1)))
    with lodkit.Tape() as tape:
        out = lodkit.sequence_conv(X, weight, context_start=1, context_length=2)
    assert out.values.ravel().tolist() == [0, 11, 0]
    assert tape.gradient(out, [weight])[0].ravel().tolist() == [5, 6, 0, 0]


def test_the_window_is_centred_by_default():
    x = LoDTensor(np.array([1.0, 2.0, 4.0]), [[3]])
    assert lodkit.sequence_conv(x, np.ones((3, 1)), context_length=3).values.ravel().tolist() == [3, 7, 6]
    assert lodkit.sequence_conv(x, np.ones((2, 1)), context_length=2).values.ravel().tolist() == [1, 3, 6]


def test_padding_without_rows():
    """Paddle refuses it."""
    padding = lodkit.parameter(np.zeros((0, 2)))
    with lodkit.Tape() as tape:
        out = lodkit.sequence_conv(X, np.eye(2), padding, context_start=0, context_length=1)
    assert out.equals(X)
    assert tape.gradient(out, [padding])[0].shape == (0, 2)


@pytest.mark.parametrize("rows", [1, 127, 16384, 16385])
def test_blocks_join(rows):
    """However many rows there are for the blocks of windows."""
    x = LoDTensor(np.arange(float(rows)) % 7, [[rows]])
    out = lodkit.sequence_conv(x, np.ones((2, 1)), context_start=0, context_length=2).values[:, 0]
    np.testing.assert_array_equal(out, x.values + np.append(x.values[1:], 0))
    by_x, by_filter = lodkit.sequence_conv_grad(
        x, np.ones((2, 1)), np.ones((rows, 1)), context_start=0, context_length=2
    )
    assert by_x.sum() == 2 * rows - 1
    assert by_filter.ravel().tolist() == [x.values.sum(), x.values[1:].sum()]


@pytest.mark.jit
def test_gradient_of_a_filter_of_many_rows():
    """Sums of float32 in blocks."""
    x = LoDTensor(np.full((1 << 18, 1), 0.1, np.float32), [[1 << 18]])
    one = np.ones((1, 1), np.float32)
    _, by_filter = lodkit.sequence_conv_grad(x, one, x.values, context_length=1)
    np.testing.assert_allclose(by_filter, (1 << 18) * np.float32(0.1).astype(float) ** 2, rtol=1e-5)
    _, by_filter = lodkit.row_conv_grad(x, one, x.values)
    np.testing.assert_allclose(by_filter, (1 << 18) * np.float32(0.1).astype(float) ** 2, rtol=1e-6)


def test_nan_stays_in_its_windows(place):
    """A row outside the sequence is not multiplied by zero."""
    x = LoDTensor(np.array([[1.0], [np.nan], [np.inf], [2.0]]), [[1, 2, 1]])
    row = place.home(lodkit.row_conv(place.to(x), place.to(np.ones((2, 1))))).values.ravel()
    np.testing.assert_array_equal(row, [1, np.nan, np.inf, 2])
    if place.home(x) is x:
        conv = lodkit.sequence_conv(x, np.ones((3, 1)), context_length=3).values.ravel()
        np.testing.assert_array_equal(conv, [1, np.nan, np.nan, 2])


def test_row_conv_of_empty_sequences():
    """Paddle refuses them."""
    x = LoDTensor(np.array([[1.0], [2.0], [3.0]]), [[0, 2, 0, 1, 0]])
    assert lodkit.row_conv(x, np.array([[1.0], [1.0]])).values.ravel().tolist() == [3, 2, 3]


def test_names_of_paddle():
    x, weight = LoDTensor(X.values.astype(np.float32), [[1, 0, 2]]), np.ones((2, 1), np.float32)
    attrs = {"contextLength": 1, "contextStart": 0, "paddingTrainable": False}
    inputs = {"X": x, "Filter": weight, "PaddingData": np.ones((9, 9), np.float32)}
    assert lodkit.paddle.run_op("sequence_conv", inputs, attrs)["Out"].values.ravel().tolist() == [3, 7, 11]
    with pytest.raises(ValueError, match="contextStride must be 1, got 2"):
        lodkit.paddle.run_op("sequence_conv", inputs, {**attrs, "contextStride": 2})
    with pytest.raises(lodkit.paddle.SlotError, match="needs the input PaddingData"):
        lodkit.paddle.run_op("sequence_conv", {"X": x, "Filter": weight}, {**attrs, "paddingTrainable": True})


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: lodkit.sequence_conv(X, np.ones((4, 1)), context_length=3), lodkit.ShapeMismatchError, r"\(6, n\)"),
        (
            lambda: lodkit.sequence_conv(X, np.ones((6, 1)), np.ones((1, 2)), context_length=3),
            lodkit.ShapeMismatchError,
            r"padding has shape \(1, 2\), it must be \(2, 2\): windows reach 1 rows before",
        ),
        (lambda: lodkit.sequence_conv(X, np.ones((0, 1)), context_length=0), ValueError, "at least 1, got 0"),
        (
            lambda: lodkit.sequence_conv(X, np.ones((2, 1), np.float32), context_length=1),
            lodkit.DTypeError,
            "the filter is float32, the input float64",
        ),
        (
            lambda: lodkit.sequence_conv(X.with_values(np.ones((3, 2), int)), np.ones((2, 1), int), context_length=1),
            lodkit.DTypeError,
            "float16, bfloat16, float32 or float64",
        ),
        (lambda: lodkit.row_conv(X, np.ones((2, 3))), lodkit.ShapeMismatchError, r"it must be \(context, 2\)"),
        (lambda: lodkit.row_conv(LoDTensor(np.ones((3, 2))), np.ones((1, 2))), lodkit.LoDLevelError, "lod_level 0"),
    ],
)
def test_wrong_inputs(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_windows_far_away_need_no_memory(place):
    x = LoDTensor(np.ones((3, 2)), [[2, 1]])
    for start in (2**63 - 1, 1 - 2**63, 10**9, -4, 3):
        out = lodkit.sequence_conv(place.to(x), place.to(np.ones((4, 1))), context_start=start, context_length=2)
        assert (place.home(out).values == 0).all()


def test_long_windows_of_rows_without_elements():
    x = LoDTensor(np.zeros((3, 0)), [[2, 1]])
    for call in (lodkit.sequence_conv, lodkit.sequence_conv.definition):
        assert call(x, np.ones((0, 2)), context_length=2**31).values.tolist() == [[0, 0]] * 3
