"""Checks of ids that are columns of a matrix, or rows: each inside the bound, and one value per id."""

from __future__ import annotations

import numpy as np

from ...arrays import MAX_INT64, check_values, integers
from ...base.errors import LoDError, RowIndexError, ShapeMismatchError
from ...lod import values_of
from ...registry import aligned


def count_of(given, largest, what):
    """Number of columns (or rows): the one given, else the largest id + 1."""
    if given is None:
        return min(max(largest, -1) + 1, MAX_INT64)
    if given < 0:
        raise ValueError(f"{what} = {given} is negative; it counts from 0")
    return int(given)


def id_error(ids, position, name, bound, what):
    """Error for the id at ``position`` of the flattened ids."""
    where = tuple(int(i) for i in np.unravel_index(position, ids.shape))
    place, remedy = ", ".join(map(str, where)), f"drop it, or make {what} larger"
    if ids[where] < 0:
        remedy = "drop it: ids count from 0"
    elif bound == MAX_INT64:
        remedy = f"drop it: no {what} is larger"
    return RowIndexError(f"{name}[{place}] = {ids[where]} is outside [0, {bound}) ({what} = {bound}); {remedy}")


def checked_columns(on, ids, given, name, what):
    """Check ids on any device. Returns them and their bound: the one given, else the largest id + 1."""
    largest = -1
    if given is None:
        ids = on.integers(ids, name)
        largest = on.largest_id(ids)
    bound = count_of(given, largest, what)
    return on.checked_ids(ids, bound, name, lambda numbers, at: id_error(numbers, at, name, bound, what)), bound


def checked_vector(on, x, name):
    """Integers as a vector, on any device."""
    x = on.integers(x, name)
    if x.ndim != 1:
        raise LoDError(f"{name} must be one-dimensional, got shape {x.shape}; pass {name}.reshape(-1)")
    return x


def check_values_of(values, ids, name, what, floating=False):
    """Values as an array with one row per id, of a type to compute with."""
    values = aligned(values, ids, name)
    check_values(values.dtype, what, floating=floating)
    rows, count = values.shape[0] if values.shape else "no", len(values_of(ids))
    if rows != count:
        raise ShapeMismatchError(f"{name} has {rows} rows for {count} ids; pass one row per id")
    return values


def check_dense(dense, rows):
    """The array of a matrix, (sequences, columns, *item)."""
    dense = values_of(dense)
    if dense.ndim < 2 or len(dense) != rows:
        rule = f"pass (sequences, columns, *item), a row for each of the {rows} sequences"
        raise ShapeMismatchError(f"dense has shape {tuple(dense.shape)}; {rule}")
    return dense


def cells_of(ids, columns):
    """Cell of each id in a matrix, counted row by row."""
    return ids.segment_ids() * columns + integers(ids.values, "ids")
