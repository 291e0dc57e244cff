"""Columns of words: their ids, and the list of words that these count."""

from __future__ import annotations

from collections import defaultdict
from itertools import count, pairwise

import numpy as np

from ...base.errors import DTypeError, LoDError
from . import buffers
from .encoding import encode_words
from .importing import decode_text, malformed_error

FORMATS = (b"u", b"U", b"vu")  # offsets of 32 bits, of 64 bits, views


def holds_words(schema):
    """Whether a type is that of words, or of ids with a dictionary of words."""
    return (schema.words() or schema).format in FORMATS


def words_of(column, visible):
    """Ids of a column's words, and the words by id; ``visible`` (or None): those that are not in null lists.

    Text is encoded later, that of all chunks together: in place of ids these are places among its words, which are not
    filled in where all are visible, and in place of words it is ``(column, visible)``.
    """
    if not holds_words(column.schema):
        format = column.schema.format.decode(errors="replace")
        raise DTypeError(f"dictionary=True is for words, not format {format!r:.80}; leave it out")
    if column.schema.dictionary:
        words = column.words()
        if buffers.find_nulls(words) is not None:
            raise LoDError("the dictionary has a null; fill it first")
        return buffers.ids(column, words.count), _strings(words)
    return np.empty(column.count, np.int64) if visible is None else np.arange(column.count), (column, visible)


def join_words(parts, words):
    """Tensors of ids over the words of all chunks, in order of first mention, and these words."""
    if type(words[0]) is list:
        return unify_words(parts, words)
    encoded, known = encode_words(words) or _encode_one_by_one(words)
    made = []
    for t, (column, visible), ids in zip(parts, words, encoded, strict=True):
        if visible is None:
            ids = ids.reshape(t.values.shape)
        else:
            found, ids = ids, np.zeros(column.count, np.int64)
            ids[visible] = found
            ids = ids[t.values]
        made.append(t.with_values(ids))
    return made, known


def _encode_one_by_one(parts):
    known = defaultdict(count().__next__)
    return [_number_words(_strings(*part), known) for part in parts], list(known)


def unify_words(parts, words):
    """Tensors of ids over the words of all of them, in order of first mention, and these words."""
    if all(found == words[0] for found in words):
        return parts, words[0]
    known = defaultdict(count().__next__)
    maps = [_number_words(found, known) for found in words]
    return [t.with_values(ids[t.values]) for t, ids in zip(parts, maps, strict=True)], list(known)


def _number_words(words, known):
    """Numbers of words; one that is not known gets the next."""
    return np.fromiter(map(known.__getitem__, words), np.int64, len(words))


def _strings(column, visible=None):
    """Words of a column as strings."""
    if column.schema.format == b"vu":
        return _views(column, range(column.count) if visible is None else np.flatnonzero(visible).tolist())
    offsets, first = buffers.list_offsets(column)
    data = buffers.view(column, 2, first, offsets.item(-1), buffers.BYTES).tobytes()
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


def _views(column, numbers):
    """Words as views: short ones lie in the view itself, longer ones in one of the buffers."""
    found, data = buffers.word_views(column)
    views, raw, data = found.tolist(), found.tobytes(), [part.tobytes() for part in data]
    words = []
    for i in numbers:
        length, _, buffer, offset = views[i]
        if 0 <= length <= buffers.MAX_INLINE_BYTES:
            words.append(raw[16 * i + 4 : 16 * i + 4 + length])
        elif not 0 <= buffer < len(data) or offset < 0 or length < 0 or offset + length > len(data[buffer]):
            raise malformed_error(f"word {i} is outside its buffer")
        else:
            words.append(data[buffer][offset : offset + length])
    return _decode(words)
