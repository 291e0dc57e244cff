"""Buffers of imported arrays as NumPy arrays: read-only views that keep the array alive, checked before use."""

from __future__ import annotations

import numpy as np

from ...base.errors import DTypeError, LoDError
from ...lod.levels import load_compiled
from .c_data import NUMBERS
from .importing import malformed_error
from .times import read_times, stored_type, times_of

LONGEST_SIZE = len("+w:") + 18  # of a format of lists of fixed size, in digits
_DICTIONARY = "pass dictionary=True for ids and the list of words"
NAMES = {**{format: dtype.name for format, dtype in NUMBERS.items()}, b"b": "bool", b"n": "null"}
_KINDS = {
    **dict.fromkeys((b"u", b"U", b"vu"), ("words", _DICTIONARY)),
    **dict.fromkeys((b"z", b"Z", b"vz"), ("bytes", "encode them as numbers first")),
    b"w": ("bytes", "encode them as numbers first"),
    **dict.fromkeys((b"+l", b"+L", b"+w"), ("lists", "convert them to numbers first")),
    b"+s": ("records", "pass one field, or a table to lodkit.interop.arrow.columns"),
    b"+m": ("maps", "Features.from_arrow reads maps"),
    b"+v": ("list views", "cast to lists, pyarrow.list_(...), first"),
    b"+u": ("unions", "pass one of their fields"),
    b"+r": ("runs", "decode them first, pyarrow.compute.run_end_decode"),
    **dict.fromkeys((b"tts", b"ttm"), ("times of day", "cast to int32 first")),
    **dict.fromkeys((b"tdD", b"tdm"), ("dates", "cast them to timestamps first")),
    b"ts": ("timestamps", "cast to int64 first"),
    b"tD": ("durations", "cast to int64 first"),
    b"ti": ("intervals", "convert them to numbers first"),
    b"t": ("times of day", "cast to int64 first"),
    b"d": ("decimals", "cast to float64 first"),
}


class Memory:
    """Memory of another library as an array's base: ``owner`` lives as long as the array."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, address, count, dtype, owner):
        self.owner = owner
        self.__array_interface__ = {"data": (address, True), "shape": (count,), "typestr": dtype.str, "version": 3}


def view(column, i, start, count, dtype):
    """Elements ``start`` to ``start + count`` of buffer i, read-only; a copy only where memory is not aligned."""
    if not count:
        return np.empty(0, dtype)
    if count < 0:
        raise malformed_error(f"buffer {i} of {column.schema.format!r} has {count} elements")
    address = column.array.buffer(i)
    if not address:
        raise malformed_error(f"buffer {i} of {column.schema.format!r} is missing")
    found = np.asarray(Memory(address + start * dtype.itemsize, count, dtype, column.owner))
    return found.copy() if address % dtype.itemsize else found


BYTES = np.dtype(np.uint8)
#: The view of a word: up to so many bytes of it lie behind its length, a longer word in a buffer.
MAX_INLINE_BYTES = 12
_VIEW = np.dtype([("length", np.int32), ("prefix", np.int32), ("buffer", np.int32), ("offset", np.int32)])


def bits(column, i):
    """Bits of the column's elements, as booleans."""
    start, count = column.start, column.count
    found = view(column, i, start // 8, (start % 8 + count + 7) // 8, BYTES)
    return np.unpackbits(found, bitorder="little")[start % 8 : start % 8 + count].view(bool)


def find_nulls(column, hidden=None):
    """Which elements are null, or None where none is; of ``hidden`` ones nobody asks."""
    array = column.array
    if not column.count or not array.null_count:
        return None
    # The type of columns of nothing but nulls, which has no bitmap.
    if column.schema.format == b"n":
        return np.ones(column.count, bool) if hidden is None else ~hidden if not hidden.all() else None
    if not array.buffer(0):
        if array.null_count > 0:
            raise malformed_error(f"{array.null_count} nulls, but no bitmap says which")
        return None
    null = ~bits(column, 0)
    if hidden is not None:
        null &= ~hidden
    return null if null.any() else None


def list_offsets(column):
    """Offsets of lists or words, from 0, copied and then checked; and where in the child the first one starts."""
    if not column.count:
        return np.zeros(1, np.int64), 0
    dtype = NUMBERS[b"l" if column.schema.format in (b"+L", b"U") else b"i"]
    offsets = view(column, 1, column.start, column.count + 1, dtype).astype(np.int64)
    first = offsets.item(0)
    i = load_compiled().first_decrease(offsets)
    if first < 0 or i:
        raise malformed_error(
            f"offset {offsets[i]} at {i} follows {offsets[i - 1]}" if i else f"the first offset is {first}"
        )
    if first:
        offsets -= first
    return offsets, first


def word_views(column):
    """Views of words, copied, and the buffers of bytes that they may point into."""
    raw = view(column, 1, column.start * _VIEW.itemsize, column.count * _VIEW.itemsize, BYTES).tobytes()
    count = 0 if column.array is None else max(column.array.n_buffers - 3, 0)
    sizes = view(column, count + 2, 0, count, np.dtype(np.int64)).tolist()
    return np.frombuffer(raw, _VIEW), [view(column, 2 + i, 0, size, BYTES) for i, size in enumerate(sizes)]


def fixed_size(format):
    """Size of the lists of a format ``+w:size``; None for other formats."""
    if not format.startswith(b"+w:"):
        return None
    if not format[3:].isdigit() or len(format) > LONGEST_SIZE:
        raise malformed_error(f"lists of {format[3:].decode(errors='replace'):.80} elements")
    return int(format[3:])


def holds_values(format):
    """Whether a format is that of numbers, booleans or times."""
    return format in NUMBERS or format == b"b" or times_of(format) is not None


def holds_times(schema):
    """Whether a column of a schema is of times, or of a dictionary of times."""
    return times_of((schema.words() if schema.dictionary else schema).format) is not None


def numbers(column):
    """Numbers or times of a column: a view; booleans, days, and what a dictionary stands for, are copied."""
    format, count = column.schema.format, column.count
    if column.schema.dictionary:
        if not holds_values(column.schema.words().format):
            raise _format_error(column.schema.words().format)
        return _numbers_of_dictionary(column)
    if format in NUMBERS:
        return view(column, 1, column.start, count, NUMBERS[format])
    if (dtype := times_of(format)) is not None:
        return read_times(view(column, 1, column.start, count, stored_type(dtype)), dtype, find_nulls(column))
    if format == b"b":
        return bits(column, 1) if count else np.empty(0, bool)
    if format == b"n":
        # If there is any element, it is null.
        return np.zeros(count)
    raise _format_error(format)


def _numbers_of_dictionary(column):
    """Numbers or times that the ids of a dictionary stand for, copied; NaT for null, of which numbers have none."""
    words = column.words()
    is_time = times_of(words.schema.format) is not None
    if not is_time and find_nulls(words) is not None:
        raise LoDError("the dictionary has a null; fill it first")
    found, at = numbers(words), ids(column, words.count)
    found = found[at] if len(found) else np.zeros(len(at), found.dtype)
    return read_times(found, found.dtype, find_nulls(column)) if is_time else found


def ids(column, height):
    """Ids of a column with a dictionary of ``height`` words, int64, copied and then checked."""
    dtype = NUMBERS.get(column.schema.format)
    if dtype is None or dtype.kind not in "iu":
        raise malformed_error(f"ids of format {column.schema.format!r}")
    found = view(column, 1, column.start, column.count, dtype).astype(np.int64)
    null = find_nulls(column)
    if null is not None:
        found[null] = 0
    if len(found) and not 0 <= found.min() <= found.max() < max(height, 0 if null is None else 1):
        raise malformed_error(f"ids from {found.min()} to {found.max()} for a dictionary of {height} words")
    return found


def describe_format(format):
    """A format in words."""
    return NAMES.get(format) or _kind(format)[0]


def _kind(format):
    unknown = f"the unknown format {format.decode(errors='replace')!r:.80}", "convert them to numbers first"
    return next((found for start, found in _KINDS.items() if format.startswith(start)), unknown)


def _format_error(format):
    kind, remedy = _kind(format)
    return DTypeError(f"from_arrow reads lists of numbers, not {kind}; {remedy}")
