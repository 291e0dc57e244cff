"""What is special about softmax inside sequences: laws, stability, long sequences, gradients, wrong inputs."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor
from lodkit.jit import settings

BOTH = pytest.mark.parametrize("item", [(), (4,)])


def column(*values, lengths=None, dtype=np.float32):
    return LoDTensor(np.array(values, dtype), [lengths or [len(values)]])


def test_paddle_worked_example():
    x = LoDTensor(np.array([[1.76], [0.98], [1.87], [0.95], [-0.1], [0.14]], np.float32), [[2, 0, 3, 1]])
    expected = [0.6856801, 0.3143199, 0.6502052, 0.2591191, 0.0906756, 1.0]
    np.testing.assert_allclose(lodkit.sequence_softmax(x).values.ravel(), expected, rtol=1e-6)


@BOTH
def test_large_numbers_do_not_overflow(item):
    """Paddle's CPU kernel gives NaN for these."""
    values = np.array([1000, 1000, 999, -1000, 1000], np.float32).reshape(5, *[1] * len(item))
    x = LoDTensor(np.ascontiguousarray(np.broadcast_to(values, (5, *item))), [[2, 3]])
    tail = np.exp([-1.0, -2000.0, 0.0])
    expected = np.concatenate([[0.5, 0.5], tail / tail.sum()])
    found = lodkit.sequence_softmax(x).values.reshape(5, -1)
    np.testing.assert_allclose(found, np.broadcast_to(expected[:, None], found.shape), rtol=1e-3, atol=1e-7)
    logs = lodkit.sequence_log_softmax(x).values.reshape(5, -1)
    assert np.isfinite(logs).all() and logs[3, 0] == pytest.approx(-2000.3133, rel=1e-3)


@BOTH
def test_infinities_and_nan(item):
    """Whatever the other columns of the strip hold."""
    inf, nan = np.inf, np.nan
    cases = {
        (-inf, -inf): (0, 0),
        (-inf, 5.0): (0, 1),
        (inf, 1.0, inf, -inf): (0.5, 0, 0.5, 0),
        (1.0, nan, 2.0): (nan, nan, nan),
        (-inf, nan): (nan, nan),
        (inf, nan): (nan, nan),
        (nan,): (nan,),
        (inf,): (1,),
        (0.0, 0.0): (0.5, 0.5),
        (-inf,) * 70 + (0.0,): (0,) * 70 + (1,),
        (inf,) * 80: (1 / 80,) * 80,
    }
    values = np.concatenate([*cases])
    expected = np.concatenate([*cases.values()])
    x, place = values, ...
    if item:
        x, place = np.tile(np.arange(len(values))[:, None] % 7.0, (1, 4)), (..., 2)
        x[:, 2] = values
    x = LoDTensor(x.astype(np.float32), [[len(case) for case in cases]])
    out = lodkit.sequence_softmax(x)
    np.testing.assert_allclose(out.values[place], expected, rtol=1e-6)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(lodkit.sequence_log_softmax(x).values[place], np.log(expected), rtol=1e-6)
    known = np.isfinite(expected)
    for name, y in (("sequence_softmax", out), ("sequence_log_softmax", lodkit.sequence_log_softmax(x))):
        gradient = lodkit.OPS[f"{name}_grad"](y, np.full(x.shape, 2.0, np.float32)).values[place]
        assert np.isfinite(gradient[known]).all() and np.isnan(gradient[~known]).all()
        assert (gradient[expected == 0] == 0).all()


@pytest.mark.parametrize(("item", "dtype"), [((), np.float32), ((4,), np.float32), ((), np.float16)])
def test_long_sequences_go_in_pieces(item, dtype, monkeypatch):
    monkeypatch.setattr(settings, "chunk_rows", 4)
    monkeypatch.setattr(settings, "block_rows", 3)
    rng = np.random.default_rng(0)
    values = rng.normal(size=(500, *item)).astype(dtype) * 4
    values[400:] = -np.inf
    values.reshape(500, -1)[230, 0] = np.inf
    x = LoDTensor(values, [[300, 0, 90, 10, 100]])
    grad = rng.normal(size=values.shape).astype(dtype)
    tolerance = 5e-3 if dtype == np.float16 else 1e-5
    for name in ("sequence_softmax", "sequence_log_softmax"):
        op, backward = lodkit.OPS[name], lodkit.OPS[f"{name}_grad"]
        out = op(x)
        np.testing.assert_allclose(out.values, op.definition(x).values, rtol=tolerance, atol=tolerance)
        if dtype == np.float32:
            expected = backward.definition(out, grad).values
            np.testing.assert_allclose(backward(out, grad).values, expected, rtol=tolerance, atol=4 * tolerance)


def test_halves_are_computed_as_floats():
    """1,000 equal shares: their sum would stay at 0.5 in float16."""
    x = LoDTensor(np.zeros(6000, np.float16), [[3000, 3000]])
    assert (lodkit.sequence_softmax(x).values == np.float16(1 / 3000)).all()
    y = lodkit.sequence_log_softmax(x).values
    assert (y == np.float16(-np.log(3000))).all()


def test_an_outer_level_is_one_distribution():
    x = LoDTensor(np.zeros(4, np.float32), [[2, 1], [1, 2, 1]])
    np.testing.assert_allclose(lodkit.sequence_softmax(x, level=0).values, [1 / 3, 1 / 3, 1 / 3, 1], rtol=1e-6)
    assert lodkit.sequence_softmax(x).values.tolist() == [1, 0.5, 0.5, 1]


def test_out_and_a_tape():
    x = column(1.0, 2.0, 3.0, lengths=[2, 1])
    out = x.with_values(np.empty(3, np.float32))
    assert lodkit.sequence_softmax(x, out=out.values).values is out.values
    with lodkit.Tape() as tape:
        y = lodkit.sequence_softmax(x)
    gradient = tape.gradient(y, [x], output_gradients=np.array([1.0, 0.0, 1.0]))[0]
    p = out.values[0]
    np.testing.assert_allclose(gradient.values, [p * (1 - p), -p * (1 - p), 0], atol=1e-7)


def test_what_is_refused():
    with pytest.raises(lodkit.DTypeError, match=r"sequence_softmax takes float16.*int64"):
        lodkit.sequence_softmax(column(1, 2, dtype=np.int64))
    with pytest.raises(lodkit.DTypeError, match="sequence_log_softmax takes"):
        lodkit.sequence_log_softmax(column(1, 0, dtype=bool))
    with pytest.raises(lodkit.LoDLevelError, match="level 1 does not exist"):
        lodkit.sequence_softmax(column(1.0), level=1)
    with pytest.raises(lodkit.NoKernelError, match=r"LoDTensor\(x, \[lengths\]\)"):
        lodkit.sequence_softmax(np.ones(3))
    with pytest.raises(lodkit.ShapeMismatchError, match="grad has shape"):
        lodkit.sequence_softmax_grad(column(1.0), np.ones(2))
