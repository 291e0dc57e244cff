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


def encode_words(parts):
    """Ids of the words of each part, and the words by id; None without pyarrow, or where words are malformed.

    A part is a column and its ``visible`` words, those that are encoded; None for all.
    """
    if "pyarrow" not in sys.modules and sum(column.count for column, _ in parts) < MIN_WORDS_TO_IMPORT:
        return None
    try:
        import pyarrow
    except ImportError:
        return None
    try:
        make = _view_array if parts[0][0].schema.format == b"vu" else _offset_array
        texts = [make(pyarrow, *part) for part in parts]
        some = pyarrow.chunked_array([text for text in texts if len(text)], texts[0].type).dictionary_encode().chunks
        # All chunks have one dictionary, that of all of them.
        words = some[0].dictionary.to_numpy(zero_copy_only=False).tolist() if some else []
        ids = (part.indices.to_numpy().astype(np.int64) for part in some)
        return [next(ids) if len(text) else np.zeros(0, np.int64) for text in texts], words
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
