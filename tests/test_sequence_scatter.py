"""Updates of rows by sequences: duplicates, sums, wrong inputs on both devices."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor

IDS = LoDTensor([0, 1, 1], [[1, 2]])


def scatter(place, x, ids, updates):
    return place.home(lodkit.sequence_scatter(*map(place.to, (x, ids, updates))))


def test_every_update_of_an_element_counts(place):
    x = np.zeros((2, 2))
    out = scatter(place, x, IDS, IDS.with_values(np.array([1.0, 2.0, 4.0])))
    assert out.tolist() == [[1, 0], [0, 6]]
    assert not x.any()


@pytest.mark.jit
def test_many_updates_of_one_element():
    n = 1 << 18
    ids = LoDTensor(np.zeros(n, np.int64), [[n]])
    out = lodkit.sequence_scatter(np.zeros((1, 1), np.float32), ids, ids.with_values(np.full(n, 0.1, np.float32)))
    np.testing.assert_allclose(out, n * float(np.float32(0.1)), rtol=1e-6)


def test_gradients_through_the_tape():
    """An update may be a row of one number, as Paddle has them."""
    x, updates = lodkit.parameter(np.zeros((2, 2))), IDS.with_values(np.ones((3, 1)))
    with lodkit.Tape() as tape:
        out = lodkit.sequence_scatter(x, IDS, updates)
    by_x, by_updates = tape.gradient(out, [x, updates], output_gradients=np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert by_x.tolist() == [[1, 2], [3, 4]]
    assert by_updates.values.tolist() == [[1], [4], [4]]


@pytest.mark.parametrize("bad", [-1, 2])
def test_ids_are_checked(place, bad):
    """Paddle writes anywhere: an id past the end is the next row's element."""
    ids = LoDTensor([0, bad, 1], [[1, 2]])
    x, updates = np.zeros((2, 2)), IDS.with_values(np.ones(3))
    with pytest.raises(lodkit.RowIndexError, match=rf"ids: {bad} at position 1 is outside \[0, 2\)"):
        scatter(place, x, ids, updates)
    with pytest.raises(lodkit.RowIndexError, match="position 1"):
        lodkit.sequence_scatter_grad(*map(place.to, (x, ids, updates, x)))


@pytest.mark.parametrize(
    ("x", "ids", "updates", "error", "message"),
    [
        (np.zeros((3, 2)), IDS, IDS.with_values(np.ones(3)), lodkit.LoDMismatchError, "x has 3 rows for 2 sequences"),
        (np.zeros(2), IDS, IDS.with_values(np.ones(3)), lodkit.ShapeMismatchError, r"\(sequences, n, \*item\)"),
        (np.zeros((2, 2)), IDS, LoDTensor(np.ones(3), [[2, 1]]), lodkit.LoDMismatchError, "updates against ids"),
        (np.zeros((2, 2, 2)), IDS, IDS.with_values(np.ones(3)), lodkit.ShapeMismatchError, "updates have items"),
        (np.zeros((2, 2)), IDS, IDS.with_values(np.ones(3, int)), lodkit.DTypeError, "updates is int64, x float64"),
        (np.zeros((2, 2)), IDS.with_values(np.zeros((3, 1), int)), IDS, lodkit.ShapeMismatchError, "pass one column"),
        (np.zeros((2, 2)), IDS.with_values(np.zeros(3)), IDS, lodkit.DTypeError, "ids|updates"),
    ],
)
def test_wrong_inputs(place, x, ids, updates, error, message):
    with pytest.raises(error, match=message):
        scatter(place, x, ids, updates)


def test_halves_are_rounded_once(place):
    ids = LoDTensor(np.array([0, 0]), [[2]])
    x, updates = np.full((1, 1), -60000, np.float16), ids.with_values(np.full(2, 60000, np.float16))
    assert scatter(place, x, ids, updates).tolist() == [[60000]]
