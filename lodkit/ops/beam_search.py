"""Steps of decoders: the best candidates of every source, or of every step."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..arrays import FLOATING, MAX_INT64, check_same_type, check_values, native
from ..base.errors import RowIndexError, ShapeMismatchError
from ..lod import LoDTensor, mismatch, values_of
from ..registry import Dense, inferred_level, op
from .shared import plain

DOCS_PAGE = "decode"
SEARCH_WORDS = {
    "beam_search": "decoding, top candidates, sequence generation",
    "greedy_decode": "argmax decoding, best path",
}


def _word_error(ids, at):
    place = ", ".join(str(int(i)) for i in np.unravel_index(at, ids.shape))
    number = ids.reshape(-1)[at]
    return RowIndexError(
        f"ids[{place}] = {number} is outside [0, {MAX_INT64}); ids count the words of a vocabulary from 0"
    )


def check_beam(name, beam_size):
    if beam_size < 1:
        raise ValueError(f"{name}: beam_size must be at least 1, got {beam_size}")


def prepare(on, pre_ids, pre_scores, ids, scores, level, beam_size):
    """Check the inputs of beam_search on any device.

    Returns the ids and scores before, as vectors, the ids of candidates, and the offsets of sources in prefixes.
    """
    check_beam("beam_search", beam_size)
    check_same_type("beam_search", scores.values, pre_scores=values_of(pre_scores))
    shape = tuple(scores.shape)
    if len(shape) != 2:
        raise ShapeMismatchError(f"beam_search: scores have shape {shape}; they must be (prefixes, candidates)")
    vectors = shape[:1], (shape[0], 1)
    for name, x, fits in (("pre_ids", pre_ids, vectors), ("pre_scores", pre_scores, vectors), ("ids", ids, (shape,))):
        if isinstance(x, LoDTensor) and x.lod_level and not x.same_lod(scores):
            raise mismatch(f"beam_search: {name} against scores", x, scores)
        if x is not None and tuple(x.shape) not in fits:
            raise ShapeMismatchError(
                f"beam_search: {name} has shape {tuple(x.shape)}, scores {shape}; it must be {fits[0]}"
            )
    ids = None if ids is None else on.checked_ids(values_of(ids), MAX_INT64, "ids", _word_error)
    before = on.integers(values_of(pre_ids), "pre_ids").reshape(-1), values_of(pre_scores).reshape(-1)
    return *before, ids, scores._row_offsets(level)


def score_key(score):
    """A key to sort scores by, the largest first and NaN last."""
    return score != score, 0 if score != score else -score


@op(types={"pre_scores": FLOATING})
def beam_search(
    pre_ids: Dense | LoDTensor,
    pre_scores: Dense | LoDTensor,
    ids: Dense | LoDTensor | None,
    scores: LoDTensor,
    /,
    *,
    level: int = 0,
    beam_size: int,
    end_id: int,
    is_accumulated: bool = True,
) -> tuple[LoDTensor, LoDTensor, Dense]:
    """Select the best candidates of every source sequence, over all prefixes of the source: one step of a beam search.

    The operator corresponds to Paddle's beam_search; the search is Lowerre's (1976). A prefix that has ended (its last
    id is ``end_id``) keeps that id and its score. A source is finished, and selects nothing, when all its selected
    prefixes have ended. If candidates of two prefixes have equal scores, the candidate of the later prefix is selected.
    If candidates of one prefix have equal scores, the later candidate is selected. NaN loses against every number.

    Parameters
    ----------
    pre_ids : array or LoDTensor of int32 or int64
        The last id of each prefix, shape ``(prefixes,)`` or ``(prefixes, 1)``.
    pre_scores : array or LoDTensor
        The score of each prefix.
    ids : array or LoDTensor of int32 or int64, optional
        The ids of candidates, of shape ``(prefixes, candidates)``. By default the id of a candidate is its column.
    scores : LoDTensor of float16, float32 or float64
        The scores of candidates, of shape ``(prefixes, candidates)``, in the structure of the prefixes.
    level : int
        The level of ``scores`` at which each sequence is a source.
    beam_size : int
        The number of candidates that a source keeps, at least 1.
    end_id : int
        The id that ends a hypothesis.
    is_accumulated : bool
        If True, ``scores`` are scores of whole prefixes. If False, ``scores`` are probabilities of one step, and their
        logarithms are added to ``pre_scores``.

    Returns
    -------
    selected_ids : LoDTensor of int64
        Rows have the shape of rows of ``pre_ids``. The two innermost levels list the prefixes of each source, and the
        selected candidates of each prefix. The candidates of a prefix are sorted by descending score; equal scores keep
        their order.
    selected_scores : LoDTensor
        The scores of the selected candidates.
    parent_idx : array of int64
        The prefix of each selected candidate.

    Raises
    ------
    ValueError
        ``beam_size`` is less than 1.
    RowIndexError
        An id is negative.
    LoDMismatchError
        The structure of an input differs from the structure of scores.
    ShapeMismatchError
        An input does not have one row per prefix, or ids do not have the shape of scores.
    DTypeError
        Scores are not floating, ids are not int32 or int64, or ``scores`` and ``pre_scores`` have different types.
    LoDLevelError
        Scores have no such level.

    Examples
    --------
    >>> scores = LoDTensor(np.array([[0.5, 0.3], [0.9, 0.4], [0.6, 0.1]]), [[2, 1], [1, 1, 1]])
    >>> ids, scores, parents = beam_search([1, 2, 3], [0., 0., 0.], None, scores, beam_size=2, end_id=9)
    >>> ids.to_list(), scores.to_list(), parents
    ([[[0], [0]], [[0, 1]]], [[[0.5], [0.9]], [[0.6, 0.1]]], array([0, 1, 2, 2]))
    """
    before, totals, ids, offsets = prepare(plain, pre_ids, pre_scores, ids, scores, level, beam_size)
    steps = scores.values.astype(np.float64)
    if not is_accumulated:
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = totals[:, None].astype(np.float64) + np.log(steps)
    steps, kept = steps.astype(native(scores.dtype)), []
    for start, stop in pairwise(offsets):
        live = [r for r in range(start, stop) if before[r] != end_id]
        found = [(r, c, x, c if ids is None else ids[r, c]) for r in live for c, x in enumerate(steps[r])]
        found += [(r, 0, totals[r], end_id) for r in range(start, stop) if before[r] == end_id]
        best = sorted(found, key=lambda f: (*score_key(f[2]), -f[0], -f[1]))[:beam_size]
        if any(before[f[0]] != end_id for f in best):
            kept += sorted(best, key=lambda f: (f[0], *score_key(f[2]), f[1]))
    parents = np.array([f[0] for f in kept], np.int64)
    above = scores.recursive_sequence_lengths()[: scores._level(level)]
    counts = np.bincount(parents, minlength=len(before))
    lengths: list = [*above, scores.lengths(level, absolute=True), counts]
    shape = (len(kept), *pre_ids.shape[1:])
    selected_ids = np.array([f[3] for f in kept], np.int64).reshape(shape)
    selected_scores = np.array([f[2] for f in kept], steps.dtype).reshape(shape)
    return LoDTensor(selected_ids, lengths), LoDTensor(selected_scores, lengths), parents


@beam_search.infer_rule
def _(pre_ids, pre_scores, ids, scores, *, level=0, **attrs):
    selected = scores.but(dims=(-1, *pre_ids.dims[1:]), lod_level=inferred_level(scores, level) + 2)
    selected_ids = selected.but(dtype=np.dtype(np.int64))
    return selected_ids, selected, selected_ids.but(dims=(-1,), lod_level=0)


def check_classes(scores):
    """Check the scores of steps."""
    check_values(scores.dtype, "greedy_decode")
    if len(scores.shape) != 2 or not scores.shape[1]:
        raise ShapeMismatchError(
            f"greedy_decode: scores have shape {tuple(scores.shape)}; they must be (steps, classes), not of none"
        )


@op(types=FLOATING)
def greedy_decode(scores: LoDTensor, /, *, end_id: int | None = None) -> tuple[LoDTensor, LoDTensor]:
    """Take the best class of every step, until a sequence ends.

    If several classes have the highest score, the first class is taken. NaN loses against every number.

    Parameters
    ----------
    scores : LoDTensor of float16, float32 or float64
        Shape ``(steps, classes)``.
    end_id : int, optional
        The steps after the first step of this class are cut off.

    Returns
    -------
    ids : LoDTensor of int64
        The class of each remaining step, of shape ``(steps,)``.
    best : LoDTensor
        The score of each of these classes.

    Raises
    ------
    ShapeMismatchError
        Scores do not have two dimensions, or have no classes.
    DTypeError
        Scores are not floating.

    Examples
    --------
    >>> scores = LoDTensor(np.array([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]]), [[3, 1]])
    >>> ids, best = greedy_decode(scores, end_id=0)
    >>> ids.to_list(), best.to_list()
    ([[1, 0], [0]], [[0.9, 0.8], [0.6]])
    """
    check_classes(scores.values)
    ids = np.array(
        [sorted(range(len(row)), key=[*map(score_key, row)].__getitem__)[0] for row in scores.values], np.int64
    )
    kept = []
    for start, stop in pairwise(scores._row_offsets().tolist()):
        ends = [i + 1 for i in range(start, stop) if ids[i] == end_id]
        kept.append(range(start, min([stop, *ends])))
    rows = np.array([i for each in kept for i in each], np.int64)
    lengths = [*scores.recursive_sequence_lengths()[:-1], [*map(len, kept)]]
    best = scores.values[rows, ids[rows]].astype(native(scores.dtype))
    return LoDTensor(ids[rows], lengths), LoDTensor(best, lengths)


@greedy_decode.infer_rule
def _(scores, *, end_id=None):
    best = scores.but(dims=(scores.dims[0] if end_id is None else -1,))
    return best.but(dtype=np.dtype(np.int64)), best


def example_scores(dtype):
    dtype = np.dtype(np.float32) if dtype.kind == "i" else dtype
    return LoDTensor(np.ones((2, 2), dtype), [[1, 1], [1, 1]])


@beam_search.example
def _(dtype):
    scores, ids = example_scores(dtype), np.array([[1, 2], [3, 4]])
    before, pre_scores = np.array([1, 2]), np.ones(2, scores.dtype)
    calls = [(ids, True), (None, False)]
    return [
        ((before, pre_scores, given, scores), {"beam_size": 2, "end_id": 0, "is_accumulated": whole})
        for given, whole in calls
    ]


greedy_decode.example(lambda dtype: [((example_scores(dtype),), {"end_id": 0})])
