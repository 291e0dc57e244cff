"""Arrays side by side."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import DTypeError, ShapeMismatchError

ROWS = np.ones((2, 3))


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: lodkit.concat_columns(ROWS, ROWS[:1]), ShapeMismatchError, "input 1 has 1 rows, input 0 2"),
        (lambda: lodkit.concat_columns(ROWS[None]), ShapeMismatchError, r"give \(rows, width\)"),
        (lambda: lodkit.concat_columns(ROWS, ROWS.astype(np.float32)), DTypeError, "input 1 is float32"),
        (lambda: lodkit.concat_columns_grad(ROWS, ROWS[:, :2]), ShapeMismatchError, r"grad has shape \(2, 3\)"),
        (lambda: lodkit.concat_columns_grad(ROWS, ROWS.astype(int)), DTypeError, "concat_columns takes float"),
    ],
)
def test_wrong_inputs(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_gradients_are_separate_memory():
    x, y = np.ones((2, 1)), np.ones(2)
    with lodkit.Tape() as tape:
        out = lodkit.concat_columns(x, y, out=np.empty((2, 2)))
    by_x, by_y = tape.gradient(out, [x, y], output_gradients=np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert by_x.tolist() == [[1.0], [3.0]] and by_y.tolist() == [2.0, 4.0]
    assert not np.may_share_memory(by_x, by_y)
