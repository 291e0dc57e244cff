"""Fields of examples, and their errors, which search for the place only on failure."""

from __future__ import annotations

import typing

import numpy as np

from ..base.errors import LoDError


class Field(typing.NamedTuple):
    """One entry of an example. ``shape``: of a row, None for any."""

    name: str
    lod_level: int
    dtype: np.dtype
    shape: tuple | None


def walk(parts, depth, place=()):
    """Yield the index path and value of every part ``depth`` lists below the examples."""
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
    """Name a row by its number."""
    for number, (place, _) in enumerate(walk(column, field.lod_level)):
        if number == row:
            return name(field, place)
    raise IndexError(row)


def list_error(field, column, level, number, part):
    place = next(place for i, (place, _) in enumerate(walk(column, level)) if i == number)
    return LoDError(
        f"{name(field, place)}: {part!r} is not a list; with lod_level {field.lod_level}, rows are "
        f"{field.lod_level} lists deep in an example"
    )


def shape_error(field, column):
    """Return the error for the first row whose shape differs from the first row's."""
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
                "shape; is its lod_level too low?"
            )
    return LoDError(f"field {field.name!r}: rows differ in shape")
