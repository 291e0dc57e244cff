"""From the labels of frames to those of a sequence, as connectionist temporal classification (CTC) reads them."""

from __future__ import annotations

import numpy as np

from ..arrays import FLOATING, INTEGERS, check_values, integers
from ..base.errors import ShapeMismatchError
from ..lod import LoDTensor
from ..registry import inferred_level, op
from .shared.sequences import check_tokens

DOCS_PAGE = "decode"
SEARCH_WORDS = {
    "ctc_align": "collapse repeats, remove blanks",
    "ctc_greedy_decode": "speech recognition, ctc decoder, best path",
}


def check_logits(name, logits, blank):
    """Check that logits are a row of classes per frame, and that the blank is one of them. Returns the dtype."""
    dtype = check_values(logits.dtype, name, floating=True)
    if len(logits.shape) != 2:
        raise ShapeMismatchError(f"{name}: logits have shape {tuple(logits.shape)}; pass (frames, classes)")
    if not 0 <= blank < logits.shape[1]:
        raise ValueError(f"{name}: blank = {blank} is outside [0, {logits.shape[1]}), the classes of the logits")
    return dtype


@op(types=INTEGERS)
def ctc_align(x: LoDTensor, /, *, blank: int = 0, merge_repeated: bool = True) -> LoDTensor:
    """Merge repeated tokens of each sequence, then delete blanks: a path of CTC becomes a sequence of labels.

    ctc_align of Paddle. Equal tokens with a blank between them stay two.

    Parameters
    ----------
    x : LoDTensor
        int32 or int64, of rows of one number: ``(frames,)`` or ``(frames, 1)``.
    blank : int
        The token that is deleted.
    merge_repeated : bool
        False only deletes blanks.

    Returns
    -------
    LoDTensor
        With as many sequences at every level; some may be empty.

    Raises
    ------
    ShapeMismatchError
        Rows are not one number.
    DTypeError
        Tokens are not int32 or int64.

    Examples
    --------
    >>> ctc_align(LoDTensor([0, 1, 1, 0, 1, 2, 2, 0, 0], [[5, 2, 2]])).to_list()
    [[1, 1], [2], []]
    """
    dtype, bounds = check_tokens("ctc_align", x.values), x.offsets()
    tokens = integers(x.values.reshape(-1), "x")
    kept = tokens != blank
    if merge_repeated:
        starts = np.isin(np.arange(1, len(tokens)), bounds)
        kept[1:] &= starts | (tokens[1:] != tokens[:-1])
    lengths = [int(kept[a:b].sum()) for a, b in zip(bounds[:-1], bounds[1:], strict=True)]
    return LoDTensor(x.values[kept].astype(dtype), [*x.recursive_sequence_lengths()[:-1], lengths])


@ctc_align.infer_rule
def _(x, *, blank=0, merge_repeated=True):
    inferred_level(x, -1)
    return x.but(dims=(-1, *x.dims[1:]))


@op(types=FLOATING)
def ctc_greedy_decode(logits: LoDTensor, /, *, blank: int = 0) -> LoDTensor:
    """Return the labels of the best path of CTC: the largest class of each frame, by ``ctc_align``.

    Parameters
    ----------
    logits : LoDTensor of shape (frames, classes)
        Logits, probabilities or their logarithms; of equal ones the first is the largest, and NaN as in argmax.
    blank : int
        The class that stands for no label.

    Returns
    -------
    LoDTensor of int64
        Labels, shape (labels,), with as many sequences at every level.

    Raises
    ------
    ShapeMismatchError
        Logits have not two dimensions.
    ValueError
        The blank is no class.

    Examples
    --------
    >>> logits = LoDTensor(np.array([[0., 9.], [0., 9.], [9., 0.], [0., 9.], [9., 0.]]), [[4, 1]])
    >>> ctc_greedy_decode(logits).to_list()
    [[1, 1], []]
    """
    check_logits("ctc_greedy_decode", logits.values, blank)
    return ctc_align.definition(logits.with_values(np.argmax(logits.values, axis=1)), blank=blank)


@ctc_greedy_decode.infer_rule
def _(logits, *, blank=0):
    inferred_level(logits, -1)
    return logits.but(dims=(-1,), dtype=np.dtype(np.int64))


ctc_align.example(lambda dtype: [((LoDTensor(np.array([1, 1, 0]), [[2, 1]]),), {})])


@ctc_greedy_decode.example
def _(dtype):
    return [((LoDTensor(np.ones((3, 4), np.float32 if dtype.kind == "i" else dtype), [[2, 1]]),), {})]
