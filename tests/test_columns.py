"""Arrays side by side."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import DTypeError, RowIndexError, ShapeMismatchError

ROWS = np.ones((2, 3))


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: lodkit.concat_columns(ROWS, ROWS[:1]), ShapeMismatchError, "input 1 has 1 rows, input 0 2"),
        (lambda: lodkit.concat_columns(ROWS[None]), ShapeMismatchError, r"give \(rows, width\)"),
        (lambda: lodkit.concat_columns(ROWS, ROWS.astype(np.float32)), DTypeError, "input 1 is float32"),
        (lambda: lodkit.concat_columns_grad(ROWS, ROWS[:, :2]), ShapeMismatchError, r"grad has shape \(2, 3\)"),
        (lambda: lodkit.concat_columns_grad(ROWS), TypeError, "takes at least one input"),
        (lambda: lodkit.concat_columns_grad(ROWS, ROWS.astype(int)), DTypeError, "concat_columns takes float"),
        (
            lambda: lodkit.slice_columns(ROWS, ranges=[(0, 1), (1, 4)]),
            RowIndexError,
            r"ranges\[1\] = \(1, 4\) is outside",
        ),
        (
            lambda: lodkit.slice_columns(ROWS, ranges=[(-1, 1)]),
            RowIndexError,
            r"ranges\[0\] = \(-1, 1\).* the 3 columns",
        ),
        (lambda: lodkit.slice_columns(ROWS, ranges=[(2, 1)]), RowIndexError, "0 <= start <= stop"),
        (lambda: lodkit.slice_columns(ROWS, ranges=[1, 2]), TypeError, r"list of \(start, stop\)"),
        (lambda: lodkit.slice_columns(ROWS, ranges=[(0, 1.5)]), TypeError, r"list of \(start, stop\)"),
        (lambda: lodkit.slice_columns(np.array(1.0), ranges=[]), ShapeMismatchError, "x has no dimension"),
        (lambda: lodkit.slice_columns_grad(ROWS, ROWS, ranges=[(0, 2)]), ShapeMismatchError, r"the result \(2, 2\)"),
    ],
)
def test_wrong_inputs(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_gradients_are_separate_memory():
    x, y = map(lodkit.parameter, (np.ones((2, 1)), np.ones(2)))
    with lodkit.Tape() as tape:
        out = lodkit.concat_columns(x, y, out=np.empty((2, 2)))
    by_x, by_y = tape.gradient(out, [x, y], output_gradients=np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert by_x.tolist() == [[1.0], [3.0]] and by_y.tolist() == [2.0, 4.0]
    assert not np.may_share_memory(by_x, by_y)


def test_ranges_of_columns_keep_the_structure(place):
    x = lodkit.LoDTensor(np.arange(12.0).reshape(3, 4), [[1, 0, 2]])
    on_device = place.to(x)
    with lodkit.Tape() as tape:
        out = lodkit.slice_columns(on_device, ranges=[(2, 4), (1, 3)])
    home = place.home(out)
    assert home.values.tolist() == [[2, 3, 1, 2], [6, 7, 5, 6], [10, 11, 9, 10]] and home.same_lod(x)
    gradient = place.home(tape.gradient(out, [on_device])[0])
    assert gradient.values.tolist() == [[0, 1, 2, 1]] * 3 and gradient.same_lod(x)
