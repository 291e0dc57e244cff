"""Sequences padded and unpadded, and masks: what is refused, both sides, gradients, and where Paddle is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import copy

import lodkit
from lodkit import DTypeError, LoDError, LoDLevelError, LoDMismatchError, LoDTensor, ShapeMismatchError, paddle

X = LoDTensor(np.arange(12.0).reshape(6, 2), [[2, 0, 3, 1]])
TWO = LoDTensor(np.arange(6.0), [[2, 1], [2, 1, 3]])
PADDED = np.arange(12.0).reshape(2, 3, 2)

#: (operator, inputs, attributes, error, what the message says)
WRONG = [
    ("sequence_pad", (X,), {"max_length": 2}, LoDError, "sequence 2 has 3 rows, .*max_length = 2; .*truncate=True"),
    ("sequence_pad", (X,), {"max_length": -1}, ValueError, "max_length = -1 is negative"),
    ("sequence_pad", (LoDTensor(np.ones(2)),), {}, LoDLevelError, "lod_level 0"),
    ("sequence_pad", (X, np.ones(3)), {}, ShapeMismatchError, r"pad_value has shape \(3,\), a row of x \(2,\)"),
    (
        "sequence_pad",
        (X.with_values(np.ones(6, int)), np.array(0.5)),
        {},
        ValueError,
        "pad_value 0.5 is no value of int64",
    ),
    ("sequence_pad_grad", (X, np.ones((4, 2, 2))), {}, ShapeMismatchError, r"the result \(4, 3, 2\)"),
    ("sequence_pad_value_grad", (X, np.ones(3), np.ones((4, 3, 2))), {}, ShapeMismatchError, "pad_value has shape"),
    ("sequence_unpad", (PADDED, np.array([1, 4])), {}, LoDError, r"lengths\[1\] = 4 is more than the 3 rows"),
    ("sequence_unpad", (PADDED, np.array([1, -1])), {}, LoDError, r"lengths\[1\] = -1 is negative"),
    ("sequence_unpad", (PADDED, np.array([1])), {}, LoDError, "x has 2 sequences, .*; lengths has 1"),
    ("sequence_unpad", (np.ones(2), np.array([1, 1])), {}, ShapeMismatchError, r"\(sequences, width, \*item\)"),
    ("sequence_unpad", (PADDED, np.array([1.0, 1.0])), {}, DTypeError, "lengths must be integers"),
    (
        "sequence_unpad",
        (LoDTensor(PADDED, [[2]]), LoDTensor(np.array([1, 1]), [[1, 1]])),
        {},
        LoDMismatchError,
        "lengths against",
    ),
    ("sequence_unpad_grad", (PADDED, np.array([1, 4]), np.ones((5, 2))), {}, LoDError, "more than the 3 rows"),
    ("sequence_mask", (np.array([[1, 2], [3, -4]]),), {}, LoDError, r"lengths\[1, 1\] = -4 is negative"),
    ("sequence_mask", (np.array([1.0]),), {}, DTypeError, "lengths must be integers"),
    ("sequence_mask", (np.array([1]),), {"max_length": -1}, ValueError, "max_length = -1 is negative"),
]


@pytest.mark.parametrize(("name", "inputs", "attrs", "error", "text"), WRONG)
def test_wrong_inputs_are_refused(name, inputs, attrs, error, text, place):
    """By the kernels and by the definition."""
    with pytest.raises(error, match=text):
        lodkit.run(name, *(place.to(copy(x)) for x in inputs), **attrs)
    with pytest.raises(error, match=text):
        lodkit.OPS[name].definition(*map(copy, inputs), **attrs)


def test_attributes_are_checked():
    with pytest.raises(ValueError, match="side must be one of 'right', 'left'"):
        lodkit.sequence_pad(X, side="front")
    with pytest.raises(ValueError, match="dtype must be one of 'bool'"):
        lodkit.sequence_mask([1], dtype="complex64")


def test_nothing_is_written_when_a_call_raises():
    out = np.full((4, 2, 2), 7.0)
    with pytest.raises(LoDError):
        lodkit.sequence_pad(X, max_length=2, out=out)
    assert (out == 7).all()


def test_out_is_filled():
    out = np.full((4, 3, 2), 7.0)
    assert lodkit.sequence_pad(X, out=out)[0] is out
    assert out[0].tolist() == [[0, 1], [2, 3], [0, 0]]


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("x", [X, TWO, LoDTensor(np.arange(3, dtype=np.int32), [[1], [0, 2], [1, 2]][1:])])
def test_unpad_is_the_inverse_of_pad(x, side, place):
    padded, lengths = lodkit.sequence_pad(place.to(x), 7, max_length=4, side=side)
    assert place.home(lodkit.sequence_unpad(padded, lengths, side=side)).equals(x)


def test_left_is_right_read_backwards():
    backwards = LoDTensor(X.values[::-1], [X.lengths()[::-1]])
    right, left = lodkit.sequence_pad(X, -1)[0], lodkit.sequence_pad(backwards, -1, side="left")[0]
    assert (left == right[::-1, ::-1]).all()


def test_levels_above_stay():
    padded, lengths = lodkit.sequence_pad(TWO)
    assert padded.recursive_sequence_lengths() == lengths.recursive_sequence_lengths() == [[2, 1]]
    assert padded.values.tolist() == [[0, 1, 0], [2, 0, 0], [3, 4, 5]]
    assert lodkit.sequence_mask(lengths).to_list() == [[[True, True, False], [True, False, False]], [[True] * 3]]


def test_cut_rows_get_no_gradient():
    for side, expected in (("right", [1, 1, 1, 1, 0, 1]), ("left", [1, 1, 0, 1, 1, 1])):
        with lodkit.Tape() as tape:
            padded, lengths = lodkit.sequence_pad(X, max_length=2, truncate=True, side=side)
        assert lengths.tolist() == [2, 0, 2, 1]
        assert tape.gradient(padded, [X])[0].values.tolist() == [[n, n] for n in expected]


def test_gradient_of_the_padding(place):
    """Of one number the sum of all of it, of a row the sum of its columns; integers have none."""
    for pad, expected in ((np.array(1.0), 12), (np.zeros(2, np.float32), [6, 6])):
        x, pad = place.to(X), lodkit.parameter(place.to(pad))
        with lodkit.Tape() as tape:
            padded, _ = lodkit.sequence_pad(x, pad)
        gradient = place.home(tape.gradient(padded, [pad])[0])
        assert gradient.tolist() == expected and gradient.dtype == place.home(pad).dtype


def test_gradient_of_the_padding_rounds_halves_once(place):
    """80,000 and -80,000 are no halves; their sum is."""
    x, grad = LoDTensor(np.zeros((0, 2), np.float16), [[0]]), np.tile(np.array([40, -40], np.float16), (1, 2000, 1))
    for pad, expected in ((np.zeros(1, np.float16), [0]), (np.zeros(2, np.float32), [80000, -80000])):
        inputs = map(place.to, (x, pad, grad))
        got = place.home(lodkit.run("sequence_pad_value_grad", *inputs, max_length=2000))
        assert got.dtype == pad.dtype
        assert got.tolist() == expected


def test_infinities_and_nan_pass():
    padded, _ = lodkit.sequence_pad(LoDTensor(np.array([np.nan, np.inf]), [[2, 0]]), -np.inf)
    assert np.array_equal(padded, [[np.nan, np.inf], [-np.inf, -np.inf]], equal_nan=True)


def test_more_rows_than_a_block(tiny_blocks):
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 300, 50)
    x = LoDTensor(rng.standard_normal((lengths.sum(), 3), dtype=np.float32), [lengths])
    for side in ("right", "left"):
        padded, _ = lodkit.sequence_pad(x, np.arange(3), side=side)
        mask = lodkit.sequence_mask(lengths)[:, :: -1 if side == "left" else 1]
        assert (padded[mask] == x.values).all() and (padded[~mask] == np.arange(3)).all()


def test_paddle_pads_batches_of_nothing():
    """An empty batch, and one of empty sequences, end Paddle by SIGFPE."""
    for lengths in ([], [0, 0]):
        x = LoDTensor(np.ones((0, 2), np.float32), [lengths])
        out = paddle.run_op("sequence_pad", {"X": x, "PadValue": np.zeros(1, np.float32)})
        assert out["Out"].shape == (len(lengths), 0, 2) and out["Length"].tolist() == lengths
        back = paddle.run_op("sequence_unpad", {"X": out["Out"], "Length": out["Length"]})["Out"]
        assert back.recursive_sequence_lengths() == [lengths] and back.shape == (0, 2)


def test_paddle_unpads_a_matrix_to_columns():
    x = lodkit.parameter(np.arange(6.0).reshape(2, 3))
    with lodkit.Tape() as tape:
        out = paddle.run_op("sequence_unpad", {"X": x, "Length": np.array([1, 2])})["Out"]
    assert out.values.tolist() == [[0], [3], [4]]
    assert tape.gradient(out, [x])[0].tolist() == [[1, 0, 0], [1, 1, 0]]


def test_paddle_masks_by_a_tensor_in_any_type():
    mask = paddle.run_op("sequence_mask", {"X": np.array([1, 3]), "MaxLenTensor": np.array([2])}, {"out_dtype": 2})["Y"]
    assert mask.tolist() == [[1, 0], [1, 1]] and mask.dtype == np.int32
    for none in (-1, -7):
        assert paddle.run_op("sequence_mask", {"X": np.array([1, 3])}, {"maxlen": none})["Y"].shape == (2, 3)
    with pytest.raises(ValueError, match="dtype must be one of"):
        paddle.run_op("sequence_mask", {"X": np.array([1])}, {"out_dtype": 1})


@pytest.mark.parametrize(("kind", "number"), [(np.float32, 1e-8), (np.float64, 1e-8), (np.longdouble, 1e-8)])
def test_gradients_of_padding_are_rounded_once(kind, number):
    """Of halves: one that each is too small for."""
    x = LoDTensor(np.zeros((1, 1), np.float16), [[1]])
    grad = np.full((1, 1001, 1), number, kind)
    found = lodkit.sequence_pad_value_grad(x, np.zeros(1, np.float32), grad, max_length=1001)
    np.testing.assert_allclose(found, [1e-5], rtol=1e-5)
