"""dynamic_rnn: a batch is its sequences, each run alone; gradients."""

from __future__ import annotations

import numpy as np
import pytest
from differences import differences
from hypothesis import given, settings
from hypothesis import strategies as st

import lodkit
from lodkit import LoDTensor

RNG = np.random.default_rng(0)
W, U, BIAS = RNG.normal(size=(3, 2)), RNG.normal(size=(2, 2)), RNG.normal(size=2)


def decay(factor):
    """h = x + factor * h."""

    def step(inputs, memories, static):
        state = inputs[0] + factor * memories[0]
        return (state,), (state,)

    return step


def cell(inputs, memories, static):
    """Two memories of different kinds, two outputs; rows of sub-sequences are summed."""
    x = inputs[0]
    x = lodkit.sequence_pool(x.drop_level(-1) if x.lod_level > 1 else x) if isinstance(x, LoDTensor) else x
    state = np.tanh(x @ W + memories[0] @ U + static[0])
    total = memories[1] + lodkit.sequence_pool(static[1]) * state.sum(axis=1)
    return (state, total), (state, total[:, None] * state)


def test_dynamic_rnn_of_paddle():
    x = LoDTensor(np.arange(1.0, 13).reshape(6, 2), [[2, 1, 3]])
    with lodkit.Tape() as tape:
        (outputs,), (final,) = lodkit.dynamic_rnn(decay(0.5), x, np.zeros((3, 2)))
        loss = (outputs * outputs).values.sum()
    assert outputs.lod() == x.lod()
    assert outputs.values.tolist() == [[1, 2], [3.5, 5], [5, 6], [7, 8], [12.5, 14], [17.25, 19]]
    assert final.tolist() == [[3.5, 5], [5, 6], [17.25, 19]]
    gradient = tape.gradient(loss, [x])[0].values.tolist()
    assert gradient == [[5.5, 9], [7, 10], [10, 12], [35.125, 39.5], [42.25, 47], [34.5, 38]]


def test_nested_dynamic_rnn_of_paddle():
    """h = sum(sentence) + 10 h over sentences; the sum is a recurrence over words."""
    x = LoDTensor(np.arange(1.0, 11), [[2, 1, 3], [1, 2, 1, 3, 1, 2]])

    def sentences(inputs, memories, static):
        _, (total,) = lodkit.dynamic_rnn(decay(1.0), inputs, np.zeros(len(inputs[0])))
        state = total + 10 * memories[0]
        return (state,), (state,)

    with lodkit.Tape() as tape:
        (outputs,), _ = lodkit.dynamic_rnn(sentences, x, np.zeros(3))
    assert outputs.to_list() == [[1, 15], [4], [18, 188, 1899]]
    assert tape.gradient(outputs, [x])[0].values.tolist() == [11, 1, 1, 1, 111, 111, 111, 11, 1, 1]


def folded(x):
    """h = part + h / 2 over the parts of every sequence, and so on down the levels."""

    def step(inputs, memories, static):
        part = folded(inputs[0]) if isinstance(inputs[0], LoDTensor) else inputs[0]
        return (part + memories[0] / 2,), ()

    _, (last,) = lodkit.dynamic_rnn(step, x, np.zeros(len(x)))
    return last


def fold(parts):
    total = 0.0
    for part in parts:
        total = (fold(part) if isinstance(part, list) else part) + total / 2
    return total


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.lists(st.floats(-9, 9), max_size=3), max_size=3), max_size=3))
def test_recurrences_nest(parts):
    """Paragraphs of sentences of words."""
    parts.append([[0.5, 2.0], [], [1.0]])
    x = LoDTensor.from_nested(parts)
    with lodkit.Tape() as tape:
        total = folded(x)
    np.testing.assert_allclose(total, [fold(part) for part in parts], atol=1e-12)
    (by_x,) = tape.gradient(total, [x])
    np.testing.assert_allclose((by_x * x).values.sum(), np.sum(total), atol=1e-12)  # it is linear


@st.composite
def batches(draw):
    """A batch of up to three levels, with empty sequences; a level; memories and static inputs that fit it."""
    lengths = [draw(st.lists(st.integers(0, 4), max_size=4))]
    for _ in range(draw(st.integers(0, 2))):
        count = sum(lengths[-1])
        lengths.append(draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)))
    level = draw(st.integers(0, len(lengths) - 1))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    x, count = LoDTensor(rng.normal(size=(sum(lengths[-1]), 3)), lengths), len(lengths[level])
    words = rng.integers(0, 3, count)
    static = rng.normal(size=(count, 2)), LoDTensor(rng.normal(size=words.sum()), [words])
    return x, level, (rng.normal(size=(count, 2)), rng.normal(size=count)), static


def alone(x, level, memories, static, reverse):
    """Each sequence of the level run alone, by a plain loop."""
    found, last = ([], []), ([], [])
    for s in range(len(x.lengths(level))):
        sequence = x.slice_in_level(level, s, s + 1)[0]
        steps = [sequence[t : t + 1] for t in range(len(sequence))]
        state = tuple(memory[s : s + 1] for memory in memories)
        made = []
        for part in steps[::-1] if reverse else steps:
            state, outputs = cell((part,), state, (static[0][s : s + 1], static[1][s : s + 1]))
            made.append(outputs)
        for i in range(2):
            found[i].extend(outputs[i] for outputs in (made[::-1] if reverse else made))
            last[i].append(state[i])
    return found, last


@settings(max_examples=60, deadline=None)
@given(batches(), st.booleans())
def test_a_batch_is_its_sequences_alone(batch, reverse):
    x, level, memories, static = batch
    outputs, final = lodkit.dynamic_rnn(cell, x, memories, static=static, level=level, reverse=reverse)
    found, last = alone(x, level, memories, static, reverse)
    for i in range(2):
        assert outputs[i].lod() == x.lod()[: level + 1]
        assert outputs[i].shape[1:] == (2,) and final[i].shape == memories[i].shape
        np.testing.assert_allclose(outputs[i].values, np.concatenate([np.zeros((0, 2)), *found[i]]), atol=1e-12)
        np.testing.assert_allclose(final[i], np.concatenate([memories[i][:0], *last[i]]), atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(batches(), st.randoms())
def test_the_order_of_the_sequences_does_not_matter(batch, random):
    x, *_ = batch
    x = LoDTensor(x.values, lod=x.lod()[-1:])
    order = np.array(random.sample(range(len(x)), len(x)), np.int64)
    state, static = np.random.default_rng(2).normal(size=(2, len(x), 2))

    def step(inputs, memories, static):
        state = np.tanh(inputs[0] @ W + memories[0] @ U + static[0])
        return (state,), (state,)

    (outputs,), (final,) = lodkit.dynamic_rnn(step, x, state, static=static)
    (shuffled,), (last,) = lodkit.dynamic_rnn(step, x[order], state[order], static=static[order])
    np.testing.assert_allclose(shuffled.values, outputs[order].values, atol=1e-12)
    np.testing.assert_allclose(last, final[order], atol=1e-12)


@settings(max_examples=8, deadline=None)
@given(batches(), st.booleans())
def test_gradients_are_central_differences(batch, reverse):
    x, level, memories, static = batch
    weigh = np.random.default_rng(1).normal(size=(100, 2))

    def loss(values, first, other, by, words, w, u):
        def step(inputs, memories, static):
            x = inputs[0]
            x = lodkit.sequence_pool(x.drop_level(-1) if x.lod_level > 1 else x) if isinstance(x, LoDTensor) else x
            state = np.tanh(x @ w + memories[0] @ u + static[0])
            total = memories[1] + lodkit.sequence_pool(static[1]) * state.sum(axis=1)
            return (state, total), (state, total[:, None] * state)

        outputs, final = lodkit.dynamic_rnn(
            step,
            x.with_values(values),
            (first, other),
            static=(by, static[1].with_values(words)),
            level=level,
            reverse=reverse,
        )
        one, two = (out.values * weigh[: len(out.values)] for out in outputs)
        return np.sum(one) + np.sum(two) + np.sum(final[0] * weigh[: len(final[0])]) + np.sum(final[1])

    sources = [x.values, *memories, static[0], static[1].values, W, U]
    parameters = list(map(lodkit.parameter, sources))
    with lodkit.Tape() as tape:
        total = loss(*parameters)
    for found, expected in zip(tape.gradient(total, parameters), differences(loss, sources, 1.0), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_a_lookup_in_the_step_has_a_sparse_gradient():
    table, ids = lodkit.parameter(RNG.normal(size=(9, 2))), LoDTensor([4, 4, 7, 1], [[1, 3]])

    def step(inputs, memories, static):
        state = np.tanh(lodkit.lookup_table(table, inputs[0]) + memories[0])
        return (state,), (state,)

    with lodkit.Tape() as tape:
        (states,), _ = lodkit.dynamic_rnn(step, ids, np.zeros((2, 2)))
    (gradient,) = tape.gradient(states, [table])
    with lodkit.Tape() as tape:
        (expected,), _ = lodkit.dynamic_rnn(
            lambda i, m, s: ((np.tanh(i[0] + m[0]),), (np.tanh(i[0] + m[0]),)),
            lodkit.lookup_table(table, ids, is_sparse=False),
            np.zeros((2, 2)),
        )
    assert isinstance(gradient, lodkit.SelectedRows) and sorted(gradient.rows) == [1, 4, 4, 7]
    np.testing.assert_allclose(gradient.to_dense(), tape.gradient(expected, [table])[0])


def test_several_inputs_of_different_depth():
    """Letters of words beside the words' own numbers."""
    words = LoDTensor([10.0, 20.0, 30.0], [[2, 1]])
    letters = LoDTensor([1.0, 2.0, 3.0, 4.0], [[2, 1], [1, 0, 3]])

    def step(inputs, memories, static):
        state = memories[0] + inputs[0] + lodkit.sequence_pool(inputs[1])
        return (state,), (inputs[0],)

    for level in (0, -1):  # of the first input
        (seen,), (final,) = lodkit.dynamic_rnn(step, (words, letters), [0.0, 0.0], level=level)
        assert seen.equals(words) and final.tolist() == [31, 39]
    with pytest.raises(lodkit.LoDMismatchError, match="lod_level 2 against 1"):
        lodkit.dynamic_rnn(step, (letters, words), np.zeros(3), level=-1)


def test_outputs_with_levels_of_their_own():
    x = LoDTensor(np.arange(10.0), [[2, 0, 3], [1, 2, 0, 4, 3]])
    for reverse in (False, True):
        (doubled, squared), final = lodkit.dynamic_rnn(
            lambda inputs, memories, static: ((), (2 * inputs[0], inputs[0] ** 2)), x, (), reverse=reverse
        )
        assert doubled.equals(2 * x) and squared.equals(x**2) and final == ()


@pytest.mark.parametrize("lengths", [[[]], [[0, 0]], [[2, 0], [0, 0]], [[], []]])
def test_without_steps_the_shapes_are_right(lengths):
    x = LoDTensor(np.zeros((0, 3), np.float32), lengths)
    memory = lodkit.parameter(np.arange(2 * len(lengths[-1]), dtype=np.float32).reshape(-1, 2))
    w, u = W.astype(np.float32), U.astype(np.float32)

    def step(inputs, memories, static):
        state = np.tanh(inputs[0] @ w + memories[0] @ u)
        return (state,), (state, inputs[0])

    with lodkit.Tape() as tape:
        (states, same), (final,) = lodkit.dynamic_rnn(step, x, memory, level=-1)
    assert states.lod() == same.lod() == x.lod()
    assert (states.shape, states.dtype, same.shape) == ((0, 2), np.float32, (0, 3))
    np.testing.assert_array_equal(final, memory)
    np.testing.assert_array_equal(tape.gradient(final, [memory])[0], np.ones_like(memory))


def test_what_a_step_gets_is_its_own():
    x, first, by = LoDTensor(np.ones((4, 2)), [[1, 3]]), np.zeros((2, 2)), np.ones((2, 2))

    def changing(which):
        def step(inputs, memories, static):
            which(inputs, memories, static)[0][...] = 7
            return memories, (inputs[0],)

        return step

    for which in (lambda i, m, s: m, lambda i, m, s: s):
        with pytest.raises(ValueError, match="read-only"):
            lodkit.dynamic_rnn(changing(which), x, first, static=by)
        with lodkit.Tape(), pytest.raises((ValueError, TypeError, lodkit.LodkitError)):
            lodkit.dynamic_rnn(changing(which), x, first, static=by)
    assert not first.any() and by.all() and first.flags.writeable
    lodkit.dynamic_rnn(changing(lambda i, m, s: i), x, first)
    assert (x.values == 1).all()


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"level": "a"}, TypeError, "level must be an integer, got 'a'"),
        ({"level": 0.5}, TypeError, "level must be an integer, got 0.5"),
        ({"level": None}, TypeError, "level must be an integer, got None"),
        ({"reverse": "a"}, TypeError, "dynamic_rnn: reverse must be True or False"),
        ({"step": None}, TypeError, "step must be a function"),
        ({"memories": None}, TypeError, r"memories\[0\] must be an array, got NoneType; pass \(\)"),
        ({"memories": np.zeros(2, object)}, lodkit.DTypeError, r"memories\[0\] takes .*, not object"),
        ({"static": np.zeros(2, np.uint8)}, lodkit.DTypeError, r"static\[0\] takes .*, not uint8"),
        ({"inputs": LoDTensor(np.zeros(3, np.uint8), [[2, 1]])}, lodkit.DTypeError, r"inputs\[0\] takes .*, not uint8"),
        (
            {"step": lambda i, m, s: (m, (i[0] > 0,))},
            lodkit.DTypeError,
            r"at time step 0 outputs\[0\] takes .* not bool",
        ),
    ],
)
def test_arguments_and_outputs_are_named(given, error, text):
    usual = {"step": lambda i, m, s: (m, i), "inputs": LoDTensor(np.zeros(3), [[2, 1]]), "memories": np.zeros(2)}
    with pytest.raises(error, match=text):
        lodkit.dynamic_rnn(**usual | given)


def test_on_both_devices(place):
    """By operators: the emulated GPU has no arithmetic."""
    words = LoDTensor(RNG.normal(size=(7, 2)), [[2, 0, 1, 1], [2, 1, 3, 1]])

    def step(inputs, memories, static):
        pooled = lodkit.sequence_pool(inputs[0])
        state = lodkit.tanh(lodkit.sum(pooled, memories[0], lodkit.sequence_pool(static[0])))
        return (state,), (state, inputs[0])

    first, static = RNG.normal(size=(4, 2)), LoDTensor(RNG.normal(size=(5, 2)), [[1, 1, 0, 3]])
    outputs, final = lodkit.dynamic_rnn(step, words, first, static=static)
    found = lodkit.dynamic_rnn(step, *map(place.to, (words, first)), static=place.to(static))
    for got, expected in zip((*found[0], *found[1]), (*outputs, *final), strict=True):
        got = place.home(got)
        assert type(got) is type(expected)
        np.testing.assert_allclose(getattr(got, "values", got), getattr(expected, "values", expected), atol=1e-12)
    assert place.home(found[0][1]).equals(words)
