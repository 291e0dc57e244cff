"""Evaluation of tagged chunks: how many of those inferred are right, and how many of those labelled are found."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np

from ..arrays import INTEGERS, is_integer
from ..base.errors import RowIndexError
from ..lod import LoDTensor
from ..registry import Dense, op
from .crf import checked_labels
from .shared import plain

DOCS_PAGE = "decode"
SEARCH_WORDS = {"chunk_eval": "F1 score, precision, recall, named entity recognition, NER, seqeval, IOB, BIO"}

Scheme = Literal["IOB", "IOE", "IOBES", "plain"]

#: The number of tags of a chunk type, those that start a chunk, and those that end one.
SCHEMES = {"IOB": (2, (0,), ()), "IOE": (2, (), (1,)), "IOBES": (4, (0, 3), (2, 3)), "plain": (1, (), ())}


MOST_TYPES = 1 << 20


def meanings(chunk_scheme, num_chunk_types, excluded_chunk_types):
    """For each label: its chunk type, whether it starts a chunk, ends one, and whether its chunks count."""
    if not 1 <= num_chunk_types <= MOST_TYPES:
        raise ValueError(
            f"chunk_eval: num_chunk_types must be at least 1, and at most {MOST_TYPES} (a table has a row for each of "
            f"their labels), got {num_chunk_types}"
        )
    given = excluded_chunk_types
    given = given.tolist() if isinstance(given, np.ndarray) else given
    if not isinstance(given, list | tuple) or not all(map(is_integer, given)):
        raise TypeError(f"chunk_eval: excluded_chunk_types must be a sequence of integers, got {given!r}")
    for kind in given:
        if not 0 <= kind < num_chunk_types:
            raise RowIndexError(f"chunk_eval: excluded_chunk_types has {kind}, which is outside [0, {num_chunk_types})")
    tags, starts, ends = SCHEMES[chunk_scheme]
    kinds, tag = np.divmod(np.arange(num_chunk_types * tags + 1), tags)
    counts = (kinds < num_chunk_types) & ~np.isin(kinds, np.array(given, np.int64))
    return np.stack([kinds, np.isin(tag, starts), np.isin(tag, ends), counts], axis=1).astype(np.int64)


def prepare(on, inference, label, chunk_scheme, num_chunk_types, excluded_chunk_types, level):
    """Check the inputs of chunk_eval. Returns both labels of each step, offsets, and what labels mean."""
    table, name = meanings(chunk_scheme, num_chunk_types, excluded_chunk_types), "chunk_eval"
    inferred = checked_labels(on, name, inference, inference, len(table), "inference")
    return inferred, checked_labels(on, name, inference, label, len(table)), inference._row_offsets(level), table


def measures(inferred, labelled, correct):
    """Precision, recall and F1 of counts, 0 where there is nothing to divide by, and the counts."""
    shares = correct / max(inferred, 1), correct / max(labelled, 1), 2 * correct / max(inferred + labelled, 1)
    counts = inferred, labelled, correct
    return *(np.array([x], np.float32) for x in shares), *(np.array([n], np.int64) for n in counts)


def _chunks(labels, table):
    """Start, stop and type of the chunks of a sequence that count."""
    found, start = set(), 0
    for i in range(1, len(labels) + 1):
        before, after = table[labels[i - 1]], table[labels[i]] if i < len(labels) else None
        if after is None or before[0] != after[0] or before[2] or after[1]:
            if before[3]:
                found.add((start, i, int(before[0])))
            start = i
    return found


@op(types=INTEGERS)
def chunk_eval(
    inference: LoDTensor,
    label: LoDTensor,
    /,
    *,
    chunk_scheme: Scheme = "IOB",
    num_chunk_types: int,
    excluded_chunk_types: Sequence[int] = (),
    level: int = -1,
) -> tuple[Dense, Dense, Dense, Dense, Dense, Dense]:
    """Return precision, recall and F1 of chunks in tagged sequences, and their counts. chunk_eval of Paddle.

    A chunk is a run of steps of one type, as a name in a sentence. Label ``type * tags + tag`` is a step of a chunk of
    that type, label ``num_chunk_types * tags`` is outside of all. An inferred chunk is correct where one of its type
    is labelled at the very same steps. Where chunks of one type meet, the second starts by a tag for that, or the first
    ends by one:

    - IOB: tag 0 is the first step of a chunk (B), 1 is inside it (I)
    - IOE: 0 is inside, 1 the last step (E)
    - IOBES: 0 is the first, 1 inside, 2 the last, 3 a chunk of a single step (S)
    - plain: there is but one tag, and no way to tell two chunks of a type that meet

    A chunk may also begin by an inside tag, as after another type.

    Parameters
    ----------
    inference, label : LoDTensor of int32 or int64
        A label for each step, in the same structure.
    chunk_scheme : {"IOB", "IOE", "IOBES", "plain"}
    num_chunk_types : int
    excluded_chunk_types : ints
        Types whose chunks do not count.
    level : int
        Level of the sequences, where chunks end; the innermost by default.

    Returns
    -------
    precision, recall, f1 : array of float32, of shape (1,)
        Correct chunks among those inferred, among those labelled, and their harmonic mean; 0 of none.
    inferred, labelled, correct : array of int64, of shape (1,)
        Numbers of chunks.

    Raises
    ------
    RowIndexError
        A label is none, or an excluded type.
    LoDMismatchError
        The inputs have different structure.

    Examples
    --------
    >>> label = LoDTensor(np.array([0, 1, 4, 2, 2, 3]), [[3, 3]])  # B-0 I-0 O | B-1 B-1 I-1
    >>> inference = label.with_values(np.array([0, 1, 4, 2, 3, 3]))  # B-0 I-0 O | B-1 I-1 I-1
    >>> precision, recall, f1, *counts = chunk_eval(inference, label, num_chunk_types=2)
    >>> precision, recall, f1
    (array([0.5], dtype=float32), array([0.33333334], dtype=float32), array([0.4], dtype=float32))
    >>> counts
    [array([2]), array([3]), array([1])]
    """
    inferred, labels, offsets, table = prepare(
        plain, inference, label, chunk_scheme, num_chunk_types, excluded_chunk_types, level
    )
    counts = np.zeros(3, np.int64)
    for start, stop in pairwise(offsets):
        ours, theirs = _chunks(inferred[start:stop], table), _chunks(labels[start:stop], table)
        counts += len(ours), len(theirs), len(ours & theirs)
    return measures(*counts.tolist())


@chunk_eval.infer_rule
def _(inference, label, *, chunk_scheme="IOB", num_chunk_types, excluded_chunk_types=(), level=-1):
    share, count = (inference.but(dims=(1,), lod_level=0, dtype=np.dtype(x)) for x in (np.float32, np.int64))
    return share, share, share, count, count, count


chunk_eval.example(
    lambda dtype: [((LoDTensor(np.array([0, 1]), [[2]]), LoDTensor(np.array([0, 2]), [[2]])), {"num_chunk_types": 1})]
)
