"""What operators check whose ids are columns of a matrix, or rows: each inside, and one value each."""

from __future__ import annotations

import numpy as np

from ...arrays import check_values, integers
from ...arrays.checks import MOST
from ...errors import RowIndexError, ShapeMismatchError
from ...lod.lod_tensor import values_of
from ...registry.kinds import aligned


def count_of(given, largest, what):
    """How many columns (or rows) there are: as many as given, else the largest id + 1."""
    if given is None:
        if largest == MOST:
            raise RowIndexError(f"an id is {largest}: no {what} is larger; drop it")
        return max(largest + 1, 0)
    if given < 0:
        raise ValueError(f"{what} = {given} is negative; it counts from 0")
    return int(given)


def outside(ids, position, name, bound, what):
    """The error for the id at ``position`` of the flattened ids."""
    where = tuple(int(i) for i in np.unravel_index(position, ids.shape))
    place, remedy = ", ".join(map(str, where)), f"drop it, or make {what} larger"
    if ids[where] < 0:
        remedy = "drop it: ids count from 0"
    return RowIndexError(f"{name}[{place}] = {ids[where]} is outside [0, {bound}) ({what} = {bound}); {remedy}")


def check_inside(ids, given, name, what):
    """Ids as int64, each inside the bound, and the bound."""
    ids = integers(ids, name)
    bound = count_of(given, int(ids.max(initial=-1)), what)
    bad = (ids < 0) | (ids >= bound)
    if bad.any():
        raise outside(ids, int(np.argmax(bad)), name, bound, what)
    return ids, bound


def check_values_of(values, ids, name, what, floating=False):
    """The array of values, one row for every id, of a type that can be computed with."""
    values = aligned(values, ids, name)
    check_values(values.dtype, what, floating=floating)
    check_one_each(values, len(values_of(ids)), name)
    return values


def check_one_each(values, count, name):
    rows = values.shape[0] if values.shape else "no"
    if rows != count:
        raise ShapeMismatchError(f"{name} has {rows} rows for {count} ids; pass one row an id")


def check_dense(dense, rows):
    """The array of a matrix (or of one of items), with a row for every sequence."""
    dense = values_of(dense)
    if dense.ndim < 2 or len(dense) != rows:
        rule = f"pass (sequences, columns, *item), a row for each of the {rows} sequences"
        raise ShapeMismatchError(f"dense has shape {tuple(dense.shape)}; {rule}")
    return dense


def cells_of(ids, columns):
    """The cell of each id in a matrix that is read row by row."""
    return ids.segment_ids() * columns + integers(ids.values, "ids")
