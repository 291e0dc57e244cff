"""Connectionist temporal classification (CTC) on ragged batches: the loss of labels that have no places in time."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import numpy as np

from ..arrays import FLOATING, INTEGERS, check_gradient, native
from ..base.errors import RowIndexError
from ..lod import LoDTensor
from ..registry import Dense, op, pooled_desc
from .ctc_align import check_logits
from .sequence_pool import with_outer_levels
from .shared import plain
from .shared.sequences import check_tokens, offsets_of_pairs

DOCS_PAGE = "decode"
SEARCH_WORDS = {"ctc_loss": "connectionist temporal classification, warpctc, speech recognition, CTCLoss"}

ByTimes = bool | Literal["gradient"]


def prepare(on, logits, labels, blank, level, grad=None):
    """Check the inputs on any device. Returns the row offsets of both, and the labels: int64, of NumPy."""
    check_logits("ctc_loss", logits.values, blank)
    check_tokens("ctc_loss: labels", labels.values, "labels", INTEGERS)
    offsets, bounds = offsets_of_pairs("ctc_loss", level, logits=logits, labels=labels)
    if grad is not None:
        check_gradient(grad, (len(offsets) - 1,))
    numbers, classes = np.array(on.read(labels.values), np.int64).reshape(-1), logits.values.shape[1]
    bad = (numbers < 0) | (numbers >= classes) | (numbers == blank)
    if bad.any():
        at = int(np.argmax(bad))
        if numbers[at] == blank:
            raise RowIndexError(
                f"ctc_loss: labels[{at}] = {blank} is the blank, which stands between labels; remove it"
            )
        raise RowIndexError(
            f"ctc_loss: labels[{at}] = {numbers[at]} is outside [0, {classes}), the classes of the logits; "
            "map unknown labels to a class of their own first"
        )
    return offsets, bounds, numbers


def _log_softmax(x):
    x = x.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        top = x.max(axis=1, keepdims=True, initial=-np.inf)
        shifted = np.where(np.isinf(top), np.where((x == top) & (top > 0), 0, -np.inf), x - top)
        total = np.exp(shifted).sum(axis=1, keepdims=True)
        return np.where(total == 0, -np.inf, shifted - np.log(total))


_added = np.errstate(invalid="ignore")(np.logaddexp)  # of NaN


def _paths(logs, states, skips):
    """Logarithm of the probability of all paths to each state: before the first frame, and after each."""
    paths = np.full((len(logs) + 1, len(states)), -np.inf)
    paths[0, 0] = 0
    for t, log in enumerate(logs):
        before = paths[t]
        now = before.copy()
        now[1:] = _added(now[1:], before[:-1])
        now[2:] = _added(now[2:], np.where(skips, before[:-2], -np.inf))
        paths[t + 1] = now + log[states]
    return paths


def _sequences(logits, labels, blank, level, grad=None):
    """Each sequence: its rows, the log-softmax, its states (labels between blanks), their paths and the loss."""
    offsets, bounds, numbers = prepare(plain, logits, labels, blank, level, grad)
    for (a, b), (first, last) in zip(pairwise(offsets), pairwise(bounds), strict=True):
        states = np.full(2 * (last - first) + 1, blank)
        states[1::2] = numbers[first:last]
        skips = (states[2:] != states[:-2]) & (states[2:] != blank)
        logs = _log_softmax(logits.values[a:b])
        paths = _paths(logs, states, skips)
        yield (
            slice(a, b),
            logs,
            states,
            skips,
            paths,
            -_added(paths[-1, -1], paths[-1, -2] if last > first else -np.inf),
        )


@op(types=FLOATING)
def ctc_loss(
    logits: LoDTensor,
    labels: LoDTensor,
    /,
    *,
    blank: int = 0,
    norm_by_times: ByTimes = False,
    zero_infinity: bool = False,
    level: int = -1,
) -> Dense | LoDTensor:
    """Return the negative log-likelihood of the labels of each sequence: the CTC loss.

    CTC is connectionist temporal classification (Graves et al., 2006). The loss is ``-log(p)``. Here p is the sum of
    the probabilities of all paths that ``ctc_align`` turns into the labels. The operator applies a softmax to the
    logits first. Paths are added in the logarithmic domain and in double precision, so neither thousands of frames nor
    probabilities of ``exp(-1000)`` underflow. The operator corresponds to Paddle's warpctc.

    Parameters
    ----------
    logits : LoDTensor of shape (frames, classes)
        float16, float32 or float64, unnormalised.
    labels : LoDTensor of int32 or int64
        Classes without the blank, of shape ``(labels,)`` or ``(labels, 1)``, with as many sequences as the logits.
    blank : int
        The class that separates labels, and stands for no label.
    norm_by_times : {False, True, "gradient"}
        Divide each loss by its number of frames; "gradient" divides only the gradient, as Paddle does.
    zero_infinity : bool
        If True, 0 replaces an infinite loss. A loss is infinite if there are too few frames for the labels, or if each
        path to the labels has probability 0. The gradient of such a sequence is 0 in any case.
    level : int
        The level of the sequences; the innermost by default.

    Returns
    -------
    array, or LoDTensor when there are levels above
        One loss per sequence, in the type of the logits.

    Raises
    ------
    RowIndexError
        A label is the blank, or is outside ``[0, classes)``.
    LoDMismatchError
        Logits and labels have different numbers of sequences.
    ShapeMismatchError
        Logits do not have two dimensions.
    ValueError
        The blank is outside ``[0, classes)``.

    Examples
    --------
    >>> logits, labels = LoDTensor(np.zeros((4, 3)), [[3, 1]]), LoDTensor([1, 2, 1, 1], [[2, 2]])
    >>> ctc_loss(logits, labels).round(4)
    array([1.6864,    inf])
    >>> float(np.log(27 / 5).round(4))  # 5 of 27 paths are right: 112, 122, 12-, 1-2, -12
    1.6864
    """
    found = [loss for *_, loss in _sequences(logits, labels, blank, level)]
    out = np.array(found, np.float64) / frames_of(logits._row_offsets(level), norm_by_times is True)
    out = np.where(np.isinf(out) & zero_infinity, 0, out)
    with np.errstate(over="ignore"):
        return with_outer_levels(logits, level, out.astype(native(logits.dtype)))


def frames_of(offsets, by_times):
    """What to divide by: the frames of each sequence, or ones."""
    lengths = np.diff(offsets)
    return np.maximum(lengths, 1) if by_times else np.ones_like(lengths)


@ctc_loss.infer_rule
def _(logits, labels, *, blank=0, norm_by_times=False, zero_infinity=False, level=-1):
    return pooled_desc(logits, level, ())


@op(like="logits", gradient_of=ctc_loss, types=FLOATING)
def ctc_loss_grad(
    logits: LoDTensor,
    labels: LoDTensor,
    grad: Dense,
    /,
    *,
    blank: int = 0,
    norm_by_times: ByTimes = False,
    level: int = -1,
) -> LoDTensor:
    """Return the gradient of ``ctc_loss`` by the logits: the softmax minus the share of the paths in each class.

    The gradient of a sequence with an infinite loss is 0.

    >>> logits, labels = LoDTensor(np.zeros((2, 2)), [[2]]), LoDTensor([1], [[1]])
    >>> ctc_loss_grad(logits, labels, np.array([6.])).values.round(4)
    array([[ 1., -1.],
           [ 1., -1.]])
    """
    out = np.zeros(logits.values.shape)
    scales = grad / frames_of(logits._row_offsets(level), norm_by_times)
    sequences = _sequences(logits, labels, blank, level, grad)
    for scale, (rows, logs, states, skips, paths, loss) in zip(scales, sequences, strict=True):
        back = _paths(logs[::-1], states[::-1], skips[::-1])[::-1, ::-1]
        for t in range(len(logs)) if not np.isinf(loss) else ():
            shares = np.exp(paths[t + 1] + back[t] - np.maximum(logs[t, states], -1e300) + loss)
            out[rows][t] = np.exp(logs[t])
            np.subtract.at(out[rows][t], states, shares)
        out[rows] *= scale
    return logits.with_values(out.astype(native(logits.dtype)))


@ctc_loss.example
def _(dtype):
    logits = LoDTensor(np.ones((3, 4), np.float32 if dtype.kind == "i" else dtype), [[2, 1]])
    return [((logits, LoDTensor(np.array([1, 2]), [[1, 1]])), {})]
