"""Functions of arrays held against central differences."""

from __future__ import annotations

import numpy as np

import lodkit
from lodkit import LoDTensor
from lodkit.tape.tape import has_gradient

rng = np.random.default_rng(0)
MATRIX, OTHER, CONSTANT = rng.normal(size=(3, 3, 4))
CUBE = rng.normal(size=(2, 3, 4))


def numbers(y):
    return np.asarray(y.values if isinstance(y, LoDTensor) else y)


def differences(function, sources, weights, step=1e-6):
    """Gradients of ``sum(weights * function(*sources))`` by central differences."""
    found = []
    for i, source in enumerate(sources):
        gradient = np.zeros(source.shape)
        for place in np.ndindex(source.shape):
            total = []
            for sign in (step, -step):
                moved = [s.copy() for s in sources]
                moved[i][place] += sign
                total.append((numbers(function(*moved)) * weights).sum())
            gradient[place] = (total[0] - total[1]) / (2 * step)
        found.append(gradient)
    return found


def parameters(values):
    """The values, floating ones as parameters."""
    return [lodkit.parameter(x) if has_gradient(x) else x for x in values]


def agrees(function, *sources, rtol=1e-5):
    """Check the gradients of a function of watched arrays, and of parameters; its value is that of plain ones."""
    expected = numbers(function(*sources))
    weights = np.random.default_rng(1).normal(size=expected.shape)
    by_differences = differences(function, sources, weights)
    for watched in (True, False):
        with lodkit.Tape() as tape:
            given = [tape.watch(x) if watched else lodkit.parameter(x) for x in sources]
            result = function(*given)
        np.testing.assert_allclose(numbers(result), expected, rtol=1e-12)
        for gradient, source, by in zip(tape.gradient(result, given, weights), sources, by_differences, strict=True):
            assert type(gradient) is np.ndarray and gradient.dtype == source.dtype
            np.testing.assert_allclose(gradient, by, rtol=rtol, atol=1e-7)
