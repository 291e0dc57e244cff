"""Conditional random fields: all ways counted one by one, large and forbidding scores, long sequences, wrong inputs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor, jit

loss, backward, decode = lodkit.linear_chain_crf, lodkit.linear_chain_crf_grad, lodkit.crf_decoding


def draw(lengths, tags, dtype=np.float64, emissions=1.0, transitions=1.0, seed=0):
    """Emission, transition, label and a gradient, uniform within bounds."""
    rng = np.random.default_rng(seed)
    emission = LoDTensor(rng.uniform(-emissions, emissions, (sum(lengths), tags)).astype(dtype), [lengths])
    transition = rng.uniform(-transitions, transitions, (tags + 2, tags)).astype(dtype)
    label = emission.with_values(rng.integers(0, tags, sum(lengths)))
    return emission, transition, label, rng.normal(size=len(lengths)).astype(dtype)


def score(emission, transition, path):
    steps = sum(transition[2 + i, j] for i, j in itertools.pairwise(path))
    return transition[0, path[0]] + transition[1, path[-1]] + steps + emission[range(len(path)), path].sum()


@pytest.mark.parametrize("tags", [1, 2, 3])
def test_every_way_is_counted(tags, place):
    emission, transition, label, _ = draw([4, 1, 3], tags)
    losses = place.home(loss(place.to(emission), place.to(transition), place.to(label)))
    paths = place.home(decode(place.to(emission), place.to(transition)))
    for s in range(3):
        e, y = emission[s], label[s]
        ways = list(itertools.product(range(tags), repeat=len(e)))
        scores = np.array([score(e, transition, way) for way in ways])
        np.testing.assert_allclose(losses[s], np.log(np.exp(scores).sum()) - score(e, transition, y), atol=1e-12)
        assert tuple(paths[s]) == ways[np.argmax(scores)]


def check(emission, transition, label, grad, rtol, atol=0.0):
    """Hold losses, gradients and paths to the definition."""
    wide = emission.with_values(emission.values.astype(np.float64)), transition.astype(np.float64), label
    np.testing.assert_allclose(loss(emission, transition, label), loss.definition(*wide), rtol)
    expected = backward.definition(*wide, grad)
    for got, e in zip(backward(emission, transition, label, grad), expected, strict=True):
        np.testing.assert_allclose(got, e, rtol, atol)
    paths = decode(emission, transition)
    np.testing.assert_array_equal(paths.values, decode.definition(emission, transition).values)


@pytest.mark.parametrize("tags", [2, 8, 9, 20])
@pytest.mark.parametrize("spread", [1, 100, 300, 1000, 3000])
def test_scores_of_any_size(tags, spread):
    """Sums of scaled exponentials, and of logarithms where those underflow."""
    check(*draw([30, 0, 7, 1], tags, np.float32, spread, spread / 2, seed=tags), 1e-5, 1e-7)


def test_what_a_step_adds_to_every_way_changes_no_gradient():
    """Nor does one that is so large that its sums drown all others; another leaves one way."""
    emission, transition, label, grad = draw([4, 3, 2], 3)
    emission.values[1] = 2
    expected = backward(emission, transition, label, grad)
    emission.values[1] = 1e30
    for function in (backward, backward.definition):
        for got, e in zip(function(emission, transition, label, grad), expected, strict=True):
            np.testing.assert_allclose(got, e, 1e-12, 1e-14)
    emission.values[5, 1] = 1e30
    found = (function(emission, transition, label, grad) for function in (backward, backward.definition))
    for got, e in zip(*found, strict=True):
        np.testing.assert_allclose(got, e, 1e-12, 1e-14)


def test_long_sequences():
    check(*draw([5000, 3], 5, np.float32, 100, 50), 1e-5, 1e-7)
    check(*draw([5000], 3, np.float64, 1, 1), 1e-8, 1e-9)  # the definition itself loses digits on the way


@pytest.mark.parametrize("number", [-1e4, -np.inf])
def test_forbidden_tags(number, place):
    """Tag 3 has no way to it but at first, tag 4 none from it but at last, 0 does not come first, 2 not after 1."""
    emission, transition, label, grad = draw([9, 4], 5)
    transition[2:, 3] = transition[2 + 4] = transition[0, 0] = transition[2 + 1, 2] = number
    label = label.with_values(np.tile([1, 0, 0, 2, 1], 3)[:13])
    label.values[9] = 2
    inputs = [place.to(x) for x in (emission, transition, label)]
    losses, gradients = place.home(loss(*inputs)), place.home(backward(*inputs, place.to(grad)))
    np.testing.assert_allclose(losses, loss.definition(emission, transition, label), 1e-12)
    for got, expected in zip(gradients, backward.definition(emission, transition, label, grad), strict=True):
        np.testing.assert_allclose(got, expected, 1e-10, 1e-12)
    assert np.isfinite(losses).all() and not gradients[0][1:9, 3].any()
    assert not np.isin(place.home(decode(*inputs[:2])).values, [3]).all()


def test_labels_on_a_forbidden_way_have_an_infinite_loss(place):
    emission, transition, label, grad = draw([3, 2], 2)
    transition[2, 1] = -np.inf
    label.values[:] = [0, 0, 1, 0, 0]
    inputs = [place.to(x) for x in (emission, transition, label)]
    losses = place.home(loss(*inputs))
    assert losses[0] == np.inf and np.isfinite(losses[1])
    assert all(np.isfinite(x).all() for x in place.home(backward(*inputs, place.to(grad))))


def test_bits_do_not_depend_on_threads(monkeypatch):
    """The gradient by transitions is summed over parts that only the lengths choose."""
    emission, transition, label, grad = draw([7, 0, 300, 45, 1] * 6, 5, np.float32)
    found = []
    for parallel_from, chunk_rows in ((1 << 60, 4096), (0, 64)):
        monkeypatch.setattr(jit.settings, "parallel_from", parallel_from)
        monkeypatch.setattr(jit.settings, "chunk_rows", chunk_rows)
        path = decode(emission, transition).values
        found.append([loss(emission, transition, label), *backward(emission, transition, label, grad), path])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_ties_are_the_first(place):
    emission = LoDTensor(np.zeros((4, 3)), [[3, 1]])
    path = place.home(decode(place.to(emission), place.to(np.zeros((5, 3)))))
    assert path.values.tolist() == [0, 0, 0, 0]


def test_nan_stays_in_its_sequence(place):
    emission, transition, label, grad = draw([3, 2, 2], 3)
    emission.values[4, 1] = np.nan
    inputs = [place.to(x) for x in (emission, transition, label)]
    assert np.isnan(place.home(loss(*inputs))).tolist() == [False, True, False]
    by_emission, _ = place.home(backward(*inputs, place.to(grad)))
    assert np.isnan(by_emission).any(axis=1).tolist() == [False, False, False, True, True, False, False]
    expected = decode.definition(emission, transition).values
    np.testing.assert_array_equal(place.home(decode(*inputs[:2])).values, expected)


def test_padded_rows_are_those_of_sequences():
    """Paddle's other form: padded rows, and the lengths."""
    emission, transition, label, _ = draw([3, 0, 2], 3)
    transition, padded = lodkit.parameter(transition), lodkit.parameter(emission.to_padded(max_length=4))
    labels = label.to_padded(max_length=4)[..., None]
    inputs = {"Emission": padded, "Transition": transition, "Label": labels, "Length": np.array([[3], [0], [2]])}
    with lodkit.Tape() as tape:
        losses = lodkit.paddle.run_op("linear_chain_crf", inputs)["LogLikelihood"]
    np.testing.assert_array_equal(losses[:, 0], loss(emission, transition, label))
    by_emission, by_transition = tape.gradient(losses, [padded, transition])
    expected = backward(emission, transition, label, np.ones(3))
    np.testing.assert_array_equal(by_emission, emission.with_values(expected[0]).to_padded(max_length=4))
    np.testing.assert_array_equal(by_transition, expected[1])
    for names, equal in (("Emission Transition Length", ()), ("Emission Transition Length Label", (label,))):
        path = lodkit.paddle.run_op("crf_decoding", {name: inputs[name] for name in names.split()})["ViterbiPath"]
        np.testing.assert_array_equal(path, decode(emission, transition, *equal).to_padded(max_length=4))


def test_wrong_inputs(place):
    emission, transition, label, grad = map(place.to, draw([3, 2], 3))
    for operator in (loss, decode):
        bad = place.to(LoDTensor(np.array([0, 2, 1, 3, 0]), [[3, 2]]))
        with pytest.raises(lodkit.RowIndexError, match=r"label\[3\] = 3 is outside \[0, 3\)"):
            operator(emission, transition, bad)
        with pytest.raises(lodkit.LoDMismatchError, match=r"label has lod \[\[0, 2, 5\]\]"):
            operator(emission, transition, place.to(LoDTensor(np.zeros(5, np.int64), [[2, 3]])))
        with pytest.raises(lodkit.ShapeMismatchError, match=r"label has shape \(5, 1\)"):
            operator(emission, transition, place.to(LoDTensor(np.zeros((5, 1), np.int64), [[3, 2]])))
        with pytest.raises(
            lodkit.ShapeMismatchError, match=r"transition has shape \(3, 3\), for 3 tags it is \(5, 3\)"
        ):
            operator(emission, transition[:3], label)
        with pytest.raises(lodkit.DTypeError, match="the transition is float32, the input float64"):
            operator(emission, place.to(np.zeros((5, 3), np.float32)), label)
        with pytest.raises(lodkit.ShapeMismatchError, match="give a row of scores per step"):
            operator(place.to(LoDTensor(np.zeros((5, 0)), [[3, 2]])), place.to(np.zeros((2, 0))), label)
    with pytest.raises(lodkit.ShapeMismatchError, match="grad has shape"):
        backward(emission, transition, label, grad[:1])
