"""Operators on one LoDTensor, over every kind of structure. Nothing here names one."""

from __future__ import annotations

import collections

import numpy as np
import pytest
from calls import calling
from conftest import copy
from samples import SAMPLES, some_of
from test_every_op import same

import lodkit
from lodkit import LoDTensor
from lodkit.registry.kinds import numbers_of
from lodkit.registry.public_call import side_by_side

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
VALUES = some_of([("int64", ()), ("float16", ()), ("float64", (2, 3)), ("float32", ())], 2)


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


def with_two_of_rows():
    """Operators of rows with a sample of two inputs that have as many each, and the places of these."""
    for name, cases in SAMPLES.items():
        op = lodkit.OPS[name]
        for inputs, attrs in cases:
            plain = [numbers_of(x) for x in inputs]
            of_rows = [i for i, input_name in enumerate(op.inputs) if input_name in op.rowwise]
            places = [i for i in of_rows if i < len(plain) and np.ndim(plain[i])]
            if len(places) > 1 and len({len(plain[i]) for i in places}) == 1 and len(plain[places[0]]) > 1:
                yield pytest.param(op, plain, attrs, places[:2], id=name)
                break


@pytest.mark.parametrize(("op", "inputs", "attrs", "places"), [*with_two_of_rows()])
def test_rows_of_two_inputs_have_one_structure(op, inputs, attrs, places):
    """One that they share, equal ones, or levels beside none: planned or not, the results have it. Others raise."""
    (i, j), rows = places, len(inputs[places[0]])
    lengths, expected = [[1, 1], [rows - 1, 1]], op.full(*map(copy, inputs), **attrs)
    first = LoDTensor(inputs[i], lengths)
    for other in (first.with_values(inputs[j]), LoDTensor(inputs[j], lengths), LoDTensor(inputs[j]), inputs[j]) * 2:
        given = [*inputs]
        given[i], given[j] = first, other
        found = op.full(*map(copy, given), **attrs)
        for part, whole in zip(side_by_side(found), side_by_side(expected), strict=True):
            assert part.recursive_sequence_lengths() == lengths
            same(part.values, whole)
        given[j] = LoDTensor(inputs[j], [[rows]])
        with pytest.raises(lodkit.LoDMismatchError, match="different structure"):
            op.full(*map(copy, given), **attrs)


def test_rows_that_a_factor_repeats_do_not_fit_the_structure():
    """In the first call and in planned ones."""
    x = LoDTensor(np.ones((1, 3)), [[1]])
    for _ in range(2):
        assert lodkit.elementwise_mul(x, np.full((1, 3), 2.0)).values.tolist() == [[2.0] * 3]
        with pytest.raises(lodkit.LoDError, match="does not equal"):
            lodkit.elementwise_mul(x, np.ones((2, 3)))


def test_results_of_rows_are_checked_in_every_call():
    """Of a kernel that returns a named tuple, or what no array of numbers is: the same from the second call on."""
    Pair = collections.namedtuple("Pair", "first second")
    make = {"pairs": lambda x: Pair(x, x + 1), "nested": lambda x: (x, (x,)), "objects": lambda x: x.astype(object)}

    @lodkit.op(rowwise=True)
    def made_of_rows(x: lodkit.Dense, /, *, kind: str = "pairs"):
        """Return several results."""

    @made_of_rows.kernel("cpu")
    def _(x, /, *, kind):
        return make[kind](x)

    try:
        x = LoDTensor(np.arange(2.0), [[2]])
        for _ in range(3):
            results = made_of_rows(x), side_by_side(made_of_rows(x, kind="nested"))
            assert [type(part) for result in results for part in result] == [LoDTensor] * 4
            with pytest.raises(lodkit.DTypeError, match="object"):
                made_of_rows(x, kind="objects")
    finally:
        del lodkit.OPS["made_of_rows"]
