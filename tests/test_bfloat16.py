"""Every operator takes arrays of ml_dtypes.bfloat16 and gives what float32 gives, rounded once."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import copy
from samples import SAMPLES

import lodkit
from lodkit.registry.kinds import numbers_of, with_numbers

ml_dtypes = pytest.importorskip("ml_dtypes")
HALF = np.dtype(ml_dtypes.bfloat16)
RANDOM = np.random.default_rng(0)


def numbers(*shape):
    return RANDOM.normal(size=shape).astype(HALF)


def is_single(x, kinds=(np.float32,)):
    return isinstance(numbers_of(x), np.ndarray) and numbers_of(x).dtype in kinds


def sample_of(name):
    """The first sample of an operator that has numbers in float32; None if it has none."""
    return next((case for case in SAMPLES[name] if any(map(is_single, case[0]))), None)


CASES = {name: sample_of(name) for name in lodkit.OPS}
RESULTS = [name for name, case in CASES.items() if case and not lodkit.OPS[name].updates]
UPDATES = [name for name, case in CASES.items() if case and lodkit.OPS[name].updates]


def in_halves(x):
    """A value over bfloat16 if its numbers are floating, and the same numbers in float32."""
    if not is_single(x, (np.float32, np.float64)):
        return copy(x), copy(x)
    halves = numbers_of(x).astype(HALF)
    return with_numbers(x, halves), with_numbers(x, halves.astype(np.float32))


def assert_rounded(results, expected):
    results, expected = (x if isinstance(x, tuple) else (x,) for x in (results, expected))
    for got, want in zip(results, expected, strict=True):
        got, want = numbers_of(got), numbers_of(want)
        if isinstance(want, np.ndarray) and want.dtype == np.float32:
            assert got.dtype == HALF
            np.testing.assert_array_equal(got.view(np.uint16), want.astype(HALF).view(np.uint16))
        elif isinstance(want, np.ndarray):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_those_of_float32_rounded_once(name):
    op, (inputs, attrs) = lodkit.OPS[name], CASES[name]
    halves, wide = zip(*map(in_halves, inputs), strict=True)
    assert_rounded(op.full(*halves, **attrs), op.full(*wide, **attrs))


#: Inputs of updates that have the type of the parameter; states stay in float32.
LIKE_PARAM = {"param", "grad", "dense", "x"}


@pytest.mark.parametrize("name", UPDATES)
def test_updates_step_in_float32_and_round_once(name):
    op, (inputs, attrs) = lodkit.OPS[name], CASES[name]
    pairs = [
        in_halves(x) if given in LIKE_PARAM else (copy(x), copy(x))
        for given, x in zip(op._names(inputs), inputs, strict=True)
    ]
    halves, wide = zip(*pairs, strict=True)
    op.full(*halves, **attrs)
    op.full(*wide, **attrs)
    for got, want in zip(map(numbers_of, halves), map(numbers_of, wide), strict=True):
        if isinstance(got, np.ndarray) and got.dtype == HALF:
            np.testing.assert_array_equal(got.view(np.uint16), want.astype(HALF).view(np.uint16))
        elif isinstance(got, np.ndarray):
            np.testing.assert_array_equal(got, want)
