"""Tables and columns by the names of features: the inputs of ``embedding_bag_columns`` as people have them."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ...base.errors import LoDLevelError
from ...lod import LoDTensor


def list_tables(tables):
    """The names of tables, numbers of those in a list, and the arrays."""
    if isinstance(tables, Mapping):
        names, arrays = [*tables], [*tables.values()]
    elif isinstance(tables, list | tuple):
        names, arrays = [*range(len(tables))], tables
    else:
        raise TypeError(f"tables must be a dictionary or a list of arrays, got {type(tables).__name__}")
    if not names:
        raise ValueError("there are no tables; give one for every column: {name: table}")
    return names, arrays


def list_columns(columns, names, what):
    """The columns, or weights, of these names, in their order."""
    if isinstance(columns, Mapping):
        try:
            found = [columns[name] for name in names]
        except KeyError:
            found = []
        if len(found) == len(columns):
            return found
        absent = [name for name in names if name not in columns]
        strange = [name for name in columns if name not in names]
        where = f"{what} lacks {absent!r:.200}" if absent else f"{what} has {strange!r:.200}"
        remedy = "which tables has; add them" if absent else "which tables lacks; add their tables, or leave them out"
        raise ValueError(f"{where}, {remedy}")
    if isinstance(columns, LoDTensor) and what == "columns":
        return check_all_columns(columns, len(names))
    if not isinstance(columns, list | tuple):
        hint = "; call features.pool(tables)" if hasattr(columns, "pool") else ""
        raise TypeError(f"{what} must be a dictionary or a list, got {type(columns).__name__}{hint}")
    if names != [*range(len(names))]:
        raise TypeError(f"tables is a dictionary, and {what} a list; give both by name, or both in order")
    if len(columns) != len(names):
        raise ValueError(f"there are {len(names)} tables, and {len(columns)} {what}; give one for each table")
    return columns


def check_all_columns(columns, count):
    """Check one LoDTensor of all columns. Returns it alone."""
    if columns.lod_level != 2 or len(columns) != count:
        raise LoDLevelError(
            f"columns are a LoDTensor of lod_level {columns.lod_level} and {len(columns)} sequences; for {count} "
            "tables give one of 2 levels, a sequence of bags for each table"
        )
    return [columns]


def number_tables(arrays):
    """Each array once, and the number of its array for every name."""
    different = {id(array): array for array in arrays}
    if len(different) == len(arrays):
        return arrays, [*range(len(arrays))]
    places = {key: number for number, key in enumerate(different)}
    return [*different.values()], [places[id(array)] for array in arrays]


def call_columns(call, tables, columns, weights, attrs):
    """Call ``embedding_bag_columns``, or a function like it, with columns by name.

    Returns its result, the names and the tables.
    """
    names, arrays = list_tables(tables)
    given = [
        *list_columns(columns, names, "columns"),
        *(() if weights is None else list_columns(weights, names, "weights")),
    ]
    different, numbers = number_tables(arrays)
    return call(*different, *given, tables=numbers, names=names, **attrs), names, arrays


def ranges_of(names, arrays):
    """The columns of each name in the result: first, and one behind the last."""
    ranges, stop = {}, 0
    for name, table in zip(names, arrays, strict=True):
        shape = table.shape if hasattr(table, "shape") else np.shape(table)
        start, stop = stop, stop + math.prod(shape[1:])
        ranges[name] = start, stop
    return ranges
