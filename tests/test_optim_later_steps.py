"""Steps after the first, whose gradients are compared with one that was found good."""

from __future__ import annotations

import collections.abc

import numpy as np
import pytest
from test_optim import HEIGHT, WIDTH, table

import lodkit
from lodkit import SelectedRows
from lodkit.optim import Adam


def _rows(value=None, height=HEIGHT):
    value = np.ones((2, WIDTH), np.float32) if value is None else value
    return SelectedRows([1, 3], value, height)


def _resized(rows):
    rows._value.resize((5, WIDTH), refcheck=False)
    return rows


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda p, s: _rows(height=HEIGHT + 1), lodkit.ShapeMismatchError, "q: the gradient has shape"),
        (lambda p, s: _rows(np.ones((2, WIDTH))), TypeError, "q: the gradient is float64"),
        (lambda p, s: np.ones((HEIGHT, WIDTH)), TypeError, "q: the gradient is float64"),
        (lambda p, s: _rows(p[:2]), lodkit.OutputError, "q: the gradient overlaps the parameter"),
        (lambda p, s: _resized(_rows()), lodkit.LoDError, "the gradient of q lists 2 rows, its value has 5 now"),
        (lambda p, s: p.setflags(write=False), lodkit.OutputError, "q is read-only"),
        (lambda p, s: s["moment1"].setflags(write=False), lodkit.OutputError, "a state of q is read-only"),
        (lambda p, s: s["moment1"].resize((2, 3), refcheck=False), lodkit.ShapeMismatchError, "q: its state moment1"),
        (lambda p, s: [[1.0]], TypeError, "q: the gradient must be an array or SelectedRows, got list"),
    ],
)
def test_later_gradients_are_checked_like_the_first(change, error, message):
    """After steps with gradients that were found good, one that is not changes no parameter before it either."""
    params = {name: table(dtype=np.float32) for name in "pq"}
    optimizer = Adam(params, lr=0.1, lazy=True)
    for _ in range(3):
        optimizer.step({"p": _rows(), "q": _rows()})
    before, state = params["p"].copy(), optimizer._states["q"]
    bad = change(params["q"], state)
    with pytest.raises(error, match=message):
        optimizer.step({"p": _rows(), "q": _rows() if bad is None else bad})
    np.testing.assert_array_equal(params["p"], before)
    assert optimizer.iteration == state["iteration"] == 3


def test_gradients_that_are_made_when_they_are_asked_for_are_taken_once():
    class Made(collections.abc.Mapping):
        asked = 0

        def __getitem__(self, name):
            self.asked += 1
            return _rows()

        def __iter__(self):
            return iter("p")

        def __len__(self):
            return 1

    grads, optimizer = Made(), Adam({"p": table(dtype=np.float32)}, lr=0.1, lazy=True)
    optimizer.step(grads)
    assert grads.asked == optimizer.iteration == 1
