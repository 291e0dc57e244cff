"""Bags of many tables side by side: the look-up of a model with a table per feature, in one call."""

from __future__ import annotations

import math
import operator
from typing import Any, Literal, NamedTuple

import numpy as np

from ..arrays import FLOATING, INTEGERS, ORDERED, mixed_types, native
from ..base.errors import LodkitError, LoDLevelError, LoDMismatchError, ShapeMismatchError
from ..lod import LoDTensor, check_bag, values_of
from ..registry import Dense, VarDesc, op, pooled_desc
from .columns import slice_columns
from .embedding import BagPool, embedding_bag, embedding_bag_grad, embedding_bag_weights_grad, prepare_weights
from .selected_rows import sum as add
from .shared import plain
from .shared.reductions import result_dtype
from .shared.tables import check_padding

DOCS_PAGE = "look-up"
SEARCH_WORDS = {
    "embedding_bag_columns": (
        "EmbeddingBagCollection, many tables, DLRM, sparse features, TBE, split table batched embeddings"
    )
}
INT64 = np.dtype(np.int64)


class Bags(NamedTuple):
    """The checked inputs of ``embedding_bag_columns``.

    Attributes
    ----------
    columns : list of tuple
        Of each its number; the table; a vector of int64 that has its ids, of which some may be no rows; their weights,
        or None; the offsets of its bags there; where its columns of the result begin; the number of its ids; height and
        width of the table.
    shape : tuple of int
        Of the result: bags, and the sum of all widths.
    numbers : int
        Numbers of the rows at all ids.
    dtype : numpy.dtype
        Type of the result.
    label : callable
        ``label(k)`` is what errors call the k-th column.
    """

    columns: list
    shape: tuple
    numbers: int
    dtype: np.dtype
    label: Any


def split_inputs(xs, tables):
    """Split the inputs into tables, columns of ids, or one LoDTensor of all, and weights, which there may be none of.

    Returns also the number of the table of each column.
    """
    try:
        tables = [*map(operator.index, tables)]
    except TypeError as error:
        what = "a list of integers, the number of each column's table"
        raise TypeError(f"tables must be {what}, got {tables!r:.80}") from error
    count, columns = len({*tables}), len(tables)
    if not columns or min(tables) != 0 or max(tables) != count - 1:
        raise ValueError(
            f"tables = {tables!r:.80} must name every table, counted from 0: [0, 1, 0] of two tables for three columns"
        )
    rest = len(xs) - count
    if rest == 1 and getattr(xs[-1], "lod_level", 0) == 2:
        columns = 1
    elif rest not in (columns, 2 * columns):
        raise TypeError(
            f"{count} tables and {columns} columns of ids are {count + columns} inputs, with weights "
            f"{count + 2 * columns}, with one LoDTensor of two levels {count + 1}; got {len(xs)}"
        )
    return xs[:count], xs[count : count + columns], xs[count + columns :], tables


def label_by(names, count):
    """Make the function of what errors call the ids of so many columns."""
    if names is not None and (not isinstance(names, list | tuple) or len(names) != count):
        raise ValueError(f"names must be a list of {count} names, one for each column, got {names!r:.80}")
    return lambda k: f"columns[{k if names is None else names[k]!r}]"


def check_column(bags, label):
    """Check a column that is not as most are. Returns its LoDTensor, of a vector of ids."""
    if not isinstance(bags, LoDTensor):
        raise TypeError(f"{label} is {type(bags).__name__}; give a LoDTensor of ids: LoDTensor(ids, [lengths])")
    bags = check_bag(bags, label)
    if bags.lod_level > 1:
        raise LoDLevelError(
            f"{label} has lod_level {bags.lod_level}, and columns have a bag for each row of the result; "
            "give the innermost level: LoDTensor.from_offsets(x.values, x.row_offsets())"
        )
    return bags


def naming(label, check, *args, **attrs):
    """Call a check; its errors begin with a label."""
    try:
        return check(*args, **attrs)
    except (LodkitError, ValueError) as error:
        error.args = (f"{label}: {error}", *error.args[1:])
        raise


def check_table(table, first, label, k):
    """Check a table that is not as most are. Returns it as rows of numbers."""
    if not table.ndim:
        raise ShapeMismatchError(f"the table of {label(k)} has no dimension; give (rows, width)")
    if native(table.dtype) != native(first):
        raise mixed_types(f"the table of {label(k)}", table.dtype, f"that of {label(0)}", first)
    return table if table.ndim == 2 else table.reshape(table.shape[0], math.prod(table.shape[1:]))


def check_joined(ids, count):
    """Check one LoDTensor of all columns. Returns the number of bags of each."""
    outer, _ = ids._lod
    if len(outer) != count + 1:
        raise LoDMismatchError(f"the LoDTensor of all columns has {len(outer) - 1}, and there are {count} in tables")
    bags = outer.item(1)
    if not np.array_equal(outer, np.arange(count + 1) * bags):
        lengths = np.diff(outer)
        k = int(np.argmax(lengths != bags))
        raise LoDMismatchError(
            f"columns[{k}] has {lengths[k]} bags, columns[0] {bags}; give each a bag for every row of the result, "
            "empty ones too"
        )
    return bags


def check_shortest(columns, label, padding_idx):
    """Refuse a row of padding that some table does not have."""
    if padding_idx is not None:
        k, *_, height, _ = min(columns, key=lambda column: column[-2])
        naming(label(k), check_padding, padding_idx, height)


def prepare_joined(on, given, ids, numbers, label, pool, padding_idx, dtype):
    """``prepare_columns`` of one LoDTensor of all columns."""
    if ids._values.ndim != 1:
        ids = check_bag(ids, "the LoDTensor of all columns")
    bags, offsets, flat = check_joined(ids, len(numbers)), ids._lod[1], on.integers(ids._values, "ids")
    first, found, start, total = given[0].dtype, [], 0, 0
    bounds = offsets[::bags].tolist() if bags else [0] * (len(numbers) + 1)
    for k, number in enumerate(numbers):
        table, size = given[number], bounds[k + 1] - bounds[k]
        if table.ndim != 2 or table.dtype is not first:
            table = check_table(table, first, label, k)
        height, width = table.shape
        found.append((k, table, flat, None, offsets[k * bags : (k + 1) * bags + 1], start, size, height, width))
        start, total = start + width, total + size * width
    check_shortest(found, label, padding_idx)
    return Bags(found, (bags, start), total, result_dtype(first, pool, dtype), label)


def own_ids(on, column):
    """The ids of a column, and the offsets of its bags, from 0 on."""
    _, _, ids, _, offsets, _, size, _, _ = column
    first = offsets.item(0)
    return (ids, offsets) if size == ids.shape[0] else (on.part(ids, first, first + size), offsets - first)


def prepare_columns(on, xs, tables, names, pool, padding_idx, dtype):
    """Check the inputs of embedding_bag_columns on any device. Returns ``Bags``."""
    given, columns, weights, numbers = split_inputs(xs, tables)
    if LoDTensor in {*map(type, given)}:
        raise TypeError(
            f"a LoDTensor is among the first {len(given)} inputs; give the tables first, then columns of ids"
        )
    label, first, segments, found = label_by(names, len(numbers)), given[0].dtype, 0, []
    start = total = 0
    if len(columns) == 1 and not weights and getattr(columns[0], "lod_level", 0) == 2:
        return prepare_joined(on, given, columns[0], numbers, label, pool, padding_idx, dtype)
    for k, (number, bags) in enumerate(zip(numbers, columns, strict=True)):
        table = given[number]
        if not (type(bags) is LoDTensor and len(bags._lod) == 1 and bags._values.ndim == 1):
            bags = check_column(bags, label(k))
        (offsets,) = bags._lod
        if len(offsets) != segments:
            if k:
                raise LoDMismatchError(
                    f"{label(k)} has {len(offsets) - 1} bags, {label(0)} {segments - 1}; "
                    "give each a bag for every row of the result, empty ones too"
                )
            segments = len(offsets)
        flat = bags._values
        if type(flat) is not np.ndarray or flat.dtype is not INT64 or not flat.flags.c_contiguous:
            flat = on.integers(flat, label(k))
        if table.ndim != 2 or table.dtype is not first:
            table = check_table(table, first, label, k)
        w = weights[k] if weights else None
        if w is not None:
            w = naming(label(k), prepare_weights, table, bags, flat, w, pool, None)
        (size,), (height, width) = flat.shape, table.shape
        found.append((k, table, flat, w, offsets, start, size, height, width))
        start, total = start + width, total + size * width
    check_shortest(found, label, padding_idx)
    return Bags(found, (segments - 1, start), total, result_dtype(first, pool, dtype), label)


def name_inputs(xs, attrs):
    """Say of each input whether it is one of the tables, of the ids or of the weights."""
    parts = split_inputs(xs, attrs["tables"])[:3]
    return [name for name, part in zip(("tables", "ids", "weights"), parts, strict=True) for _ in part]


@op(types={"tables": ORDERED, "ids": INTEGERS, "weights": FLOATING}, parts=name_inputs)
def embedding_bag_columns(
    *xs: Dense | LoDTensor,
    tables: Any,
    names: Any = None,
    pool: BagPool = "sum",
    pad_value: float = 0.0,
    padding_idx: int | None = None,
    is_sparse: bool = True,
    dtype: Literal["float32"] | None = None,
) -> Dense:
    """Put pooled look-ups side by side: the columns of ``embedding_bag`` of each table and its ids, in one call.

    The operator of ``lodkit.embedding_bags``, which takes dictionaries.

    Parameters
    ----------
    *xs : arrays and LoDTensors
        First the tables, each once, all of one type. Then the ids of each column, with one level and the same number of
        bags. Then the weights of all columns, or none. Or, after the tables, one LoDTensor of two levels, whose outer
        sequences are the columns.
    tables : list of int
        The table of each column, by its number among the inputs.
    names : list, optional
        Names of the columns in errors.
    pool, pad_value, padding_idx, is_sparse, dtype
        As in ``embedding_bag``, of all columns.

    Returns
    -------
    array of shape (bags, sum of widths)
        The gradient of a table is the sum over its columns, SelectedRows with a row for every id.

    Raises
    ------
    RowIndexError
        An id is negative or not below the height of its table; the message names the column.
    LoDMismatchError
        Columns have not as many bags.

    Examples
    --------
    >>> items, users = np.array([[0., 1.], [2., 3.], [4., 5.]]), np.array([[10.], [20.]])
    >>> clicked, bought, user = LoDTensor([2, 2, 1], [[2, 1]]), LoDTensor([1], [[0, 1]]), LoDTensor([1, 0], [[1, 1]])
    >>> embedding_bag_columns(items, users, clicked, bought, user, tables=[0, 0, 1])
    array([[ 8., 10.,  0.,  0., 20.],
           [ 2.,  3.,  2.,  3., 10.]])
    """
    found = prepare_columns(plain, xs, tables, names, pool, padding_idx, dtype)
    attrs = {"pool": pool, "pad_value": pad_value, "padding_idx": padding_idx, "dtype": dtype}
    parts = []
    for column in found.columns:
        k, table, _, w, *_ = column
        ids = LoDTensor.from_offsets(*own_ids(plain, column))
        parts.append(naming(found.label(k), embedding_bag.definition, table, ids, w, **attrs))
    return np.concatenate(parts, axis=1)


@embedding_bag_columns.infer_rule
def _(*xs, tables, names=None, pool="sum", pad_value=0.0, padding_idx=None, is_sparse=True, dtype=None):
    given, columns, _, numbers = split_inputs(xs, tables)
    widths = [math.prod(given[number].dims[1:]) for number in numbers]
    width, kind = -1 if min(widths) < 0 else sum(widths), result_dtype(given[0].dtype, pool, dtype)
    if columns[0].lod_level == 2:
        return VarDesc("", given[0].type, kind, (-1, width))
    return pooled_desc(columns[0], -1, (width,), kind)


@embedding_bag_columns.gradient
def _(call, grad):
    attrs, grad, end = call.attrs, values_of(grad), 0
    given, columns, weights, numbers = split_inputs(call.inputs, attrs["tables"])
    taken = len(columns) + len(weights)
    columns = columns[0].sequences(0) if columns[0].lod_level == 2 else columns
    shared = {name: attrs[name] for name in ("pool", "padding_idx")}
    by_table, by_weights = [[] for _ in given], []
    for k, (number, ids) in enumerate(zip(numbers, columns, strict=True)):
        table, w = given[number], values_of(weights[k]) if weights else None
        start, end = end, end + math.prod(table.shape[1:])
        part = slice_columns(grad, ranges=[(start, end)])
        part = part if table.ndim == 2 else part.reshape(part.shape[0], *table.shape[1:])
        if call.wanted[number]:
            by_table[number].append(embedding_bag_grad(table, ids, part, w, is_sparse=attrs["is_sparse"], **shared))
        wanted = weights and call.wanted[len(given) + len(columns) + k]
        by_weights.append(embedding_bag_weights_grad(table, ids, part, w, **shared) if wanted else None)
    summed = [(parts[0] if len(parts) == 1 else add(*parts)) if parts else None for parts in by_table]
    return (*summed, *[None] * (taken - len(weights)), *(by_weights if weights else ()))


@embedding_bag_columns.example
def _(dtype):
    ids = LoDTensor(np.array([0, 2, 2]), [[1, 2]])
    pairs = [(np.ones((3, d), dtype), np.ones((4, d), dtype)) for d in (16, 64)]
    return [((*pair, ids, ids, ids), {"tables": (0, 1, 0), "pool": pool}) for pair in pairs for pool in ("sum", "mean")]
