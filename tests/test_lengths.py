"""The largest of every segment, and lengths cut into parts: ties, NaN, many, wrong inputs."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit

VALUES, LENGTHS = np.array([1.0, 3.0, 2.0, 3.0, 5.0]), np.array([4, 0, 1])


def test_ties_first_and_nan_above_all():
    top, indices = lodkit.lengths_top_k(np.array([2, np.nan, 7, np.nan, 7, np.inf]), [6], k=6)
    assert indices.tolist() == [[1, 3, 5, 2, 4, 0]]
    np.testing.assert_array_equal(top, [[np.nan, np.nan, np.inf, 7, 7, 2]])


@pytest.mark.parametrize("k", [1, 7, 200])
@pytest.mark.parametrize("order", ["random", "ascending", "descending", "equal"])
def test_any_k_and_order(k, order):
    values = np.random.default_rng(0).normal(size=120).astype(np.float32)
    values = {"random": values, "ascending": np.sort(values), "descending": -np.sort(values), "equal": 0 * values}[
        order
    ]
    top, indices = lodkit.lengths_top_k(values, [20, 100], k=k)
    for s, segment in enumerate((values[:20], values[20:])):
        best = np.argsort(-segment, kind="stable")[:k]
        np.testing.assert_array_equal(indices[s, : len(best)], best)
        np.testing.assert_array_equal(top[s, : len(best)], segment[best])
        assert (indices[s, len(best) :] == -1).all() and (top[s, len(best) :] == 0).all()


def test_gradient_through_the_tape():
    values = lodkit.parameter(VALUES)
    with lodkit.Tape() as tape:
        top, indices = lodkit.lengths_top_k(values, LENGTHS, k=2)
    assert tape.gradient(top, [values])[0].tolist() == [0, 1, 0, 1, 1]
    assert tape.gradient(indices, [values], unconnected="none") == [None]
    with lodkit.Tape() as tape:
        top, _ = lodkit.caffe2.LengthsTopK(values, LENGTHS.astype(np.int32), k=1)
    assert tape.gradient(top, [values])[0].tolist() == [0, 1, 0, 0, 1]


GRAD = np.ones((3, 2))
WRONG = [
    ("lengths_top_k", (VALUES, [4, 3]), {"k": 1}, lodkit.LoDError, "lengths add up to 7, but the data has 5 rows"),
    ("lengths_top_k", (VALUES, [6, -1]), {"k": 1}, lodkit.LoDError, r"lengths\[1\] = -1 is negative"),
    ("lengths_top_k", (VALUES, [5.0]), {"k": 1}, lodkit.DTypeError, "lengths must be integers"),
    ("lengths_top_k", (VALUES[:, None], [5]), {"k": 1}, lodkit.ShapeMismatchError, r"values have shape \(5, 1\)"),
    ("lengths_top_k", (VALUES * 1j, [5]), {"k": 1}, lodkit.DTypeError, "lengths_top_k takes floats.* not complex128"),
    ("lengths_top_k", (VALUES, [5]), {"k": 0}, ValueError, "k must be at least 1, got 0"),
    ("lengths_top_k", (VALUES, [5]), {}, TypeError, "needs the attribute k"),
    (
        "lengths_top_k_grad",
        (VALUES, LENGTHS, [[0, 4], [-1, -1], [0, -1]], GRAD),
        {},
        lodkit.RowIndexError,
        r"indices\[0, 1\] = 4 is outside \[-1, 4\) \(segment 0 has 4 rows\)",
    ),
    ("lengths_top_k_grad", (VALUES, LENGTHS, [[0, 1]], GRAD), {}, lodkit.LoDError, "a row for each of the 3 segments"),
    ("lengths_split", ([3, -2],), {"n_split": 2}, lodkit.LoDError, r"lengths\[1\] = -2 is negative"),
    ("lengths_split", ([3],), {"n_split": 0}, ValueError, "n_split must be at least 1, got 0"),
    ("lengths_split", ([[3]],), {"n_split": 2}, lodkit.LoDError, "lengths must be one-dimensional"),
    ("lengths_split", ([3.0],), {"n_split": 2}, lodkit.DTypeError, "lengths must be integers"),
]


@pytest.mark.parametrize(("name", "inputs", "attrs", "error", "text"), WRONG)
def test_wrong_inputs(name, inputs, attrs, error, text):
    with pytest.raises(error, match=text):
        lodkit.OPS[name](*inputs, **attrs)


def test_published_split_takes_its_parts_from_the_input_first():
    lengths = np.array([5, 1], np.int32)
    expected = [2, 2, 1, 1, 0, 0]
    assert lodkit.caffe2.LengthsSplit(lengths, n_split=3).tolist() == expected
    assert lodkit.caffe2.LengthsSplit(lengths, np.array([3], np.int32)).tolist() == expected
    assert lodkit.caffe2.LengthsSplit(lengths, np.array([3]), n_split=2).tolist() == expected
    with pytest.raises(TypeError, match="as an argument, or as a second input, which has precedence"):
        lodkit.caffe2.LengthsSplit(lengths)


def test_published_top_k_reads_nothing_past_the_end():
    with pytest.raises(lodkit.LoDError, match="lengths add up to 9, but the data has 5 rows"):
        lodkit.caffe2.LengthsTopK(VALUES.astype(np.float32), np.array([4, 5], np.int32), k=1)
