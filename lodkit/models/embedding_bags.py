"""Bags of many tables in one call, by the names of features."""

from __future__ import annotations

import inspect
import itertools
import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from .. import ops
from ..arrays import is_array
from ..arrays.types import DenseLike, Values
from ..base.errors import LoDLevelError, OutputError, ShapeMismatchError
from ..base.loading import public
from ..base.signals import uninterrupted
from ..base.suggesting import suggest_nearest
from ..base.tracebacks import surface
from ..lod import LoDTensor, values_of
from ..lod.batching import concat
from ..ops.bag_columns import naming
from ..ops.bag_updates import FUSED, prepare_bag_update
from ..ops.shared import plain
from ..registry.kinds import unwrapped
from ..tape.recording import check_update_on_tape

FUSED_UPDATES = {op.name: op for op in FUSED}


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


@public
@surface
def update_embedding_bags(
    rule: str,
    tables: Mapping[Any, DenseLike] | Sequence[DenseLike],
    columns: Mapping[Any, LoDTensor] | Sequence[LoDTensor],
    grad: DenseLike,
    states: Mapping[Any, Sequence[DenseLike]] | Sequence[Sequence[DenseLike]] | None = None,
    weights: Mapping[Any, DenseLike] | Sequence[DenseLike] | None = None,
    *,
    pool: Literal["sum", "mean", "sqrt"] = "sum",
    **attrs: Any,
) -> None:
    """Update all tables in place by the gradient of ``embedding_bags``, which is never written as rows.

    ``embedding_bag_<rule>`` of each table. One that several columns read takes one step by the sum of their gradients:
    their bags are put one behind another.

    Parameters
    ----------
    rule : str
        An optimizer that has an operator ``embedding_bag_<rule>``: ``"sgd"``, ``"adagrad"``, ``"rowwise_adagrad"``...
    tables, columns, weights
        As ``embedding_bags`` takes them. Tables do not overlap.
    grad : array of shape (bags, sum of widths)
        Gradient of the result.
    states : dict of name to list of arrays, or list, optional
        The states of each table, in the order of the operator; of a table under several names those of the first.
    pool : {"sum", "mean", "sqrt"}
    **attrs
        Those of the operator: ``lr``, ``iteration``, ...

    Raises
    ------
    RowIndexError
        An id is no row of its table. NumPy's tables are all checked before the first is written; arrays of another
        library one by one.

    Examples
    --------
    >>> import numpy as np
    >>> items, users = np.ones((3, 2)), np.ones((2, 1))
    >>> tables = {"clicked": items, "bought": items, "user": users}
    >>> columns = {"clicked": LoDTensor([2, 2], [[2]]), "bought": LoDTensor([1], [[1]]), "user": LoDTensor([0], [[1]])}
    >>> update_embedding_bags("sgd", tables, columns, np.ones((1, 5)), lr=0.25)
    >>> items.tolist(), users.tolist()
    ([[1.0, 1.0], [0.75, 0.75], [0.5, 0.5]], [[0.75], [1.0]])
    """
    if not isinstance(rule, str) or f"embedding_bag_{rule}" not in FUSED_UPDATES:
        known = ", ".join(name.removeprefix("embedding_bag_") for name in FUSED_UPDATES)
        raise ValueError(
            f"rule {rule!r:.80} has no update by bags; there are {known}{suggest_nearest(rule, known.split(', '))}"
        )
    op = FUSED_UPDATES[f"embedding_bag_{rule}"]
    names, arrays = list_tables(tables)
    if isinstance(columns, LoDTensor):
        columns = columns.sequences(0)
    for name, array in zip(names, arrays, strict=True):
        if not is_array(array):
            raise TypeError(f"tables[{name!r}] is {type(array).__name__}, and would not be updated; give an array")
    bags = list_columns(columns, names, "columns")
    factors = [None] * len(names) if weights is None else list_columns(weights, names, "weights")
    kept = list_states(states, names)
    parts = split_gradient(grad, names, arrays, bags)
    places: dict[int, list[int]] = {}
    for k, array in enumerate(arrays):
        places.setdefault(id(array), []).append(k)
    steps = [
        join_step([(names[k], arrays[k], bags[k], parts[k], kept[k], factors[k]) for k in ks]) for ks in places.values()
    ]
    for step in steps:
        check_step(op, pool, *step)
    refuse_shared_memory([array for _, table, _, _, own, _ in steps for array in (table, *own)])
    with uninterrupted():
        for _, table, ids, part, own, factor in steps:
            absent = (None,) * (len(op.inputs) - 4 - len(own))
            op(table, ids, part, *own, *absent, factor, pool=pool, **attrs)


def list_states(states, names):
    """The states of each name, in the order of the names; none by default."""
    if states is None:
        return [()] * len(names)
    if isinstance(states, Mapping):
        if strange := [name for name in states if name not in names]:
            raise ValueError(f"states has {strange!r:.200}, which tables lacks")
        return [states.get(name, ()) for name in names]
    if not isinstance(states, list | tuple) or len(states) != len(names):
        raise ValueError(f"states must be a dictionary, or a list with those of each of {len(names)} tables")
    return states


def split_gradient(grad, names, arrays, bags):
    """The columns of the gradient for each table, in the shape of its rows."""
    grad = grad if is_array(grad) else np.asarray(grad)
    shapes = [array.shape[1:] for array in arrays]
    ends = [0, *itertools.accumulate(math.prod(shape) for shape in shapes)]
    for name, column in zip(names, bags, strict=True):
        if not isinstance(column, LoDTensor) or column.lod_level != 1:
            raise LoDLevelError(f"columns[{name!r}] must be a LoDTensor of one level: LoDTensor(ids, [lengths])")
        if (len(column), ends[-1]) != tuple(grad.shape):
            raise ShapeMismatchError(
                f"grad has shape {tuple(grad.shape)}; for {len(column)} bags of columns[{name!r}] and tables of "
                f"{ends[-1]} columns in all give {(len(column), ends[-1])}"
            )
    parts = (ops.slice_columns(grad, ranges=[pair]) for pair in itertools.pairwise(ends))
    return [part.reshape(part.shape[0], *shape) for part, shape in zip(parts, shapes, strict=True)]


def join_step(columns):
    """One step of the columns of a table: their bags one behind another."""
    name, table, ids, part, states, factor = columns[0]
    for other, _, _, _, given, _ in columns[1:]:
        if len(given) and not (len(given) == len(states) and all(map(operator.is_, given, states))):
            raise ValueError(f"{name!r} and {other!r} are one table with other states; give those of {name!r} alone")
    if len(columns) > 1:
        _, _, every, parts, _, factors = zip(*columns, strict=True)
        ids, part = concat(every), concat([LoDTensor(p, [[p.shape[0]]]) for p in parts]).values
        if factor is not None:
            factor = concat([LoDTensor(values_of(f), [[values_of(f).shape[0]]]) for f in factors]).values
    return name, table, ids, part, tuple(states), factor


def check_step(op, pool, name, table, ids, part, states, factor):
    """Refuse what the update of a table would refuse, of NumPy's arrays."""
    optimizer = op.definition.update.definition.optimizer
    needed = [state for state in op.inputs if state not in ("param", "ids", "grad", "weights")]
    least = sum(op.signature.parameters[state].default is inspect.Parameter.empty for state in needed)
    if not least <= len(states) <= len(needed):
        raise ValueError(
            f"{op.name} has the states {', '.join(needed) or '(none)'}; states[{name!r}] has {len(states)}"
        )
    if isinstance(table, np.ndarray):
        plain_states = [unwrapped(state) for state in states]
        args = unwrapped(table), ids, part, needed, plain_states, unwrapped(factor), pool, optimizer
        naming(f"tables[{name!r}]", prepare_bag_update, plain, op.name, *args)
    check_update_on_tape(op, (table, part, *states))


def refuse_shared_memory(arrays):
    """Refuse tables and states that share memory, which would step twice."""
    arrays = [array for array in arrays if isinstance(array, np.ndarray) and array.size]
    # What can be written in place is contiguous, as the checks before have found.
    starts = (array.__array_interface__["data"][0] for array in arrays)
    spans = sorted((start, start + array.nbytes) for start, array in zip(starts, arrays, strict=True))
    if any(first[1] > second[0] for first, second in itertools.pairwise(spans)):
        raise OutputError(
            "tables, or their states, share memory, and would step twice; give one array under all its names, and "
            "every table states of its own"
        )


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
