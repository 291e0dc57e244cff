"""Tapes take variables of bfloat16: gradients are added up in float32, and rounded once."""

from __future__ import annotations

import numpy as np
import pytest
from samples import SAMPLES, some_of

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.arrays import BFLOAT16
from lodkit.registry.kinds import numbers_of, with_numbers
from lodkit.registry.public_call import side_by_side

ml_dtypes = pytest.importorskip("ml_dtypes")
HALF = np.dtype(ml_dtypes.bfloat16)
RANDOM = np.random.default_rng(0)
IDS = LoDTensor([1, 2, 2, 0], [[3, 1]])


def numbers(*shape):
    return RANDOM.normal(size=shape).astype(HALF)


def is_floating(x):
    values = numbers_of(x)
    return isinstance(values, np.ndarray) and (values.dtype.kind == "f" or values.dtype == HALF)


def dense(x):
    return np.asarray(x.to_dense() if isinstance(x, SelectedRows) else numbers_of(x)).astype(np.float32)


def gradients(function, inputs, by_results):
    """Results, and gradients by the floating inputs; gradients by the results are drawn once for all types."""
    inputs = [lodkit.parameter(x) if is_floating(x) else x for x in inputs]
    with lodkit.Tape() as tape:
        results = [x for x in side_by_side(function(*inputs)) if is_floating(x)]
    if not by_results:
        by_results += [numbers(*numbers_of(x).shape) for x in results]
    given = [g.astype(numbers_of(x).dtype) for g, x in zip(by_results, results, strict=True)]
    return results, tape.gradient(results, [*filter(is_floating, inputs)], given, unconnected="none")


def in_both(x):
    """A value over bfloat16, and over the same numbers in float32."""
    if not is_floating(x):
        return x, x
    halves = numbers_of(x).astype(HALF)
    return with_numbers(x, halves), with_numbers(x, halves.astype(np.float32))


def assert_alike(function, inputs, digits=2**-7):
    halves, wide = zip(*map(in_both, inputs), strict=True)
    drawn = []
    results, found = gradients(function, halves, drawn)
    exact, expected = gradients(function, wide, drawn)
    for got, want in zip((*results, *found), (*exact, *expected), strict=True):
        assert (got is None) == (want is None)
        if want is None or not dense(want).size:
            continue
        scale = np.abs(np.nan_to_num(dense(want))).max()
        np.testing.assert_allclose(dense(got), dense(want), rtol=digits, atol=digits * scale)
    for got, x in zip(found, filter(is_floating, halves), strict=True):
        assert got is None or numbers_of(got).dtype == HALF == numbers_of(x).dtype


CASES = {}
for name, op in lodkit.OPS.items():
    for inputs, attrs in SAMPLES[name]:
        # gru and lstm have no gradient by their gates, which are the results of others that stay inside them.
        if op.gradient_rule and not op.updates and name not in ("gru", "lstm") and any(map(is_floating, inputs)):
            CASES.setdefault(name, (inputs, attrs))
NAMES = some_of(CASES, 6)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_of_operators_are_those_of_float32(name):
    op, (inputs, attrs) = lodkit.OPS[name], CASES[name]
    # Rules that read results read rounded ones.
    assert_alike(lambda *given: op.full(*given, **attrs), op._accept(inputs), 2**-5)


@pytest.mark.parametrize("op", [lodkit.relu, lodkit.elementwise_mul, lodkit.fc, lodkit.sequence_reverse])
def test_rules_that_read_no_result_round_once(op):
    """To the bits of the gradient in float32, rounded."""
    x = numbers(4, 3)
    inputs = [LoDTensor(x, [[1, 3]])] if op is lodkit.sequence_reverse else [x, numbers(3, 3)][: op.required]
    if op is lodkit.elementwise_mul:
        inputs[1] = numbers(4, 3)
    halves, wide = zip(*map(in_both, inputs), strict=True)
    drawn = []
    for got, want in zip(gradients(op, halves, drawn)[1], gradients(op, wide, drawn)[1], strict=True):
        np.testing.assert_array_equal(numbers_of(got), numbers_of(want).astype(HALF))


EXPRESSIONS = {
    "products": lambda x, w: (x @ w) * 2.0 - x[:, :2] / 3,
    "ufuncs": lambda x, w: np.exp(x * w.T * 0.25) + np.square(x) - np.sqrt(np.abs(x) + 1) / np.arctan(w.T),
    "moves": lambda x, w: np.concatenate([x.T, w])[[0, 0, 2], 1:2].reshape(-1)[::-1],
    "repeated indices": lambda x, w: x[[1] * 300 + [0]] * w[0, 0],
    "reductions": lambda x, w: x.sum(0) + x.mean() + x.std(axis=1, keepdims=True) + w.prod() + x.max() + w.min(1)[0],
    "sums along rows": lambda x, w: np.cumsum(x, 0) * np.linalg.norm(w) + np.einsum("ij,ij->i", x, w.T)[:, None],
    "where": lambda x, w: np.where(np.asarray(x) > 0, x, np.clip(w.T, -0.5, 0.5)),
    "casts": lambda x, w: x.astype(np.float32) @ w.astype(np.float32) + lodkit.cast(x, dtype="float32")[:, :1],
    "chains": lambda x, w: lodkit.tanh(lodkit.fc(np.square(x) * 0.125, w)) * lodkit.lookup_table(x, [1, 1])[:, :2],
    "sequences": lambda x, w: lodkit.sequence_pool(2.0 * lodkit.lookup_table(x, LoDTensor([1, 0, 1], [[2, 1]]))).T,
    "both types": lambda x, w: np.add(x, np.ones((2, 3), np.float32)) @ w,
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_numpy_is_recorded(name):
    assert_alike(EXPRESSIONS[name], (numbers(2, 3), numbers(3, 2)), 2**-6)


@pytest.mark.parametrize("dtype", [HALF, np.dtype(np.float16)])
def test_no_term_is_lost(dtype):
    """Sums of thousands of ones: over rows, over calls, and over elements of one index."""
    bias, rows, table = (lodkit.parameter(np.ones(shape, dtype)) for shape in ((1, 2), (5000, 2), (3, 2)))
    with lodkit.Tape() as tape:
        many = rows + bias
        total = many.sum(0)
        picked = bias[np.zeros(5000, int)]
        looked_up = lodkit.lookup_table(table, np.ones(5000, int))
    by_bias, by_table = tape.gradient([many, picked, looked_up], [bias, table])
    assert by_bias.dtype == by_table.dtype == dtype
    np.testing.assert_array_equal(by_bias, np.full((1, 2), 10000, np.float32).astype(dtype))
    np.testing.assert_array_equal(by_table.to_dense()[1], np.full(2, 5000, np.float32).astype(dtype))
    np.testing.assert_array_equal(tape.gradient(total, [bias])[0], np.full((1, 2), 5000, np.float32).astype(dtype))
    if dtype == HALF:
        assert (total == np.float32(10000).astype(HALF)).all()
        assert np.asarray(many).sum(0).max() < 1000, "NumPy's own sums stop"
    with lodkit.Tape() as tape:
        read = [lodkit.assign(bias) for _ in range(3000)]
    np.testing.assert_array_equal(tape.gradient(read, [bias])[0], np.full((1, 2), 3000, np.float32).astype(dtype))


def test_gradients_of_tables_are_rows():
    table = lodkit.parameter(numbers(6, 3))
    with lodkit.Tape() as tape:
        rows = lodkit.lookup_table(table, IDS)
        loss = lodkit.sequence_pool(rows) * 0.5
    (by_table,) = tape.gradient(loss, [table])
    assert isinstance(by_table, SelectedRows) and by_table.dtype == HALF
    np.testing.assert_array_equal(by_table.to_dense()[:4, 0].astype(np.float32), [0.5, 0.5, 1, 0])
    with lodkit.Tape() as tape:  # looked up, and used whole
        loss = lodkit.lookup_table(table, [1, 1]).sum() + (table * table).sum()
    (by_table,) = tape.gradient(loss, [table])
    expected = 2 * np.asarray(table).astype(np.float32)
    expected[1] += 2
    np.testing.assert_array_equal(by_table, expected.astype(HALF))


@pytest.mark.parametrize("kind", ["watched", "sequences", "rows"])
def test_sources_of_all_kinds(kind):
    values, table = numbers(4, 2), numbers(6, 2)
    with lodkit.Tape() as tape:
        if kind == "watched":
            source, loss = values, (tape.watch(values) * 3).sum()
        elif kind == "sequences":
            source = LoDTensor(values, [[3, 1]])
            loss = lodkit.sequence_pool(source * 3, pool="sum").sum()
        else:
            source = lodkit.parameter(SelectedRows([1, 1, 4, 5], values, 6))
            loss = (lodkit.sum(source, table) * 3).sum()
    (found,) = tape.gradient(loss, [source])
    assert numbers_of(found).dtype == HALF and (numbers_of(found) == 3).all()


def test_views_copies_and_pickles_are_parameters():
    import copy
    import pickle

    weight = lodkit.parameter(numbers(4, 2))
    for made in (weight.T, weight[:2], copy.deepcopy(weight), pickle.loads(pickle.dumps(weight))):
        assert type(made) is type(weight) and made.dtype == HALF
    assert np.shares_memory(weight, np.asarray(weight.T)) and "bfloat16" in repr(weight)
    assert type(weight * 2) is np.ndarray


def test_bits_without_the_package():
    """Operators differentiate by them; NumPy, which computes nothing of them, is refused."""
    halves = numbers(5, 3)
    table = lodkit.parameter(halves.copy().view(BFLOAT16))
    with lodkit.Tape() as tape:
        pooled = lodkit.embedding_bag(table, IDS)
        made = lodkit.tanh(pooled[:, :2].reshape(-1))
        wide = lodkit.cast(table, dtype="float32") * 2.0
        with pytest.raises(
            lodkit.DTypeError, match=r"np.multiply: NumPy does not compute with bfloat16 by itself; .* lodkit.cast\(x"
        ):
            table * 2
    assert made.dtype == BFLOAT16
    (by_table,) = tape.gradient([made, wide], [table])
    again = lodkit.parameter(halves)
    with lodkit.Tape() as tape:
        made = lodkit.tanh(lodkit.embedding_bag(again, IDS)[:, :2].reshape(-1))
        wide = lodkit.cast(again, dtype="float32") * 2.0
    (expected,) = tape.gradient([made, wide], [again])
    assert by_table.dtype == BFLOAT16
    np.testing.assert_array_equal(by_table.view(np.uint16), expected.view(np.uint16))
    with pytest.raises(lodkit.DTypeError, match="NumPy does not compute with bfloat16"):
        table + 1


def test_output_gradients_and_integers():
    weight = lodkit.parameter(numbers(2, 2))
    with lodkit.Tape() as tape:
        out = lodkit.relu(weight)
    for given in (np.ones((2, 2), HALF), np.ones((2, 2)), [[1, 1], [1, 1]]):
        assert tape.gradient(out, [weight], given)[0].dtype == HALF
    assert tape.gradient(out, [weight, lodkit.parameter(numbers(3))], unconnected="zero")[1].dtype == HALF
    with pytest.raises(lodkit.DTypeError, match="floating"):
        tape.gradient(out, [weight], np.ones((2, 2), bool))


def test_updates_are_not_on_the_path():
    weight = lodkit.parameter(numbers(4, 2))
    with lodkit.Tape() as tape:
        loss = lodkit.tanh(weight)
        lodkit.sgd(weight, numbers(4, 2), lr=0.5)
    with pytest.raises(lodkit.LodkitError):  # tanh reads its result, which stays; relu its input, which is another now
        tape.gradient(loss, [np.asarray(weight)])
    with lodkit.Tape() as tape:
        loss = np.square(weight).sum()
    lodkit.sgd(weight, numbers(4, 2), lr=0.5)
    with pytest.raises(lodkit.LodkitError, match="overwritten"):
        tape.gradient(loss, [weight])


def trained(optimizer, params, steps, seed):
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        ids = LoDTensor(rng.integers(0, 20, 12), [[5, 4, 3]])
        with lodkit.Tape() as tape:
            bags = lodkit.embedding_bag(params["table"], ids, pool="mean")
            loss = np.square(lodkit.fc(lodkit.tanh(bags), params["weight"]) - 1).mean()
        optimizer.step(tape.gradient(loss, [params["table"], params["weight"]]))
    return float(loss)


@pytest.mark.parametrize("name", some_of(["Adam", "SGD", "RowwiseAdagrad"], 3))
def test_training_on_a_tape_goes_on_to_the_bits(name, tmp_path):
    rng = np.random.default_rng(3)
    make = getattr(lodkit.optim, name)
    params = {
        "table": lodkit.parameter(rng.normal(size=(20, 8)).astype(HALF)),
        "weight": lodkit.parameter(rng.normal(size=(8, 2)).astype(HALF)),
    }
    optimizer = make(params, lr=0.05)
    first = trained(optimizer, params, 10, 0)
    for states in optimizer.state_dict()["states"].values():
        assert all(x.dtype == np.float32 for x in states.values() if isinstance(x, np.ndarray))
    lodkit.save(tmp_path / "x.safetensors", {"params": params, "optimizer": optimizer.state_dict()})
    last = trained(optimizer, params, 40, 1)
    assert last < 0.8 * first
    found = lodkit.load(tmp_path / "x.safetensors")
    again = {key: lodkit.parameter(x) for key, x in found["params"].items()}
    other = make(again, lr=0.5)
    other.load_state_dict(found["optimizer"])
    assert trained(other, again, 40, 1) == last
    for key, x in params.items():
        np.testing.assert_array_equal(x.view(np.uint16), again[key].view(np.uint16))


def test_draws_depend_on_no_test_before():
    np.testing.assert_array_equal(numbers(3), np.random.default_rng(0).normal(size=3).astype(HALF))
    numbers(3)


def test_nor_on_the_one_just_before():
    test_draws_depend_on_no_test_before()
