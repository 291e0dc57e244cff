"""The law of ids, for tests of both devices: an id that is no row raises, and the message has place, id and bound.

What is an id is found by trying: an integer of an input or an attribute is one if 2**63 - 1 in its place raises a
RowIndexError.
"""

from __future__ import annotations

import re

import numpy as np
from calls import calling
from conftest import copy
from samples import SAMPLES

import lodkit
from lodkit import LoDTensor, RowIndexError

LARGEST = np.iinfo(np.int64).max
BOUNDS = re.compile(r"is outside \[(-?\d+), (\d+)\)")


def numbers_of(x):
    return x.values if isinstance(x, LoDTensor) else x


def has_integers(x):
    """Whether an input holds integers, one at least."""
    numbers = numbers_of(x)
    return isinstance(numbers, np.ndarray) and numbers.dtype.kind == "i" and numbers.size > 0


def with_id(x, position, number):
    """Copy an input with another integer at a position of its numbers, counted through all axes."""
    numbers = numbers_of(x).astype(np.int64)
    numbers.reshape(-1)[position] = number
    return x.with_values(numbers) if isinstance(x, LoDTensor) else numbers


def places(x, position):
    """Texts that say where a number is: by axes, counted through them, by its sequence, or the row of it."""
    by_axes = [str(int(i)) for i in np.unravel_index(position, numbers_of(x).shape)]
    texts = [", ".join(by_axes), str(position), ", ".join(by_axes[:-1] or by_axes)]
    if isinstance(x, LoDTensor) and x.lod_level:
        texts.append(str(np.searchsorted(x.offsets(), int(by_axes[0]), side="right") - 1))
    return texts


def says(message, text):
    """Whether a message has a number, or several, that are no part of longer ones."""
    return re.search(rf"(?<![\d-]){re.escape(str(text))}(?!\d)", message) is not None


def refusal(call, number):
    """The message of the RowIndexError of a call with a number in the place of an id; None if there is none."""
    try:
        with np.errstate(all="ignore"):
            call(number)
    except RowIndexError as error:
        return str(error)
    except (lodkit.LodkitError, TypeError, ValueError):  # of what is no id: a length, the number of a segment
        return None
    return None


def check_refusals(call, where):
    """Check that the ends of what a call takes are where its message says. Returns whether it takes ids."""
    found = refusal(call, LARGEST)
    if found is None:
        return False
    bounds = BOUNDS.search(found)
    first, past = map(int, bounds.groups()) if bounds else (0, LARGEST)
    for number in sorted({LARGEST, past, first - 1} if bounds else {LARGEST}):
        message = refusal(call, number)
        assert message, f"{number} is taken for an id in [{first}, {past})"
        assert says(message, number), message
        assert any(says(message, text) for text in where), (where, message)
        low, high = map(int, BOUNDS.search(message).groups()) if bounds else (0, LARGEST)  # these may depend on the id
        assert not low <= number < high, message
    if past > first:
        inside = refusal(call, past - 1)
        assert inside is None or not BOUNDS.search(inside), inside
    return True


def check_operator(name, cases, to=lambda x: x, device="cpu"):
    """Hold each integer input and each integer attribute of some samples to the law. Returns whether one is an id."""
    op, found = lodkit.OPS[name], False
    for inputs, attrs in cases:
        accepted = op._accept(tuple(inputs))
        with calling(name, accepted, attrs, device):
            for i, x in enumerate(accepted):
                if has_integers(x):
                    position = numbers_of(x).size // 2

                    def call(number, i=i, x=x, position=position):
                        arguments = list(map(copy, accepted))
                        arguments[i] = with_id(x, position, number)
                        op(*map(to, arguments), **attrs)

                    if check_refusals(call, places(x, position)):
                        found = True
                        if device == "cpu" and not op.updates:
                            check_out_is_kept(op, accepted, attrs, i, position)
            for attribute, value in attrs.items():
                if type(value) is int:

                    def with_attribute(number, changed=attribute):
                        op(*map(to, map(copy, accepted)), **{**attrs, changed: number})

                    found |= check_refusals(with_attribute, [attribute])
    return found


def check_out_is_kept(op, inputs, attrs, i, position):
    """Check that an id outside raises before ``out`` is written, where the result is one array."""
    with np.errstate(all="ignore"):
        made = numbers_of(op.full(*map(copy, inputs), **attrs))
    if isinstance(made, np.ndarray):
        out, arguments = np.ones_like(made), [*map(copy, inputs)]
        arguments[i] = with_id(inputs[i], position, LARGEST)
        try:
            op.full(*arguments, out=out, **attrs)
        except RowIndexError:
            assert (out == 1).all(), "out was written before an id was refused"


def smallest(name):
    """The samples of an operator with the fewest numbers, one for each input that holds integers."""
    best = {}
    for inputs, attrs in SAMPLES[name]:
        accepted = lodkit.OPS[name]._accept(tuple(inputs))
        size = sum(getattr(numbers_of(x), "size", 0) for x in accepted)
        for i, x in enumerate(accepted):
            if has_integers(x) and (i not in best or size < best[i][0]):
                best[i] = size, (inputs, attrs)
    cases = {id(case): case for _, case in best.values()}
    return list(cases.values())


def check_published(run, inputs):
    """Hold each integer input of a published name to the law; some count negative ids from the end."""
    inputs = [np.asarray(x) if isinstance(x, list) and x and type(x[0]) is int else x for x in inputs]
    for i, x in enumerate(inputs):
        if has_integers(x):
            position = numbers_of(x).size // 2

            def call(number, i=i, x=x, position=position):
                run(*map(copy, inputs[:i]), with_id(x, position, number), *map(copy, inputs[i + 1 :]))

            check_refusals(call, places(x, position))


def documents_ids(op):
    """Whether the documentation of an operator says that it raises RowIndexError."""
    return "RowIndexError" in op.__doc__
