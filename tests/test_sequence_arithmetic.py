"""One value a sequence, and position encodings: worked examples, levels, wrong inputs."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor

X = LoDTensor(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 9.0]]), [[2, 0, 1]])


def test_rows_minus_their_mean():
    centred = lodkit.per_sequence(X, lodkit.sequence_pool(X, pool="mean"), op="sub")
    assert centred.values.tolist() == [[-1, -1], [1, 1], [0, 0]]
    deep = LoDTensor(X.values, [[1, 2], [2, 0, 1]])
    pooled = lodkit.sequence_pool(deep, pool="mean")
    assert isinstance(pooled, LoDTensor)
    assert lodkit.per_sequence(deep, pooled, op="sub").values.tolist() == centred.values.tolist()
    assert lodkit.per_sequence(deep, [10.0, 100.0], level=0).values[:, 0].tolist() == [11, 13, 105]


def test_as_many_sequences_as_elements():
    """(2,) beside items of two elements is one number a sequence, as the documentation says; (2, 2) an item each."""
    x = LoDTensor(np.zeros((3, 2)), [[2, 1]])
    assert lodkit.per_sequence(x, np.array([1.0, 2.0])).values.tolist() == [[1, 1], [1, 1], [2, 2]]
    assert lodkit.per_sequence(x, np.array([[1.0, 2.0], [3.0, 4.0]])).values.tolist() == [[1, 2], [1, 2], [3, 4]]


@pytest.mark.parametrize("shape", [(2,), (2, 16)])
@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
def test_values_that_are_no_halves(shape, dtype, place):
    """70,000 and 2,049 are no float16; its rows compute with them in float32."""
    x = LoDTensor(np.tile(np.array([[60000], [2048]], np.float16), (1, 16)), [[1, 1]])
    values = np.repeat(np.array([70000, 2049], dtype), np.prod(shape) // 2).reshape(shape)
    quotient, rest = (place.home(lodkit.per_sequence(place.to(x), place.to(values), op=op)) for op in ("div", "sub"))
    assert quotient.values[0, 0] == np.float16(60000 / 70000)
    assert rest.values[:, 0].tolist() == [-10000, -1]


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div"])
@pytest.mark.parametrize("shape", [(3, 2), (3,)])
def test_gradients_of_both(op, shape):
    values = lodkit.parameter(np.arange(1.0, 1 + np.prod(shape)).reshape(shape))
    grad_output = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    with lodkit.Tape() as tape:
        y = lodkit.per_sequence(X, values, op=op)
    by_x, by_values = tape.gradient(y, [X, values], output_gradients=grad_output)
    factor = np.repeat(values.reshape(3, -1) * np.ones(2), [2, 0, 1], axis=0)
    one = np.ones((3, 2))
    expected = {"add": one, "sub": one, "mul": factor, "div": 1 / factor}[op] * grad_output
    np.testing.assert_allclose(by_x.values, expected)
    terms = {
        "add": grad_output,
        "sub": -grad_output,
        "mul": grad_output * X.values,
        "div": -grad_output * X.values / factor**2,
    }[op]
    sums = np.stack([terms[:2].sum(0), np.zeros(2), terms[2]])
    np.testing.assert_allclose(by_values, sums if len(shape) == 2 else sums.sum(1))


def test_integers_have_no_gradient(place):
    x, counts = place.to(X), place.to(np.array([2, 1, 3]))
    with lodkit.Tape() as tape:
        y = lodkit.per_sequence(x, counts, op="div")
    (by_x,) = tape.gradient(y, [x])
    assert place.home(by_x).values.tolist() == [[0.5, 0.5], [0.5, 0.5], [1 / 3, 1 / 3]]
    if isinstance(counts, np.ndarray):
        with pytest.raises(lodkit.DTypeError, match=r"sources\[1\], int64 of shape \(3,\), has no gradient"):
            tape.gradient(y, [x, counts])
    else:
        assert tape.gradient(y, [x, counts], unconnected="none")[1] is None
    for call in (lodkit.run, lambda name, *inputs: lodkit.OPS[name].definition(*map(place.home, inputs))):
        with pytest.raises(
            lodkit.DTypeError, match="the gradient takes float16, bfloat16, float32 or float64, not int64"
        ):
            call("per_sequence_values_grad", x, counts, place.to(X.values))


def test_per_sequence_refuses():
    for shape in ((2,), (2, 2), (3, 1), (3, 2, 1), ()):
        with pytest.raises(lodkit.ShapeMismatchError, match=r"one per sequence of level -1 is \(3,\) or \(3, 2\)"):
            lodkit.per_sequence(X, np.ones(shape))
    whole = LoDTensor(np.arange(3), [[2, 1]])
    with pytest.raises(lodkit.DTypeError, match="div of int64 rows"):
        lodkit.per_sequence(whole, np.array([1, 2]), op="div")
    with pytest.raises(lodkit.DTypeError, match=r"add of int64 rows by float64.*astype"):
        lodkit.per_sequence(whole, np.ones(2))
    deep = LoDTensor(X.values, [[1, 2], [2, 0, 1]])
    with pytest.raises(lodkit.LoDMismatchError, match="first difference at sequence 0: 2 vs 1"):
        lodkit.per_sequence(deep, LoDTensor(np.ones(3), [[2, 1]]))
    with pytest.raises(lodkit.LoDMismatchError, match="there are none"):
        lodkit.per_sequence(X, LoDTensor(np.ones(3), [[2, 1]]))
    with pytest.raises(ValueError, match="op must be one of"):
        lodkit.per_sequence(X, np.ones(3), op="pow")
    assert lodkit.per_sequence(whole, np.array([10, 20])).values.tolist() == [10, 11, 22]


def test_positions_as_paddle_has_them():
    x = LoDTensor(np.arange(1, 13, dtype=np.float32).reshape(3, 4), [[2, 1]])
    expected = [[1, 2, 4, 5], [5.841471195, 6.0001, 7.540302277, 9], [9, 10, 12, 13]]
    np.testing.assert_allclose(lodkit.add_position_encoding(x).values, expected, rtol=1e-6)
    halved = lodkit.add_position_encoding(x, alpha=0.5, beta=0.0)
    np.testing.assert_array_equal(halved.values, x.values / 2)
    with lodkit.Tape() as tape:
        y = lodkit.add_position_encoding(x, alpha=0.5)
    np.testing.assert_array_equal(tape.gradient(y, [x])[0].values, np.full((3, 4), 0.5))


def test_positions_in_a_dense_batch():
    batch = lodkit.parameter(np.zeros((2, 3, 4)))
    out = lodkit.add_position_encoding(batch)
    np.testing.assert_array_equal(out[0], out[1])
    ragged = lodkit.add_position_encoding(LoDTensor(np.zeros((3, 4)), [[3]]))
    np.testing.assert_array_equal(out[0], ragged.values)
    with lodkit.Tape() as tape:
        y = lodkit.add_position_encoding(batch, alpha=3.0)
    assert (tape.gradient(y, [batch])[0] == 3).all()
    given = np.empty((2, 3, 4))
    assert lodkit.add_position_encoding(batch, out=given) is not None and (given == out).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_far_positions_are_exact(dtype):
    """The angle of position 4,000 would be 1e-4 off in float32."""
    x = LoDTensor(np.zeros((4001, 2 * 3), dtype), [[4001]])
    powers = 4000 / 10000 ** (np.arange(3) / 2)
    expected = np.concatenate([np.sin(powers), np.cos(powers)])
    rtol = 1e-6 if dtype == np.float32 else 1e-3
    np.testing.assert_allclose(lodkit.add_position_encoding(x).values[4000], expected, rtol=rtol)


def test_positions_refuse():
    for shape, text in (((3, 3), "even"), ((3,), "no two halves")):
        with pytest.raises(lodkit.ShapeMismatchError, match=text):
            lodkit.add_position_encoding(LoDTensor(np.ones(shape), [[3]]))
    with pytest.raises(lodkit.ShapeMismatchError, match="a dense batch is"):
        lodkit.add_position_encoding(np.ones((3, 2)))
    with pytest.raises(lodkit.DTypeError, match="add_position_encoding takes"):
        lodkit.add_position_encoding(LoDTensor(np.ones((3, 2), np.int64), [[3]]))
