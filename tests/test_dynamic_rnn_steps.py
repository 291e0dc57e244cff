"""dynamic_rnn: what a step must return, and what it must be given."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor

X, FIRST = LoDTensor(np.arange(12.0).reshape(6, 2), [[2, 1, 3]]), np.zeros((3, 2))


def halving(inputs, memories, static):
    """h = x + h / 2."""
    state = inputs[0] + 0.5 * memories[0]
    return (state,), (state,)


def returning(make):
    """A step that goes wrong at time step 1."""
    seen = []

    def step(inputs, memories, static):
        seen.append(1)
        return make(inputs[0], memories[0]) if len(seen) == 2 else ((inputs[0],), (inputs[0],))

    return step


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda x, h: x, TypeError, r"step must return \(memories, outputs\), two tuples, at time step 1 .* an array"),
        (lambda x, h: (x, (x,)), TypeError, r"returned \(an array, \(an array\)\); a tuple of one is \(x,\)"),
        (lambda x, h: ((x,), [x]), TypeError, r"\(\(an array\), a list\)"),
        (lambda x, h: ((), (x,)), TypeError, "returned 0 memories at time step 1, the step got 1"),
        (lambda x, h: ((x,), (x, x)), TypeError, "returned 2 outputs at time step 1, 1 at the step before"),
        (lambda x, h: ((x[:, :1],), (x,)), lodkit.ShapeMismatchError, r"memories\[0\] has items of shape \(1,\), befo"),
        (lambda x, h: ((x[0],), (x,)), lodkit.ShapeMismatchError, r"memories\[0\] has items of shape \(\), before"),
        (lambda x, h: ((x.astype("f4"),), (x,)), lodkit.DTypeError, r"memories\[0\] is float32, before float64"),
        (lambda x, h: ((x,), (x.astype(int),)), lodkit.DTypeError, r"step 1 outputs\[0\] is int64, before float64"),
        (lambda x, h: ((x[:1],), (x,)), lodkit.LoDMismatchError, r"memories\[0\] with 1 rows, but 2 sequences run"),
        (lambda x, h: ((x,), (x[[0, 1, 1]],)), lodkit.LoDMismatchError, r"outputs\[0\] with 3 rows, but 2 sequences"),
        (lambda x, h: ((x,), (LoDTensor(x, [[1, 1]]),)), TypeError, r"outputs\[0\] must be an array, as before, got a"),
        (lambda x, h: ((x,), (1.0,)), TypeError, r"outputs\[0\] must be an array or a LoDTensor, got a float"),
        (lambda x, h: ((x,), (None,)), TypeError, r"got a NoneType"),
    ],
)
def test_what_a_step_must_return(make, error, text):
    with pytest.raises(error, match=text):
        lodkit.dynamic_rnn(returning(make), X, FIRST)


@pytest.mark.parametrize("output", [1.0, None, "text", [1.0]])
def test_what_a_first_step_must_return(output):
    with pytest.raises(TypeError, match=r"at time step 0 outputs\[0\] must be an array or a LoDTensor, got a"):
        lodkit.dynamic_rnn(lambda i, m, s: (m, (output,)), X, FIRST)
    with pytest.raises(lodkit.LoDMismatchError, match="no dimension"):
        lodkit.dynamic_rnn(lambda i, m, s: (m, (np.array(2.0),)), X, FIRST)


def test_what_a_step_raises_names_the_time_step():
    def broken(x, h):
        raise ZeroDivisionError("by hand")

    with pytest.raises(ZeroDivisionError, match="by hand") as caught:
        lodkit.dynamic_rnn(returning(broken), X, FIRST)
    assert caught.value.__notes__ == ["in time step 1 of dynamic_rnn, 2 sequences run"]


@pytest.mark.parametrize(
    ("inputs", "memories", "options", "error", "text"),
    [
        (X.values, FIRST, {}, TypeError, r"inputs\[0\] must be a LoDTensor, got ndarray"),
        ((), FIRST, {}, TypeError, "needs an input"),
        (LoDTensor(X.values), FIRST, {}, lodkit.LoDLevelError, "level 0 does not exist"),
        (X, FIRST, {"level": 1}, lodkit.LoDLevelError, "level 1 does not exist"),
        (
            (X, LoDTensor(X.values, [[1, 2, 3]])),
            FIRST,
            {},
            lodkit.LoDMismatchError,
            r"inputs\[0\] against inputs\[1\].*sequence 0: 2 vs 1",
        ),
        (LoDTensor(None, [[2, 1, 3]]), FIRST, {}, lodkit.LoDError, "no values"),
        (X, FIRST[:2], {}, lodkit.LoDMismatchError, r"memories\[0\] has 2 rows, the inputs have 3 sequences"),
        (X, 0.0, {}, lodkit.LoDMismatchError, r"memories\[0\] has no rows"),
        (X, LoDTensor(FIRST, [[1, 1, 1]]), {}, TypeError, r"memories\[0\] is a LoDTensor"),
        (X, FIRST, {"static": (FIRST, FIRST[:1])}, lodkit.LoDMismatchError, r"static\[1\] has 1 rows"),
        (X, FIRST, {"static": LoDTensor(FIRST, [[3]])}, lodkit.LoDMismatchError, r"static\[0\] has 1 sequences"),
        (X, [FIRST], {}, TypeError, "memories is a list of arrays; pass a tuple"),
        ([X], FIRST, {}, TypeError, r"inputs\[0\] must be a LoDTensor, got list"),
        (X, "text", {}, TypeError, r"memories\[0\] must be an array, got str; pass "),
    ],
)
def test_what_it_must_be_given(inputs, memories, options, error, text):
    with pytest.raises(error, match=text):
        lodkit.dynamic_rnn(halving, inputs, memories, **options)


def test_a_tape_on_a_gpu_is_refused(place):
    x = place.to(X)
    with lodkit.Tape():
        if x.device == "cpu":
            lodkit.dynamic_rnn(halving, x, FIRST)
        else:
            with pytest.raises(lodkit.LodkitError, match="dynamic_rnn on a GPU"):
                lodkit.dynamic_rnn(halving, x, place.to(FIRST))
