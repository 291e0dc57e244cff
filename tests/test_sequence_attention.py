"""Attention inside sequences: lengths of any size, what a row may see, infinite scores, wrong inputs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lodkit
from lodkit import LoDTensor
from lodkit.testing import assert_equal

attend = lodkit.sequence_attention


def draw(lengths, heads, size, wide=None, seed=0, dtype=np.float32):
    """Query, key, value, and a gradient."""
    rng, rows = np.random.default_rng(seed), sum(lengths)
    sizes = size, size, size if wide is None else wide
    query, key, value = (LoDTensor(rng.normal(size=(rows, heads, n)).astype(dtype), [lengths]) for n in sizes)
    return query, key, value, rng.normal(size=value.values.shape).astype(dtype)


@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lengths=st.lists(st.sampled_from([0, 1, 5, 6, 7, 15, 16, 17, 47, 48, 49, 97]), min_size=1, max_size=4),
    heads=st.integers(1, 2),
    size=st.sampled_from([1, 3, 4, 16, 20, 33]),
    wide=st.sampled_from([1, 16, 19]),
    causal=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_lengths_of_any_size(lengths, heads, size, wide, causal, dtype):
    """Tiles, vectors and registers that are full, and that are not; forward and backward."""
    *inputs, grad = draw(lengths, heads, size, wide, dtype=dtype)
    bound = {"rtol": 1e-4, "atol": 1e-4} if dtype == np.float32 else {"rtol": 1e-11, "atol": 1e-11}
    np.testing.assert_allclose(
        attend(*inputs, causal=causal).values, attend.definition(*inputs, causal=causal).values, **bound
    )
    backward = lodkit.sequence_attention_grad
    expected = backward.definition(*inputs, grad, causal=causal)
    for got, e in zip(backward(*inputs, grad, causal=causal), expected, strict=True):
        np.testing.assert_allclose(got, e, **bound)


@pytest.mark.parametrize("causal", [False, True])
def test_bits_do_not_depend_on_parts(causal, monkeypatch):
    """However rows and sequences are dealt out to threads."""
    from lodkit.jit import settings

    *inputs, grad = draw([40, 0, 130, 3, 1, 60], 2, 8, dtype=np.float64)
    results = []
    for rows, least in ((16, 1 << 60), (16 * 50, 0), (1 << 20, 1 << 60)):
        monkeypatch.setattr(settings, "chunk_rows", rows)
        monkeypatch.setattr(settings, "parallel_from", least)
        results.append(
            [attend(*inputs, causal=causal).values, *lodkit.sequence_attention_grad(*inputs, grad, causal=causal)]
        )
    for other in results[1:]:
        for got, expected in zip(other, results[0], strict=True):
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("bad", [1.0, 1e30, np.inf, np.nan])
def test_a_row_sees_no_other_sequence_and_causally_no_later_row(bad, place):
    """To the last bit, whatever stands there, forward and backward."""
    *inputs, grad = draw([3, 7, 2], 1, 4)

    def results(change):
        query, key, value, g = (np.array(getattr(x, "values", x)) for x in (*inputs, grad))
        if change is not None:
            for x in (query, key, value, g):
                x[change] = bad
        x = [place.to(like.with_values(v)) for like, v in zip(inputs, (query, key, value), strict=True)]
        out = place.home(attend(*x, causal=True)).values
        return out, place.home(lodkit.sequence_attention_grad(*x, place.to(g), causal=True))

    for same, change in ((slice(3, 7), slice(7, 10)), (slice(0, 3), slice(3, 10)), (slice(10, 12), slice(3, 10))):
        (out, (by_query, by_key, by_value)), (other, others) = results(None), results(change)
        np.testing.assert_array_equal(other[same], out[same])
        np.testing.assert_array_equal(others[0][same], by_query[same])
        if same.stop in (3, 12):  # later rows of one sequence do give to its keys and values
            np.testing.assert_array_equal(others[1][same], by_key[same])
            np.testing.assert_array_equal(others[2][same], by_value[same])


def test_nan_in_a_query_stays_with_the_rows_it_sees():
    """Other keys and values of its sequence get their gradient."""
    *inputs, grad = draw([60], 1, 4, dtype=np.float64)
    _, by_key, by_value = lodkit.sequence_attention_grad(*inputs, grad, causal=True)
    inputs[0].values[2] = np.nan
    _, *others = lodkit.sequence_attention_grad(*inputs, grad, causal=True)
    for got, expected in zip(others, (by_key, by_value), strict=True):
        assert np.isnan(got[:3]).all()
        np.testing.assert_allclose(got[3:], expected[3:], rtol=1e-12)


def test_the_first_row_of_a_causal_sequence_is_its_value():
    query, key, value, _ = draw([4, 0, 2], 2, 8)
    out = attend(query, key, value, causal=True).values
    np.testing.assert_array_equal(out[[0, 4]], value.values[[0, 4]])


def test_infinite_scores(place):
    """k scores of +inf get 1/k each, only -inf give 0, NaN stays in its row."""
    key = LoDTensor(np.array([[np.inf], [1.0], [np.inf], [-np.inf], [-np.inf], [np.nan], [1.0]]), [[3, 2, 2]])
    query, value = (
        key.with_values(np.ones((7, 1))),
        key.with_values(np.array([[1.0], [2.0], [5.0], [1], [2], [3], [4]])),
    )
    out = place.home(attend(*map(place.to, (query, key, value)))).values.ravel()
    np.testing.assert_array_equal(out, [3, 3, 3, 0, 0, np.nan, np.nan])


def test_heads_side_by_side_are_those_of_items():
    query, key, value, _ = draw([3, 2], 2, 4)
    flat = [x.with_values(x.values.reshape(5, 8)) for x in (query, key, value)]
    expected = attend(query, key, value)
    assert_equal(attend(*flat, num_heads=2), expected.with_values(expected.values.reshape(5, 8)))
    assert_equal(attend(query, key, value, num_heads=2), expected)


def test_one_input_as_query_key_and_value():
    """Its gradient is the sum of three."""
    x, *_, grad = draw([3, 1], 1, 4, dtype=np.float64)
    with lodkit.Tape() as tape:
        out = attend(x, x, x)
    expected = sum(lodkit.sequence_attention_grad(x, x, x, grad))
    np.testing.assert_allclose(tape.gradient(out, [x], grad)[0].values, expected, rtol=1e-12)


def test_large_scores_do_not_overflow():
    x = LoDTensor(np.array([[300.0], [299.0]], np.float32), [[2]])
    assert attend(x, x, x, scale=1.0).values.ravel().tolist() == [300.0, 300.0]


def test_wrong_inputs():
    query, key, value, grad = draw([3, 2], 2, 4)
    with pytest.raises(lodkit.LoDMismatchError, match="key and query have different structure"):
        attend(query, LoDTensor(key.values, [[2, 3]]), value)
    with pytest.raises(lodkit.DTypeError, match="the value is float64, the input float32"):
        attend(query, key, value.with_values(value.values.astype(np.float64)))
    with pytest.raises(lodkit.DTypeError, match="not int64"):
        attend(*[query.with_values(np.ones((5, 2), np.int64))] * 3)
    with pytest.raises(lodkit.ShapeMismatchError, match="num_heads is 3"):
        attend(query, key, value, num_heads=3)
    with pytest.raises(lodkit.ShapeMismatchError, match="num_heads is 0"):
        attend(*[query.with_values(np.ones((5, 8)))] * 3, num_heads=0)
    with pytest.raises(lodkit.ShapeMismatchError, match=r"rows of the key have shape \(2, 3\)"):
        attend(query, key.with_values(key.values[:, :, :3]), value)
    with pytest.raises(lodkit.ShapeMismatchError, match="for 2 heads"):
        attend(query, key, value.with_values(np.ones((5, 1, 4), np.float32)))
    with pytest.raises(lodkit.ShapeMismatchError, match="grad has shape"):
        lodkit.sequence_attention_grad(query, key, value, grad[:, :1])
