"""Arrays of other libraries by the Arrow C interfaces: structures are moved out of their capsules and released once."""

from __future__ import annotations

import ctypes
import typing

from ...base.errors import LoDError
from .c_data import (
    ARRAY,
    SCHEMA,
    STREAM,
    ArrowArray,
    ArrowArrayStream,
    ArrowSchema,
    Get,
    LastError,
    Release,
    pointer_of,
)


class Owned:
    """A structure that is ours, released when nothing refers to it any more: views of its memory do."""

    __slots__ = ("at", "held")

    def __init__(self, held):
        self.held, self.at = held, ctypes.addressof(held)

    def __del__(self, call=Release):
        if self.held.release:
            call(self.held.release)(self.at)


class Column:
    """Elements ``start`` to ``start + count`` of an array's buffers. ``array`` may be None where count is 0."""

    __slots__ = ("array", "count", "owner", "schema", "start")

    def __init__(self, schema, array, owner, count, start=0):
        if schema is None or schema.format is None:
            raise malformed_error("a type is missing, or has no format")
        self.schema, self.array, self.owner, self.count = schema, array, owner, count
        self.start = start if array is None else start + array.offset

    def child(self, i=0, first=0, count=0):
        """``count`` elements of a child, from its element ``first`` on."""
        schema = self.schema.child(i)
        array = None if self.array is None else self.array.child(i)
        if schema is None or (array is None and count > 0):
            raise malformed_error(f"child {i} of {self.schema.format!r} is missing")
        if count and (array.offset < 0 or array.length < first + count):
            raise malformed_error(f"a child has {array.length} elements, but its parent uses {first + count}")
        return Column(schema, array, self.owner, count, first)

    def words(self):
        """The dictionary of a column of ids, as a column."""
        array = None if self.array is None else self.array.words()
        if array is None and self.count:
            raise malformed_error("an array of ids has no dictionary")
        schema = self.schema.words()
        return read_elements(schema, array, self.owner) if array else Column(schema, None, None, 0)

    def field(self, i):
        """A field of a table: a column that no longer keeps the others alive."""
        made = self.child(i, self.start, self.count)
        if made.array is None:
            return made
        owner = take_over(made.array)
        return Column(made.schema, owner.held, owner, self.count, self.start)


class Chunks(typing.NamedTuple):
    """Chunks of one type; ``kept`` holds the memory of the schema."""

    schema: ArrowSchema
    columns: list
    kept: object

    def fields(self):
        """``(name, chunks)`` of each column of a table."""
        for i, name in enumerate(self.names()):
            yield name, Chunks(self.schema.child(i), [chunk.field(i) for chunk in self.columns], self.kept)

    def names(self):
        """Names of the columns of a table, as text: a field without one has an empty name."""
        fields = [self.schema.child(i) for i in range(self.schema.n_children)]
        if None in fields:
            raise malformed_error(f"field {fields.index(None)} is missing")
        return [decode_text(field.name or b"", f"the name of field {i}") for i, field in enumerate(fields)]


def decode_text(data, what):
    """Bytes as the text that they must be."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise malformed_error(f"{what}, {data!r:.80}, is not UTF-8") from None


def malformed_error(what):
    return LoDError(f"malformed Arrow array: {what}; its producer is at fault")


def consumed_error(what):
    return LoDError(f"the Arrow {what} was consumed before: a capsule is read once, so export it again")


def take_over(array):
    """Take an array over from where it lies."""
    if not array.release:
        raise consumed_error("array")
    owner = Owned(ArrowArray.from_buffer_copy(array))
    array.release = None
    return owner


def read_elements(schema, array, owner):
    """All elements of an array."""
    if array.length < 0 or array.offset < 0:
        raise malformed_error(f"length {array.length}, offset {array.offset}")
    return Column(schema, array, owner, array.length)


def chunks_of(x):
    """The arrays behind an object that has ``__arrow_c_array__`` or ``__arrow_c_stream__``."""
    x = _open_dataset(x)
    if hasattr(x, "__arrow_c_array__"):
        capsule, array = x.__arrow_c_array__()
        schema = ArrowSchema.from_address(pointer_of(capsule, SCHEMA))
        if not schema.release:
            raise consumed_error("schema")
        owner = take_over(ArrowArray.from_address(pointer_of(array, ARRAY)))
        return Chunks(schema, [read_elements(schema, owner.held, owner)], capsule)
    if hasattr(x, "__arrow_c_stream__"):
        return _chunks_of_stream(x.__arrow_c_stream__())
    remedy = "lists go to from_nested, arrays to from_lengths"
    if hasattr(x, "collect"):
        remedy = "pass .collect()"  # a lazy frame
    elif hasattr(x, "execute"):
        remedy = "pass a relation, .sql(...)"  # a connection
    raise TypeError(
        f"from_arrow takes an object with __arrow_c_array__ or __arrow_c_stream__ (pyarrow, polars, pandas 3, duckdb), "
        f"got {type(x).__name__}; {remedy}"
    )


def _open_dataset(x):
    """The table, or column, of a Dataset of Hugging Face: of the rows that it has now, in their order."""
    if type(x).__module__.partition(".")[0] != "datasets":
        return x
    if hasattr(x, "source") and hasattr(x, "column_name"):
        return x.source.select_columns([x.column_name]).with_format("arrow")[:]
    if isinstance(x, dict):
        raise TypeError(f"a {type(x).__name__} has several datasets; pass one, x[{next(iter(x), 'train')!r}]")
    if hasattr(x, "iter") and not hasattr(x, "__len__"):
        raise TypeError(
            "an IterableDataset is read in batches: for table in x.with_format('arrow').iter(batch_size=1000): "
            "lodkit.interop.arrow.columns(table)"
        )
    return x.with_format("arrow")[:] if hasattr(x, "with_format") else getattr(x, "table", x)


def _chunks_of_stream(capsule):
    source = ArrowArrayStream.from_address(pointer_of(capsule, STREAM))
    if not source.release:
        raise consumed_error("stream")
    stream = Owned(ArrowArrayStream.from_buffer_copy(source))
    source.release = None
    schema = _next(stream, Get(stream.held.get_schema), ArrowSchema)
    if not schema.held.release:
        raise malformed_error("the stream has no schema")
    columns, get_next = [], Get(stream.held.get_next)
    while (owner := _next(stream, get_next, ArrowArray)).held.release:
        columns.append(read_elements(schema.held, owner.held, owner))
    return Chunks(schema.held, columns, schema)


def _next(stream, get, kind):
    made = Owned(kind())
    status = get(stream.at, made.at)
    if status:
        text = LastError(stream.held.get_last_error)(stream.at) if stream.held.get_last_error else None
        reason = text.decode(errors="replace") if text else f"error {status}"
        raise LoDError(f"the Arrow stream failed: {reason}")
    return made
