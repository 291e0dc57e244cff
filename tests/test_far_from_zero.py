"""Means, variances, softmax and whatever else a constant moves or leaves: as exact far from zero as near it."""

from __future__ import annotations

import pytest
from far_from_zero import check_far_from_zero, representatives
from samples import SAMPLES

import lodkit

#: Scores are inner products, of numbers as large as the keys: a constant cancels in their softmax to that rounding.
#: The gradient subtracts products of the values with the gradient, likewise.
EXCEPTIONS = {"sequence_attention": {"key"}, "sequence_attention_grad": {"key", "value"}}
#: Those that update an input in place add a step to it, and measure nothing.
MEASURE = [name for name in SAMPLES if not lodkit.OPS[name].updates]


@pytest.mark.parametrize("name", MEASURE)
def test_a_constant_costs_no_digits(name):
    for inputs, attrs in representatives(name):
        check_far_from_zero(name, inputs, attrs, EXCEPTIONS.get(name, ()))


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_exceptions_are_some(name):
    def check():
        for inputs, attrs in representatives(name):
            check_far_from_zero(name, inputs, attrs)

    with pytest.raises(AssertionError, match="that x allows"):
        check()
