"""Ragged batches, and functions of them that run compiled and in Python."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor

LENGTHS = [[3, 0, 1, 2], [3, 0, 4, 1, 2, 3]]


def sentences(dtype=np.float64, item=()):
    """Documents of sentences; a document and a sentence are empty."""
    count = sum(LENGTHS[1]) * int(np.prod(item, dtype=int))
    return LoDTensor(np.arange(count).reshape(-1, *item).astype(dtype), LENGTHS)


def words(dtype=np.float64, item=()):
    return sentences(dtype, item).slice_in_level(1, 0, 6)


def same(a, b):
    """Compare results of compiled code and of Python, with their types."""
    if isinstance(a, tuple | list):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    elif isinstance(b, LoDTensor):
        assert isinstance(a, LoDTensor)
        assert a.lod() == b.lod() and a.lod(absolute=True) == b.lod(absolute=True)
        same(a.values, b.values)
    elif isinstance(b, np.ndarray):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_array_equal(a, b)
    else:
        assert a == b


def structure(t):
    return (
        (len(t), t.lod_level, t.shape),
        (
            t.offsets(),
            t.offsets(0),
            t.offsets(0, absolute=True),
            t.row_offsets(0),
            t.row_offsets(),
            t.lengths(),
            t.lengths(0, absolute=True),
        ),
    )


def outline(t):
    return len(t), t.shape, t.offsets()


def parts(t):
    return t, t[0], t[-1], t.with_values(t.values + t.values), t[len(t) - 2], t.values, t.dtype.type(3)


def ranges(t):
    few = t[1:3]
    return few, t[:-1], t[2:1], t[-2:100], few[1:].offsets(), few[1], few[0:1].row_offsets(0)


def walked(t):
    total, last = t.values[0] * 0, t[0]
    for k, sequence in enumerate(t):
        total = total + (sequence * (k + 1)).sum()
        last = sequence
    return total, last


def walked_twice(t):
    lengths = [0]
    total = 0.0
    for document in t:
        for sentence in document:
            lengths.append(len(sentence))
            total += sentence.sum() * len(lengths)
        lengths.append(len(document))
        lengths.extend(list(document.offsets()))
    return total, lengths


def identity(x):
    return x


def first(t):
    return t[0]


def summed(t):
    total = 0.0
    for sequence in t:
        total += sequence.sum()
    return total


def kept(t):
    """Sequences that outlive loop, list and temporary tensor."""
    longest, listed = t[0], [t[1]]
    for sequence in t:
        listed.append(sequence)
        if len(sequence) > len(longest):
            longest = sequence
    return longest, listed, t.with_values(t.values * 3)[0]
