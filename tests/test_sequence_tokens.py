"""Tokens erased, and windows of them: what is refused, and the examples of Paddle."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import copy

import lodkit
from lodkit import DTypeError, LoDError, LoDLevelError, LoDTensor, ShapeMismatchError

X = LoDTensor(np.array([[2], [2], [6], [1], [3], [9], [6], [1], [0], [1]], np.int32), [[3, 3, 4]])
WINDOW = {"win_size": 2}

#: (operator, inputs, attributes, error, what the message says)
WRONG = [
    ("sequence_erase", (X.with_values(np.ones((10, 2), int)),), {"tokens": [1]}, ShapeMismatchError, r"shape \(2,\)"),
    ("sequence_erase", (X.with_values(np.ones(10)),), {"tokens": [1]}, DTypeError, "integers or bool, not float64"),
    ("sequence_erase", (X,), {"tokens": [0.5]}, DTypeError, "tokens must be integers, not float64"),
    ("sequence_erase", (X,), {"tokens": 3}, LoDError, r"tokens has shape \(\)"),
    ("sequence_erase", (LoDTensor(np.ones(2, int)),), {"tokens": [1]}, LoDLevelError, "lod_level 0"),
    ("sequence_enumerate", (X.with_values(np.ones(10)),), WINDOW, DTypeError, "integers or bool, not float64"),
    ("sequence_enumerate", (X,), {"win_size": 0}, ValueError, "win_size = 0"),
    ("sequence_enumerate", (X,), {"pad_value": 1 << 40, **WINDOW}, ValueError, "pad_value .* is no value of int32"),
    ("sequence_enumerate", (LoDTensor(np.ones(2, int)),), WINDOW, LoDLevelError, "lod_level 0"),
]


@pytest.mark.parametrize(("name", "inputs", "attrs", "error", "text"), WRONG)
def test_wrong_inputs_are_refused(name, inputs, attrs, error, text, place):
    """By the kernels and by the definition."""
    with pytest.raises(error, match=text):
        lodkit.run(name, *(place.to(copy(x)) for x in inputs), **attrs)
    with pytest.raises(error, match=text):
        lodkit.OPS[name].definition(*map(copy, inputs), **attrs)


def test_paddles_example_of_erase(place):
    out = place.home(lodkit.sequence_erase(place.to(X), tokens=[2, 3, 5]))
    assert out.values.ravel().tolist() == [6, 1, 9, 6, 1, 0, 1] and out.dtype == np.int32
    assert out.lod() == [[0, 1, 3, 7]] and out.shape == (7, 1)


def test_all_may_be_erased_at_any_depth(place):
    x = LoDTensor(np.array([2, 2, 6, 1]), [[1, 1], [2, 2]])
    assert lodkit.sequence_erase(place.to(x), tokens=[2]).recursive_sequence_lengths() == [[1, 1], [0, 2]]
    out = lodkit.sequence_erase(place.to(x), tokens=range(10))
    assert out.recursive_sequence_lengths() == [[1, 1], [0, 0]] and tuple(out.shape) == (0,)


@pytest.mark.parametrize("count", [0, 1, 2, 300])
def test_any_number_of_tokens(count):
    rng = np.random.default_rng(count)
    x = LoDTensor(rng.integers(-500, 500, 2000), [rng.multinomial(2000, np.full(70, 1 / 70))])
    tokens = rng.integers(-500, 500, count)
    kept = ~np.isin(x.values, tokens)
    out = lodkit.sequence_erase(x, tokens=tokens)
    assert (out.values == x.values[kept]).all()
    assert (out.lengths() == np.bincount(x.segment_ids()[kept], minlength=70)).all()


def test_windows_end_with_their_sequence(place):
    x = LoDTensor(np.array([[1], [2], [3], [4], [5]]), [[3, 0, 2]])
    out = place.home(lodkit.sequence_enumerate(place.to(x), win_size=3))
    assert out.values.tolist() == [[1, 2, 3], [2, 3, 0], [3, 0, 0], [4, 5, 0], [5, 0, 0]]
    assert out.same_lod(x)


#: Operators of sequences of tokens: (inputs before the tokens, how often these are given, attributes)
TAKES_TOKENS = {
    "sequence_erase": ((), 1, {"tokens": [1]}),
    "sequence_enumerate": ((), 1, WINDOW),
    "sequence_contains": ((), 1, {"tokens": [1]}),
    "edit_distance": ((), 2, {"ignored_tokens": [1]}),
    "ctc_align": ((), 1, {}),
    "ctc_loss": ((LoDTensor(np.ones((0, 5)), [[0, 0]]),), 1, {}),
    "embedding_bag": ((np.ones((4, 2)),), 1, {}),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float16])
@pytest.mark.parametrize("name", TAKES_TOKENS)
def test_no_tokens_are_tokens_of_any_type(name, dtype, place):
    """NumPy gives an empty list float64, so a batch of empty sequences has it."""
    before, count, attrs = TAKES_TOKENS[name]
    tokens, integers = (LoDTensor(np.empty(0, kind), [[0, 0]]) for kind in (dtype, np.int64))
    found, expected = (
        place.home(lodkit.run(name, *map(place.to, (*before, *[x] * count)), **attrs)) for x in (tokens, integers)
    )
    assert found.dtype == expected.dtype and found.shape == expected.shape
    values = found.values if isinstance(found, LoDTensor) else found
    assert values.tolist() == (expected.values if isinstance(expected, LoDTensor) else expected).tolist()
    definition = lodkit.OPS[name].definition(*before, *[tokens] * count, **attrs)
    assert definition.shape == expected.shape


WIDE = np.array([2**64 - 1, 2**63, 3], np.uint64)


@pytest.mark.parametrize("tokens", [[2**64 - 1, 3], WIDE, WIDE.astype(">u8"), [2**64 - 1, 3, 3]])
def test_hashed_tokens_above_int64(tokens, place):
    x = LoDTensor(np.array([2**64 - 1, 7, 2**63 - 1, 3], np.uint64), [[1, 2, 1]])
    out = place.home(lodkit.sequence_erase(place.to(x), tokens=tokens))
    assert (out.to_list(), out.dtype) == ([[], [7, 2**63 - 1], []], np.uint64)
    assert lodkit.sequence_erase.definition(x, tokens=tokens).equals(out)
    for call in (lodkit.sequence_contains, lodkit.sequence_contains.definition):
        assert call(place.to(x) if call is lodkit.sequence_contains else x, tokens=tokens).tolist() == [
            True,
            False,
            True,
        ]
    signed = x.with_values(np.array([-1, 7, 2**63 - 1, 3]))
    with pytest.raises(lodkit.RowIndexError, match=r"tokens\[0\] = 18446744073709551615 is above 2\^63 - 1"):
        lodkit.sequence_erase(place.to(signed), tokens=tokens)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.bool_])
def test_large_tokens_beside_negative_ones_are_named(dtype):
    x = LoDTensor(np.array([1, 0, 1]).astype(dtype), [[3]])
    for call in (lodkit.sequence_erase, lodkit.sequence_contains):
        with pytest.raises(lodkit.RowIndexError, match=r"tokens\[1\] = 9223372036854775808 is above 2\^63 - 1"):
            call(x, tokens=[-1, 2**63])
