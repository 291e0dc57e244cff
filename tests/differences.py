"""Functions of arrays held against central differences."""

from __future__ import annotations

import numpy as np

import lodkit
from lodkit import LoDTensor

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


def agrees(function, *sources, rtol=1e-5):
    """Check the gradients of a function of watched arrays; its value is that of plain ones."""
    with lodkit.Tape() as tape:
        result = function(*map(tape.watch, sources))
    np.testing.assert_allclose(numbers(result), numbers(function(*sources)), rtol=1e-12)
    weights = rng.normal(size=numbers(result).shape)
    gradients = tape.gradient(result, list(sources), weights)
    for gradient, source, expected in zip(gradients, sources, differences(function, sources, weights), strict=True):
        assert type(gradient) is np.ndarray and gradient.dtype == source.dtype
        np.testing.assert_allclose(gradient, expected, rtol=rtol, atol=1e-7)
