"""Operators on one LoDTensor, over every kind of structure. Nothing here names one."""

from __future__ import annotations

import numpy as np
import pytest
from calls import calling
from conftest import copy
from samples import SAMPLES
from test_every_op import same

import lodkit
from lodkit import LoDTensor

#: One sequence, none, empty ones alone and everywhere; up to three levels.
STRUCTURES = {
    "one": [[3]],
    "no sequences": [[]],
    "all empty": [[0, 0]],
    "empty in front": [[0, 0, 4]],
    "empty between": [[2, 0, 0, 4]],
    "empty behind": [[4, 2, 0]],
    "everywhere": [[0, 0, 4, 0, 3, 0, 0, 5, 0, 0]],
    "two levels": [[2, 0, 1], [2, 1, 3]],
    "two levels, nothing": [[0, 2], [0, 0]],
    "two levels, no sequences": [[], []],
    "three levels": [[1, 2], [2, 0, 1], [3, 0, 1]],
    "three levels, one": [[1], [1], [4]],
}
#: In the shapes that samples have in these types: others would be compiled for this alone.
VALUES = (("int64", ()), ("float16", ()), ("float32", ()), ("float64", (2, 3)))


def unary():
    """Operators with a sample of a LoDTensor alone, and that sample's attributes."""
    for name, cases in SAMPLES.items():
        attrs = [a for inputs, a in cases if len(inputs) == 1 and isinstance(inputs[0], LoDTensor)]
        if attrs and not lodkit.OPS[name].rowwise:
            yield pytest.param(name, attrs[0], id=name)


@pytest.mark.parametrize(("name", "attrs"), [*unary()])
def test_every_structure(name, attrs):
    """The kernel gives what the definition gives, or both refuse for one reason."""
    op, ran = lodkit.OPS[name], 0
    for lengths in STRUCTURES.values():
        rows = sum(lengths[-1])
        for dtype, item in VALUES:
            numbers = np.random.default_rng(0).integers(0, 5, (rows, *item))
            x = LoDTensor(numbers.astype(dtype), lengths)
            try:
                expected = op.definition(copy(x), **attrs)
            except (lodkit.LodkitError, ValueError) as refusal:
                with calling(name, [x], attrs), pytest.raises(type(refusal)):
                    op(x, **attrs)
                continue
            with calling(name, [x], attrs):
                same(op(copy(x), **attrs), expected)
            ran += 1
    if not ran:
        pytest.skip("its attributes fit the structure of their sample alone")
