"""Words encoded by pyarrow, which hashes their bytes: ids by the first mention of each word.

Nothing here explains: pyarrow does not say which word is malformed, reading one by one does.
"""

from __future__ import annotations

import sys

import numpy as np

from ...base.errors import LoDError
from . import buffers
from .importing import malformed_error

# To import pyarrow takes 30 to 90 ms, to read as many words one by one 35 (znver5).
MIN_WORDS_TO_IMPORT = 100_000


def encode_words(column, visible):
    """Ids of a column's words, and the words by id; None without pyarrow, or where words are malformed.

    ``visible`` (or None): the words that are encoded.
    """
    if "pyarrow" not in sys.modules and column.count < MIN_WORDS_TO_IMPORT:
        return None
    try:
        import pyarrow
    except ImportError:
        return None
    try:
        make = _view_array if column.schema.format == b"vu" else _offset_array
        encoded = make(pyarrow, column, visible).dictionary_encode()
        words = encoded.dictionary.to_numpy(zero_copy_only=False).tolist()
        return encoded.indices.to_numpy().astype(np.int64), words
    # An older pyarrow lacks types and functions.
    except (LoDError, AttributeError, pyarrow.ArrowException):
        return None


def _offset_array(pyarrow, column, visible):
    """Words between offsets, which are a private copy that was checked."""
    offsets, first = buffers.list_offsets(column)
    data = buffers.view(column, 2, first, offsets.item(-1), buffers.BYTES)
    memory = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(data)]
    text = pyarrow.Array.from_buffers(pyarrow.large_string(), column.count, memory)
    return text if visible is None else text.filter(pyarrow.array(visible))


def _view_array(pyarrow, column, visible):
    """Words as views, which are a private copy that is checked here: pyarrow follows them anywhere."""
    views, data = buffers.word_views(column)
    views = views if visible is None else views[visible]
    far = views[views["length"] > buffers.MAX_INLINE_BYTES]
    # A view of no buffer is one of 0 bytes.
    sizes = np.array([*map(len, data), 0])
    held = sizes[np.where((far["buffer"] >= 0) & (far["buffer"] < len(data)), far["buffer"], -1)]
    if views["length"].min(initial=0) < 0 or far["offset"].min(initial=0) < 0:
        raise malformed_error("a view is negative")
    if (far["offset"].astype(np.int64) + far["length"] > held).any():
        raise malformed_error("a word is outside its buffer")
    memory = [None, *map(pyarrow.py_buffer, (views, *data))]
    return pyarrow.Array.from_buffers(pyarrow.string_view(), len(views), memory)
