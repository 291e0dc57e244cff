"""Columns as LoDTensors: lists become levels, lists of fixed size item shapes, the innermost numbers values."""

from __future__ import annotations

import math
import typing

import numpy as np

from ...base.errors import LoDError
from ...base.progress import show_progress
from ...lod import LoDTensor, freeze
from ...lod.batching import concat
from ...lod.levels import load_compiled
from ..awkward import from_awkward
from ..awkward import is_array as is_awkward
from . import buffers
from .importing import Column, chunks_of
from .words import holds_words, join_words, words_of

_DEPTH = 64


def from_arrow(x, nulls, dictionary):
    """``LoDTensor.from_arrow``."""
    _check(nulls)
    if is_awkward(x):
        return from_awkward(LoDTensor, x, nulls, dictionary)
    return _join_chunks(_single_column(chunks_of(x)), nulls, dictionary)


def columns(
    table: typing.Any, nulls: typing.Literal["raise", "empty"] = "raise", dictionary: bool = False
) -> dict[str, typing.Any]:
    """Read each column of a table, a data frame or a duckdb relation as a LoDTensor.

    Parameters
    ----------
    table : object with ``__arrow_c_stream__`` or ``__arrow_c_array__``
        pyarrow's Table and RecordBatch, polars' and pandas' DataFrame, a duckdb relation; a Dataset of Hugging Face.
    nulls : {"raise", "empty"}
        What to make of a list that is null (``LoDTensor.from_arrow``).
    dictionary : bool
        True: columns of words are given as ids and words; others as they are.

    Returns
    -------
    dict
        Name -> LoDTensor, or ``(LoDTensor, list of str)`` for words. A column keeps no other one in memory.

    Examples
    --------
    >>> from lodkit import LoDTensor
    >>> from lodkit.interop import arrow
    >>> import pyarrow  # doctest: +SKIP
    >>> table = pyarrow.table({"label": [0, 1], "ids": [[1, 2], [3]]})  # doctest: +SKIP
    >>> {name: t.to_list() for name, t in arrow.columns(table).items()}  # doctest: +SKIP
    {'label': [0, 1], 'ids': [[1, 2], [3]]}
    """
    _check(nulls)
    chunks = chunks_of(table)
    if chunks.schema.format != b"+s":
        raise TypeError(f"columns takes a table, got one column ({type(table).__name__}); use LoDTensor.from_arrow")
    made = {}
    fields = [*_fields(chunks)]
    with show_progress("lodkit.interop.arrow.columns", len(fields), "columns") as advance:
        for name, column in fields:
            if name in made:
                raise LoDError(f"two columns have the name {name!r}; rename one")
            made[name] = _join_chunks(column, nulls, dictionary and _holds_words(column.schema), name)
            advance(1, name)
    return made


def _check(nulls):
    if nulls not in ("raise", "empty"):
        raise ValueError(f"nulls must be 'raise' or 'empty', got {nulls!r}")


def _single_column(chunks):
    if chunks.schema.format != b"+s":
        return chunks
    names = chunks.names()
    if len(names) != 1:
        raise TypeError(
            f"from_arrow takes one column, this table has {len(names)} ({', '.join(names)}); "
            "lodkit.interop.arrow.columns(table) reads all of them"
        )
    return next(_fields(chunks))[1]


def _fields(chunks):
    """``(name, chunks)`` of each column of a table, which has no null records."""
    for chunk in chunks.columns:
        if buffers.find_nulls(chunk) is not None:
            raise LoDError("a record is null; drop it first, or pass the fields one by one")
    return chunks.fields()


def _holds_words(schema):
    for _ in range(_DEPTH):
        below = schema.child(0) if schema.n_children == 1 else None
        if below is None:
            break
        schema = below
    return holds_words(schema)


def _join_chunks(chunks, nulls, dictionary, name="x"):
    """One LoDTensor of all chunks: values are copied only where there are several."""
    parts, words, first = [], [], 0
    for column in chunks.columns or [Column(chunks.schema, None, None, 0)]:
        reader = _Reader(name, nulls, dictionary, first)
        parts.append(reader.read(column))
        words.append(reader.words)
        first += len(parts[-1])
    if dictionary:
        parts, words = join_words(parts, words)
    t = parts[0] if len(parts) == 1 else concat(parts)
    return (t, words) if dictionary else t


class _Reader:
    """Reads one chunk, whose first element is element ``first`` of the column."""

    def __init__(self, name, nulls, dictionary, first):
        self.name, self.nulls, self.dictionary, self.first = name, nulls, dictionary, first
        self.offsets, self.empty, self.words = [], [], None

    def read(self, column):
        """A LoDTensor over the memory of the column."""
        hidden, item = None, []
        while (found := self._lists(column, hidden)) is not None:
            column, hidden = found
            if len(self.offsets) > _DEPTH:
                raise LoDError(f"lists are nested more than {_DEPTH} deep")
        rows, visible = column.count, None if hidden is None else ~hidden
        while (size := buffers.fixed_size(column.schema.format)) is not None:
            self._refuse(buffers.find_nulls(column, hidden), "an item of fixed size", tuple(item))
            item.append(size)
            if len(item) > _DEPTH:
                raise LoDError(f"lists are nested more than {_DEPTH} deep")
            hidden = None if hidden is None else np.repeat(hidden, size)
            column = column.child(0, column.start * size, column.count * size)
        if self.dictionary or not buffers.holds_times(column.schema):
            self._refuse(buffers.find_nulls(column, hidden), "a value", tuple(item))
        values = self._values(column, None if hidden is None else ~hidden)
        if item:
            values = values.reshape(rows, *item)
        if visible is not None:
            values = values[visible]
        return LoDTensor._wrap(values, tuple(freeze(o) for o in self._levels()))

    def _values(self, column, visible):
        if not self.dictionary:
            return buffers.numbers(column)
        ids, self.words = words_of(column, visible)
        return ids

    def _lists(self, column, hidden):
        """Take a level off: the column below it, and which of its elements lie in null lists. None below the last."""
        format = column.schema.format
        if format in (b"+l", b"+L"):
            offsets, first = buffers.list_offsets(column)
            child = column.child(0, first, offsets.item(-1))
        elif (size := buffers.fixed_size(format)) is not None and _holds_lists(column.schema):
            child = column.child(0, column.start * size, column.count * size)
            offsets = np.arange(column.count + 1) * size
        else:
            return None
        null = buffers.find_nulls(column, hidden)
        if self.nulls == "raise":
            self._refuse(null, "a list")
        self.offsets.append(offsets)
        self.empty.append((null, hidden))
        gone = null if hidden is None else hidden if null is None else null | hidden
        below = np.repeat(gone, np.diff(offsets)) if gone is not None else None
        return child, below if below is not None and below.any() else None

    def _levels(self):
        """Offsets without what null lists hide."""
        for offsets, (null, hidden) in zip(self.offsets, self.empty, strict=True):
            if hidden is None and null is None:
                yield offsets
                continue
            lengths = np.diff(offsets)
            if null is not None:
                lengths[null] = 0
            lengths = lengths if hidden is None else lengths[~hidden]
            yield load_compiled().lengths_to_offsets(lengths, self.name)

    def _refuse(self, null, what, item=()):
        """Raise for the first null of items of a shape, with the indices that lead to it."""
        if null is None:
            return
        at, *index = map(int, np.unravel_index(np.argmax(null), (len(null) // math.prod(item), *item)))
        for offsets in reversed(self.offsets):
            i = int(np.searchsorted(offsets, at, "right")) - 1
            index.insert(0, at - offsets.item(i))
            at = i
        place = "".join(f"[{i}]" for i in (at + self.first, *index))
        if what == "a list":
            raise LoDError(f"{self.name}{place} is null; read null lists as empty ones with nulls='empty', or fill it")
        raise LoDError(f"{self.name}{place} is null, and {what} must not be; fill it first (fill_null)")


def _holds_lists(schema):
    """Whether lists of any length lie below lists of fixed size."""
    for _ in range(_DEPTH):
        schema = schema.child(0)
        if schema is None or buffers.fixed_size(schema.format) is None:
            return schema is not None and schema.format in (b"+l", b"+L")
    return False
