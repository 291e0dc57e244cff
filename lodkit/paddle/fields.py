"""A field of the examples that are fed, and the errors of one: they look for the place only when something is wrong."""

from __future__ import annotations

import typing

import numpy as np

from ..errors import LoDError


class Field(typing.NamedTuple):
    """One of several things that an example consists of. ``shape``: of a row, None for as it comes."""

    name: str
    lod_level: int
    dtype: np.dtype
    shape: tuple | None


def walk(parts, depth, place=()):
    """Every part that lies ``depth`` lists below the examples, and the numbers that lead to it."""
    for i, part in enumerate(parts):
        if depth:
            yield from walk(part, depth - 1, (*place, i))
        else:
            yield (*place, i), part


def name(field, place):
    example, *inside = place
    below = "".join(f"[{i}]" for i in inside)
    return f"example {example}, field {field.name!r}" + (f", at {below} (depth {len(inside)})" if below else "")


def place_of_row(field, column, row):
    """The name of a row by its number."""
    for number, (place, _) in enumerate(walk(column, field.lod_level)):
        if number == row:
            return name(field, place)
    raise IndexError(row)


def no_list(field, column, level, number, part):
    place = next(place for i, (place, _) in enumerate(walk(column, level)) if i == number)
    return LoDError(
        f"{name(field, place)}: {part!r} is no list; lod_level {field.lod_level} means rows that lie "
        f"{field.lod_level} lists deep in an example"
    )


def uneven(field, column):
    """The first row whose shape is not that of the first row."""
    first = None
    for place, row in walk(column, field.lod_level):
        try:
            shape = np.shape(row)
        except ValueError:
            return LoDError(f"{name(field, place)}: the row is a list of uneven lists; raise the field's lod_level")
        first = shape if first is None else first
        if shape != first:
            return LoDError(
                f"{name(field, place)}: the row has shape {shape}, the first one {first}; rows of a field have one "
                "shape: is its lod_level too low?"
            )
    return LoDError(f"field {field.name!r}: rows differ in shape")
