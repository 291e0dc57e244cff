"""Bags of many tables in one call, by the names of features."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from .. import ops
from ..arrays import is_array
from ..arrays.types import DenseLike, Values
from ..base.errors import LoDLevelError
from ..base.loading import public
from ..base.tracebacks import surface
from ..lod import LoDTensor


@public
@surface
def embedding_bags(
    tables: Mapping[Any, DenseLike] | Sequence[DenseLike],
    columns: Mapping[Any, LoDTensor] | Sequence[LoDTensor] | LoDTensor,
    weights: Mapping[Any, DenseLike] | Sequence[DenseLike] | None = None,
    *,
    pool: Literal["sum", "mean", "sqrt", "max", "min", "prod", "logsumexp", "logmeanexp"] = "sum",
    pad_value: float = 0.0,
    padding_idx: int | None = None,
    is_sparse: bool = True,
    dtype: Literal["float32"] | None = None,
    as_dict: bool = False,
) -> Values | dict[Any, Values]:
    """Look up and pool many columns of ids, each in its table, and put the results side by side, in one call.

    ``out[:, start(name):stop(name)] = embedding_bag(tables[name], columns[name])`` for every name, to the bits of
    these calls, which take longer.

    Parameters
    ----------
    tables : dict of name to array, or list
        Tables ``(height, width)`` of one type, by the names of the *columns*: that of the items stands under each name
        of a column of items, ``{"clicked": items, "bought": items, "user": users}``. That array is one table, with one
        gradient. So one dictionary says which table a column reads, which widths the result has and in which order.
    columns : dict of name to LoDTensor, list, or LoDTensor of two levels
        Ids of one level, a bag for every row of the result; empty ones too. Of the same names, in any order: the order
        of a batch must not decide where a model finds its columns. ``LoDTensor.from_torch`` makes such a dictionary of
        TorchRec's KeyedJaggedTensor. The outer sequences of a LoDTensor are the columns in the order of ``tables``; it
        has no weights.
    weights : dict of name to array, or list, optional
        One number per id, of all columns, with sum and mean.
    pool, pad_value, padding_idx, is_sparse, dtype
        As in ``embedding_bag``, of all columns.
    as_dict : bool
        True returns a dictionary of the columns by name, parts of one array.

    Returns
    -------
    array of shape (bags, sum of widths)
        Columns in the order of ``tables``; or, ``as_dict``, a dictionary of arrays ``(bags, width)``. On a ``Tape`` a
        table has a gradient of SelectedRows, the sum over its columns, unless ``is_sparse=False``.

    Raises
    ------
    ValueError
        A column has no table, or a table no column.
    RowIndexError
        An id is negative or not below the height of its table; the message names the column.
    LoDMismatchError
        Columns have not as many bags.

    See Also
    --------
    Features.pool : The same of a batch of ``Features``.
    embedding_bag_columns : The operator.

    Examples
    --------
    >>> import numpy as np
    >>> items, users = np.array([[0., 1.], [2., 3.], [4., 5.]]), np.array([[10.], [20.]])
    >>> tables = {"clicked": items, "bought": items, "user": users}
    >>> columns = {
    ...     "user": LoDTensor([1, 0], [[1, 1]]),
    ...     "clicked": LoDTensor([2, 2, 1], [[2, 1]]),
    ...     "bought": LoDTensor([1], [[0, 1]]),
    ... }
    >>> embedding_bags(tables, columns)
    array([[ 8., 10.,  0.,  0., 20.],
           [ 2.,  3.,  2.,  3., 10.]])
    >>> embedding_bags(tables, columns, as_dict=True)["user"].tolist()
    [[20.0], [10.0]]
    """
    names, arrays = list_tables(tables)
    given = [
        *list_columns(columns, names, "columns"),
        *(() if weights is None else list_columns(weights, names, "weights")),
    ]
    different, numbers = number_tables(arrays)
    out = ops.embedding_bag_columns(
        *different,
        *given,
        tables=numbers,
        names=names,
        pool=pool,
        pad_value=pad_value,
        padding_idx=padding_idx,
        is_sparse=is_sparse,
        dtype=dtype,
    )
    return split_columns(out, names, arrays) if as_dict else out


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
        return arrays, range(len(arrays))
    places = {key: number for number, key in enumerate(different)}
    return different.values(), [places[id(array)] for array in arrays]


def split_columns(out, names, arrays):
    """The columns of each name."""
    found, stop = {}, 0
    for name, table in zip(names, arrays, strict=True):
        shape = table.shape if is_array(table) else np.shape(table)
        start, stop = stop, stop + math.prod(shape[1:])
        found[name] = ops.slice_columns(out, ranges=[(start, stop)])
    return found
