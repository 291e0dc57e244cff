"""Levenshtein distance of pairs of sequences, for error rates of words and characters."""

from __future__ import annotations

import typing

import numpy as np

from ..arrays import INTEGERS
from ..lod import LoDTensor
from ..registry import Dense, op, pooled_desc
from .sequence_pool import with_outer_levels
from .sequence_tokens import prepare_erase, sequence_erase
from .shared.sequences import check_tokens, offsets_of_pairs

DOCS_PAGE = "decode"
SEARCH_WORDS = {"edit_distance": "Levenshtein, word error rate, WER, character error rate, CER, string distance"}


def prepare_distance(hyp, ref, ignored_tokens):
    """Check the inputs. Returns the tokens to ignore."""
    check_tokens("edit_distance", hyp.values, "hyp")
    check_tokens("edit_distance", ref.values, "ref")
    offsets_of_pairs("edit_distance", -1, hyp=hyp, ref=ref)
    return prepare_erase(ref.values, ignored_tokens)[1]


def levenshtein(a, b):
    """The least number of insertions, deletions and substitutions that turn ``a`` into ``b``, row by row."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        above, row = row, [i]
        for j, y in enumerate(b, 1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y)))
    return row[-1]


@op(types=INTEGERS)
def edit_distance(
    hyp: LoDTensor, ref: LoDTensor, /, *, normalized: bool = False, ignored_tokens: typing.Any = ()
) -> Dense | LoDTensor:
    """Return the Levenshtein distance between each innermost sequence of ``hyp`` and its partner in ``ref``.

    The operator counts the fewest insertions, deletions and substitutions (Levenshtein, 1966), with the table of Wagner
    and Fischer (1974). The operator corresponds to Paddle's edit_distance.

    Parameters
    ----------
    hyp, ref : LoDTensor
        Tokens of int32 or int64, of shape ``(rows,)`` or ``(rows, 1)``. Both inputs have the same number of sequences.
    normalized : bool
        If True, the distance is divided by the length of ``ref``: the error rate. If ``ref`` is empty, the error rate
        is inf, or 0 if ``hyp`` is empty too.
    ignored_tokens : list of int
        Tokens that are deleted from both inputs first.

    Returns
    -------
    array of float32, or LoDTensor when there are levels above
        One distance per pair of sequences.

    Raises
    ------
    LoDMismatchError
        The inputs have different numbers of sequences.
    ShapeMismatchError
        A row has more than one number.
    DTypeError
        Tokens are not int32 or int64.

    Examples
    --------
    >>> hyp, ref = LoDTensor([1, 2, 3, 4], [[2, 2]]), LoDTensor([1, 3, 3, 4, 9], [[2, 3]])
    >>> edit_distance(hyp, ref)
    array([1., 1.], dtype=float32)
    >>> edit_distance(hyp, ref, ignored_tokens=[9])
    array([1., 0.], dtype=float32)
    """
    ignored = prepare_distance(hyp, ref, ignored_tokens)
    hyp, ref = (sequence_erase.definition(x, tokens=ignored) for x in (hyp, ref))
    pairs = zip(hyp.sequences(), ref.sequences(), strict=True)
    out = np.array([levenshtein(h.ravel(), r.ravel()) for h, r in pairs], np.float32)
    if normalized:
        with np.errstate(divide="ignore", invalid="ignore"):
            out = np.where(out > 0, out / ref.lengths().astype(np.float32), np.float32(0))
    return with_outer_levels(ref, -1, out)


@edit_distance.infer_rule
def _(hyp, ref, *, normalized=False, ignored_tokens=()):
    return pooled_desc(ref, -1, (), np.dtype(np.float32))


@edit_distance.example
def _(dtype):
    x = LoDTensor(np.array([1, 2]), [[2]])
    return [((x, x), {}), ((x, x), {"ignored_tokens": [1]})]
