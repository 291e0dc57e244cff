"""Linear-chain conditional random fields: the loss of tagged sequences, its gradients, and the best tags."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from ..arrays import FLOATING, check_gradient, check_same_type, native
from ..base.errors import LoDMismatchError, RowIndexError, ShapeMismatchError
from ..lod import LoDTensor
from ..registry import Dense, op, pooled_desc
from .sequence_pool import with_outer_levels
from .shared import plain

DOCS_PAGE = "decode"
SEARCH_WORDS = {
    "crf_decoding": "viterbi, viterbi_decode, tagging",
    "linear_chain_crf": "conditional random field, crf loss, sequence labelling, tagging, crf_log_likelihood",
}


def prepare(on, name, emission, transition, label, level, grad=None):
    """Check the inputs of an operator of this file. Returns the offsets, and the labels or None."""
    check_same_type(name, emission.values, transition=transition)
    shape, offsets = tuple(emission.values.shape), emission._row_offsets(level)
    if len(shape) != 2 or not shape[1]:
        raise ShapeMismatchError(f"{name}: emission has shape {shape}; give a row of scores per step, one of each tag")
    tags = shape[1]
    if tuple(transition.shape) != (tags + 2, tags):
        raise ShapeMismatchError(
            f"{name}: transition has shape {tuple(transition.shape)}, for {tags} tags it is {(tags + 2, tags)}: a row "
            "of scores of the first tag, one of the last, and one after each tag"
        )
    if grad is not None:
        check_gradient(grad, (len(offsets) - 1,))
    return offsets, None if label is None else checked_labels(on, name, emission, label, tags)


def checked_labels(on, name, x, label, count, what="label"):
    """The labels of the steps of ``x``, each in ``[0, count)``."""
    if not label.same_lod(x):
        raise LoDMismatchError(f"{name}: {what} has lod {label.lod()}, the first input {x.lod()}; give one per step")
    if len(label.values.shape) != 1:
        raise ShapeMismatchError(f"{name}: {what} has shape {tuple(label.values.shape)}; give one number per step")

    def error(labels, at):
        return RowIndexError(f"{name}: {what}[{at}] = {labels[at]} is outside [0, {count}); give numbers of tags")

    return on.checked_ids(label.values, count, what, error)


def reversed_chain(transition):
    """The scores of the chain read backwards: the last tag first."""
    return np.concatenate([transition[1::-1], transition[2:].T])


def _log_sum(x, axis=0):
    """``log(sum(exp(x)))``, shifted by the maximum."""
    top = x.max(axis)
    shift = np.where(np.isfinite(top), top, 0)
    with np.errstate(all="ignore"):
        return np.log(np.exp(x - np.expand_dims(shift, axis)).sum(axis)) + shift


def _levelled_sum(x, axis=0):
    return _subtract_maxima(_log_sum(x, axis))


def _score_predecessors(emission, transition, combine=_log_sum):
    """For each step and tag, the scores of all ways to it, without its own emission, combined."""
    out = np.empty(emission.shape)
    for i in range(len(out)):
        out[i] = combine((out[i - 1] + emission[i - 1])[:, None] + transition[2:], axis=0) if i else transition[0]
    return out


def _subtract_maxima(x):
    """Scores less the largest of each step, if it is finite: what a step adds to all ways changes no share."""
    top = x.max(-1, keepdims=True)
    return x - np.where(np.isfinite(top), top, 0)


def _shares(x):
    """``exp(x)`` as shares of their sum at each step; zeros where all are forbidden."""
    total = _log_sum(x.reshape(len(x), math.prod(x.shape[1:])), axis=-1)
    return np.exp(x - np.where(total == -np.inf, 0, total).reshape(-1, *[1] * (x.ndim - 1)))


def _sequences(emission, transition, offsets):
    """Slices of the sequences that have steps, their number, emissions and transitions in double precision."""
    transition, values = transition.astype(np.float64), emission.values.astype(np.float64)
    for s, (start, stop) in enumerate(pairwise(offsets)):
        if start < stop:
            yield s, slice(start, stop), values[start:stop], transition


def _score(e, transition, y):
    """The score of one way through a sequence."""
    steps = transition[2 + y[:-1], y[1:]].sum()
    return e[np.arange(len(y)), y].sum() + transition[0, y[0]] + transition[1, y[-1]] + steps


@op(types=FLOATING)
def linear_chain_crf(
    emission: LoDTensor, transition: Dense, label: LoDTensor, /, *, level: int = -1
) -> Dense | LoDTensor:
    """Return the negative log-likelihood of the labels of each sequence in a linear-chain conditional random field.

    The score of a sequence of tags ``y`` is ``transition[0, y[0]]``, plus ``emission[i, y[i]]`` for each step, plus
    ``transition[2 + y[i - 1], y[i]]`` between steps, plus ``transition[1, y[-1]]``. The likelihood of ``y`` is
    ``exp(score)`` divided by the sum over all sequences of tags of that length (Lafferty, McCallum and Pereira, 2001).
    The likelihood is computed in double precision. The operator corresponds to Paddle's linear_chain_crf.

    Parameters
    ----------
    emission : LoDTensor of float16, float32 or float64
        ``(rows, tags)``: a score of each tag for each step.
    transition : array of shape (tags + 2, tags)
        Scores of the type of emission. Row 0 scores the first tag, row 1 the last tag, and row ``2 + i`` each tag after
        tag i. A score of -inf forbids the tag or the step.
    label : LoDTensor of int32 or int64
        The tag of each step, in the structure of emission.
    level : int
        Level of the sequences; the innermost by default.

    Returns
    -------
    array of one number per sequence, or LoDTensor when there are levels above
        The loss has the type of emission; the loss of an empty sequence is 0.

    Raises
    ------
    RowIndexError
        A label is outside ``[0, tags)``.
    LoDMismatchError
        label and emission have different structures.
    ShapeMismatchError
        transition is not of shape ``(tags + 2, tags)``, or there are no tags.

    Examples
    --------
    >>> emission = LoDTensor(np.zeros((3, 2)), [[2, 0, 1]])
    >>> linear_chain_crf(emission, np.zeros((4, 2)), emission.with_values(np.array([0, 1, 1]))).round(4)
    array([1.3863, 0.    , 0.6931])
    """
    offsets, labels = prepare(plain, "linear_chain_crf", emission, transition, label, level)
    losses = np.zeros(len(offsets) - 1)
    with np.errstate(invalid="ignore"):
        for s, part, e, t in _sequences(emission, transition, offsets):
            losses[s] = _log_sum(_score_predecessors(e, t)[-1] + e[-1] + t[1]) - _score(e, t, labels[part])
    with np.errstate(over="ignore"):
        return with_outer_levels(emission, level, losses.astype(native(emission.values.dtype)))


@linear_chain_crf.infer_rule
def _(emission, transition, label, *, level=-1):
    return pooled_desc(emission, level, ())


@op(like=("emission", "transition"), gradient_of=linear_chain_crf, types=FLOATING)
def linear_chain_crf_grad(
    emission: LoDTensor, transition: Dense, label: LoDTensor, grad: Dense, /, *, level: int = -1
) -> tuple[Dense, Dense]:
    """Return the gradients of ``linear_chain_crf`` by emission and transition.

    The gradient is the expected count of each tag, and of each step between tags, minus the count in the labels.

    >>> emission = LoDTensor(np.zeros((2, 2)), [[2]])
    >>> linear_chain_crf_grad(emission, np.zeros((4, 2)), emission.with_values(np.array([0, 1])), np.ones(1))[0]
    array([[-0.5,  0.5],
           [ 0.5, -0.5]])
    """
    offsets, labels = prepare(plain, "linear_chain_crf", emission, transition, label, level, grad)
    by_emission, by_transition = np.zeros(emission.values.shape), np.zeros(transition.shape)
    for s, part, e, t in _sequences(emission, transition, offsets):
        y, g = labels[part], np.float64(grad[s])
        with np.errstate(invalid="ignore"):
            # The sum of scores of 1e30 would drown all others.
            e = _subtract_maxima(e)
            before = _score_predecessors(e, t, _levelled_sum)
            after = _score_predecessors(e[::-1], reversed_chain(t), _levelled_sum)[::-1]
            shares = _shares(before + e + after)
            pairs = _shares((before + e)[:-1, :, None] + t[2:] + (e + after)[1:, None])
        shares[np.arange(len(y)), y] -= 1
        by_emission[part] = g * shares
        by_transition[:2] += g * shares[[0, -1]]
        by_transition[2:] += g * pairs.sum(axis=0)
        np.subtract.at(by_transition, (2 + y[:-1], y[1:]), g)
    dtype = native(emission.values.dtype)
    return by_emission.astype(dtype), by_transition.astype(dtype)


@op(types=FLOATING)
def crf_decoding(
    emission: LoDTensor, transition: Dense, label: LoDTensor | None = None, /, *, level: int = -1
) -> LoDTensor:
    """Return the tags with the highest total score for each sequence, or compare the labels with these tags.

    Viterbi's algorithm finds the highest score, as ``linear_chain_crf`` defines scores, in double precision. The tags
    are chosen from the last step backwards; if tags have equal scores, the first tag is chosen. The operator
    corresponds to Paddle's crf_decoding.

    Parameters
    ----------
    emission : LoDTensor of float16, float32 or float64
        ``(rows, tags)``: a score of each tag for each step.
    transition : array of shape (tags + 2, tags)
        As in ``linear_chain_crf``.
    label : LoDTensor of int32 or int64, optional
        A tag for each step, in the structure of emission.
    level : int
        Level of the sequences; the innermost by default.

    Returns
    -------
    LoDTensor of int64
        A tag for each step, in the structure of emission. With label, 1 for each step whose label is the tag, and 0 for
        other steps.

    Raises
    ------
    RowIndexError
        A label is outside ``[0, tags)``.
    LoDMismatchError
        label and emission have different structures.
    ShapeMismatchError
        transition is not of shape ``(tags + 2, tags)``, or there are no tags.

    Examples
    --------
    >>> emission = LoDTensor(np.array([[1., 0.], [0., 2.], [3., 0.]]), [[2, 1]])
    >>> crf_decoding(emission, np.zeros((4, 2))).values
    array([0, 1, 0])
    >>> crf_decoding(emission, np.zeros((4, 2)), emission.with_values(np.array([0, 0, 0]))).values
    array([1, 0, 1])
    """
    offsets, labels = prepare(plain, "crf_decoding", emission, transition, label, level)
    path = np.zeros(len(emission.values), np.int64)
    with np.errstate(invalid="ignore"):
        for _, part, e, t in _sequences(emission, transition, offsets):
            scores, best = _score_predecessors(e, t, np.max) + e, path[part]
            best[-1] = np.argmax(scores[-1] + t[1])
            for i in range(len(e) - 1, 0, -1):
                best[i - 1] = np.argmax(scores[i - 1] + t[2:, best[i]])
    return emission.with_values(path if labels is None else (path == labels).astype(np.int64))


@crf_decoding.infer_rule
def _(emission, transition, label=None, *, level=-1):
    return emission.but(dims=emission.dims[:1], dtype=np.dtype(np.int64))


def _example(dtype):
    x = LoDTensor(np.ones((3, 2), np.float32 if dtype.kind == "i" else dtype), [[2, 1]])
    return x, np.ones((4, 2), x.dtype), x.with_values(np.array([0, 1, 1]))


linear_chain_crf.example(lambda dtype: [(_example(dtype), {})])


crf_decoding.example(lambda dtype: [(_example(dtype)[:2], {})])
