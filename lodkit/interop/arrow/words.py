"""Columns of words: their ids, and the list of words that these count."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ...base.errors import DTypeError, LoDError
from . import buffers
from .importing import decode_text, malformed_error

FORMATS = (b"u", b"U", b"vu")  # offsets of 32 bits, of 64 bits, views


def holds_words(schema):
    """Whether a type is that of words, or of ids with a dictionary of words."""
    return (schema.words() or schema).format in FORMATS


def words_of(column, visible):
    """Ids of a column's words, and the words by id; ``visible`` (or None): those that are not in null lists."""
    if not holds_words(column.schema):
        format = column.schema.format.decode(errors="replace")
        raise DTypeError(f"dictionary=True is for words, not format {format!r:.80}; leave it out")
    if column.schema.dictionary:
        words = column.words()
        if buffers.find_nulls(words) is not None:
            raise LoDError("the dictionary has a null; fill it first")
        return buffers.ids(column, words.count), _strings(words)
    known = {}
    words = _strings(column, visible)
    ids = np.zeros(column.count, np.int64)
    ids[slice(None) if visible is None else visible] = [known.setdefault(word, len(known)) for word in words]
    return ids, list(known)


def unify_words(parts, words):
    """Tensors of ids over the words of all of them, in order of first mention, and these words."""
    if all(found == words[0] for found in words):
        return parts, words[0]
    known = {}
    maps = [np.array([known.setdefault(word, len(known)) for word in found], np.int64) for found in words]
    return [t.with_values(ids[t.values]) for t, ids in zip(parts, maps, strict=True)], list(known)


def _strings(column, visible=None):
    """Words of a column as strings."""
    if column.schema.format == b"vu":
        return _views(column, range(column.count) if visible is None else np.flatnonzero(visible).tolist())
    offsets, first = buffers.list_offsets(column)
    data = buffers.view(column, 2, first, offsets.item(-1), np.dtype(np.uint8)).tobytes()
    bounds = list(pairwise(offsets.tolist()))
    if visible is not None:
        bounds = [bounds[i] for i in np.flatnonzero(visible).tolist()]
    if data.isascii():
        text = data.decode("ascii")
        return [text[a:b] for a, b in bounds]
    return _decode([data[a:b] for a, b in bounds])


def _decode(words):
    try:
        return [word.decode() for word in words]
    except UnicodeDecodeError:
        # Raises, and names the word.
        return [decode_text(word, f"word {i}") for i, word in enumerate(words)]


_VIEW = np.dtype([("length", np.int32), ("prefix", np.int32), ("buffer", np.int32), ("offset", np.int32)])


def _views(column, numbers):
    """Words as views: up to 12 bytes lie in the view itself, longer words in one of the buffers."""
    raw = buffers.view(column, 1, column.start * 16, column.count * 16, np.dtype(np.uint8)).tobytes()
    views = np.frombuffer(raw, _VIEW).tolist()
    count = 0 if column.array is None else max(column.array.n_buffers - 3, 0)
    sizes = buffers.view(column, count + 2, 0, count, np.dtype(np.int64)).tolist()
    data = [buffers.view(column, 2 + i, 0, size, np.dtype(np.uint8)).tobytes() for i, size in enumerate(sizes)]
    words = []
    for i in numbers:
        length, _, buffer, offset = views[i]
        if 0 <= length <= 12:
            words.append(raw[16 * i + 4 : 16 * i + 4 + length])
        elif not 0 <= buffer < count or offset < 0 or length < 0 or offset + length > sizes[buffer]:
            raise malformed_error(f"word {i} is outside its buffer")
        else:
            words.append(data[buffer][offset : offset + length])
    return _decode(words)
