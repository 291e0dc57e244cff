"""Walk back through the steps of a beam search."""

from __future__ import annotations

import typing
from itertools import pairwise

import numpy as np

from ..arrays import FLOATING, INTEGERS, check_same_type, native
from ..base.errors import DTypeError, LoDLevelError, LoDMismatchError, ShapeMismatchError
from ..lod import LoDTensor, mismatch
from ..lod.levels import format_short, load_compiled
from ..registry import op
from .beam_search import check_beam, example_scores, score_key

DOCS_PAGE = "decode"
SEARCH_WORDS = {"beam_search_decode": "backtrack hypotheses"}


def _check_steps(ids, scores):
    """Check the steps of a beam search: each continues the one before."""
    for t, (x, y) in enumerate(zip(ids, scores, strict=True)):
        takes = beam_search_decode.types
        if x.values.dtype not in takes["ids"] or y.values.dtype not in takes["scores"]:
            raise DTypeError(
                f"beam_search_decode: ids and scores of step {t} are {x.values.dtype} and {y.values.dtype}, must be "
                f"{takes['ids'].words} and {takes['scores'].words}; pass the ids of all steps, then the scores of as "
                "many: beam_search_decode(*ids, *scores, ...)"
            )
        if x.lod_level < 2:
            raise LoDLevelError(
                f"beam_search_decode: ids of step {t} have lod_level {x.lod_level}; it must be 2, sources and prefixes"
            )
        if not x.same_lod(y):
            raise mismatch(f"beam_search_decode: scores against ids of step {t}", y, x)
        if x.values.size != len(x.values) or y.values.size != len(y.values):
            raise ShapeMismatchError(
                f"beam_search_decode: ids and scores of step {t} have shapes {x.shape} and {y.shape}; they must be "
                f"({len(x.values)},)"
            )
        if t and not _continues(ids[t - 1], x):
            raise LoDMismatchError(
                f"beam_search_decode: the sources of step {t} have {format_short(x.lengths(-2))} prefixes, and "
                f"step {t - 1} selected {format_short(ids[t - 1].lengths(-2, absolute=True))} for them; "
                "pass the steps in order"
            )


def _continues(before, x):
    """True if a step has, in each of its sources, a prefix for each row of the step before."""
    levels = *before._lod[:-2], before._row_offsets(-2)
    return x.lod_level == before.lod_level and all(map(np.array_equal, x._lod, levels))


class Walks(typing.NamedTuple):
    """How hypotheses go back through the rows of all steps, laid end to end."""

    parents: np.ndarray  # the row before each row, -1 in the first step
    lasts: np.ndarray  # the last row of each hypothesis
    offsets: np.ndarray  # of sources, in hypotheses


def prepare_decode(steps, beam_size):
    """Check the inputs of beam_search_decode. Returns ids and scores of the steps, and their Walks."""
    check_beam("beam_search_decode", beam_size)
    ids, scores = steps[: len(steps) // 2], steps[len(steps) // 2 :]
    if len(ids) != len(scores):
        raise ValueError(
            f"beam_search_decode takes the ids of all steps, then the scores of as many, got {len(steps)} inputs"
        )
    _check_steps(ids, scores)
    check_same_type(
        "beam_search_decode", scores[0].values, **{f"score of step {t}": x.values for t, x in enumerate(scores)}
    )
    bounds = np.stack([x._row_offsets(-2) for x in ids])
    starts = load_compiled().lengths_to_offsets(np.array([len(x.values) for x in ids]), "rows of the ids of all steps")
    before = [start + x.segment_ids() for start, x in zip(starts, ids[1:], strict=False)]
    parents = np.concatenate([np.full(starts[1], -1), *before])
    counts, sources = np.diff(bounds), np.arange(bounds.shape[1] - 1)
    # The last step that selected a prefix.
    final = len(ids) - 1 - np.argmax(counts[::-1] > 0, axis=0)
    counts = counts[final, sources]
    if (counts > beam_size).any():
        s = int(np.argmax(counts > beam_size))
        raise ValueError(
            f"beam_search_decode: source {s} has {counts[s]} hypotheses, beam_size is {beam_size}; pass the search's"
        )
    offsets = load_compiled().lengths_to_offsets(counts)
    lasts = np.repeat(starts[final] + bounds[final, sources] - offsets[:-1], counts) + np.arange(offsets[-1])
    return ids, scores, Walks(parents, lasts, offsets)


def name_steps(steps, attrs):
    """Say of each input whether it has the ids of a step, or its scores."""
    return ["ids" if 2 * t < len(steps) else "scores" for t in range(len(steps))]


@op(types={"ids": INTEGERS, "scores": FLOATING}, parts=name_steps)
def beam_search_decode(*steps: LoDTensor, beam_size: int, end_id: int) -> tuple[LoDTensor, LoDTensor]:
    """Walk back through the steps of a beam search: every hypothesis of every source, the best first.

    beam_search_decode of Paddle. A hypothesis of which several ids are ``end_id`` keeps the last of them, and only in
    its last place.

    Parameters
    ----------
    *steps : LoDTensor
        The ids that ``beam_search`` selected, of all steps in order, and then the scores of all steps:
        ``beam_search_decode(*ids, *scores, ...)``.
    beam_size : int
        The beam size of the search: no source has more hypotheses.
    end_id : int
        The id that ends a hypothesis.

    Returns
    -------
    ids : LoDTensor of int64
        Shape ``(words,)``, sources of hypotheses. Hypotheses of a source descend by the last score; NaN comes last.
    scores : LoDTensor
        The score of the hypothesis at each word.

    Raises
    ------
    ValueError
        There are not as many scores as ids, or a source has more than ``beam_size`` hypotheses.
    LoDMismatchError
        A step has not a prefix for each candidate that the step before selected.

    Examples
    --------
    >>> first = LoDTensor([5, 7], [[1], [2]]), LoDTensor([0.9, 0.8], [[1], [2]])
    >>> last = LoDTensor([1, 6], [[2], [1, 1]]), LoDTensor([0.5, 0.7], [[2], [1, 1]])
    >>> ids, scores = beam_search_decode(first[0], last[0], first[1], last[1], beam_size=2, end_id=1)
    >>> ids.to_list(), scores.to_list()
    ([[[7, 6], [5, 1]]], [[[0.8, 0.7], [0.9, 0.5]]])
    """
    ids, scores, walks = prepare_decode(steps, beam_size)
    words = np.concatenate([x.values.reshape(-1) for x in ids])
    totals = np.concatenate([x.values.reshape(-1) for x in scores])
    hypotheses = []
    for start, stop in pairwise(walks.offsets):
        for last in sorted(walks.lasts[start:stop], key=lambda row: score_key(totals[row])):
            path, row = [last], walks.parents[last]
            while row >= 0:
                path += [row] if words[row] != end_id else []
                row = walks.parents[row]
            hypotheses.append(path[::-1])
    rows = np.array([row for path in hypotheses for row in path], np.int64)
    lengths = [*ids[0].recursive_sequence_lengths()[:-2], np.diff(walks.offsets), [len(path) for path in hypotheses]]
    return LoDTensor(words[rows].astype(np.int64), lengths), LoDTensor(
        totals[rows].astype(native(totals.dtype)), lengths
    )


@beam_search_decode.infer_rule
def _(*steps, **attrs):
    scores = steps[-1].but(dims=(-1,))
    return scores.but(dtype=np.dtype(np.int64)), scores


@beam_search_decode.example
def _(dtype):
    scores = example_scores(dtype)
    return [
        ((scores.with_values(np.array([1, 2])), scores.with_values(scores.values[:, 0])), {"beam_size": 2, "end_id": 0})
    ]
