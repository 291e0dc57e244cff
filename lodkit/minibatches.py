"""Joining batches of sequences, and cutting one into shuffled mini-batches."""

from __future__ import annotations

import numpy as np

from ._indexing import require_cpu
from ._levels import frozen
from .arrays import from_lists
from .checks import is_integer
from .errors import LoDMismatchError
from .lod_tensor import LoDTensor


def concat(tensors):
    """Join LoDTensors of one lod_level and item shape: the sequences of the first, then of the next. Or Features.

    Parameters
    ----------
    tensors : sequence of LoDTensor, or of Features

    Returns
    -------
    LoDTensor, or Features

    Examples
    --------
    >>> concat([LoDTensor([1, 2], [[2]]), LoDTensor([3], [[0, 1]])])
    LoDTensor([[1, 2], [], [3]], recursive_sequence_lengths=[[2, 0, 1]], shape=(3,), dtype=int64)
    """
    tensors = list(tensors)
    if not tensors:
        raise ValueError("concat needs at least one LoDTensor")
    first = tensors[0]
    if _is_features(first):
        return first._concat(tensors)
    for i, t in enumerate(tensors):
        if not isinstance(t, LoDTensor):
            raise TypeError(f"concat takes LoDTensors, got {type(t).__name__} at position {i}")
        if t.lod_level != first.lod_level or t.shape[1:] != first.shape[1:]:
            raise LoDMismatchError(
                f"concat: tensor {i} has lod_level {t.lod_level} and items of shape {t.shape[1:]}, "
                f"tensor 0 {first.lod_level} and {first.shape[1:]}"
            )
        if (t.values is None) != (first.values is None):
            raise LoDMismatchError(f"concat: only one of tensors 0 and {i} has values")
    levels = tuple(_joined([t._lod[level] for t in tensors]) for level in range(first.lod_level))
    return LoDTensor._wrap(None if first.values is None else _rows([t.values for t in tensors]), levels)


def _is_features(x):
    from .features import Features

    return isinstance(x, Features)


def _joined(offsets):
    shifts = np.cumsum([0] + [o[-1] for o in offsets])
    return frozen(np.concatenate([[0], *(o[1:] + shift for o, shift in zip(offsets, shifts, strict=False))]))


def _rows(values):
    for v in values:
        require_cpu(v, "concat")
    return np.concatenate(values)


def batches(t, *labels, size, seed=None, bucket=False):
    """Yield every sequence once, in shuffled mini-batches.

    Parameters
    ----------
    t : LoDTensor or Features
        Its outermost sequences are the examples.
    *labels : array, list, LoDTensor or Features
        One entry an example, batched alongside.
    size : int
        Examples in a batch; the last one may have fewer.
    seed : int or numpy.random.Generator, optional
        The same seed gives the same batches.
    bucket : bool
        Put sequences of similar length together: less padding, where something still needs it.

    Yields
    ------
    Like ``t``, or a tuple of it and the labels' batches where labels are given.

    Examples
    --------
    >>> t = LoDTensor([1, 2, 3, 4], [[2, 1, 1]])
    >>> sum(len(batch) for batch, label in batches(t, [0, 1, 0], size=2, seed=0))
    3
    """
    if not is_integer(size) or size < 1:
        raise ValueError(f"size must be a positive integer, got {size!r}")
    if not isinstance(t, LoDTensor) and not _is_features(t):
        raise TypeError(f"batches takes a LoDTensor, got {type(t).__name__}; LoDTensor(x) makes one of an array")
    labels = [
        x if isinstance(x, LoDTensor) or _is_features(x) else from_lists(x, f"labels[{i}]")
        for i, x in enumerate(labels)
    ]
    for i, x in enumerate(labels):
        if len(x) != len(t):
            raise ValueError(f"labels[{i}] has {len(x)} entries for {len(t)} sequences")
    return _batches(t, labels, _order(t, size, np.random.default_rng(seed), bucket))


def _batches(t, labels, order):
    for numbers in order:
        yield (t[numbers], *(x[numbers] for x in labels)) if labels else t[numbers]


_POOL = 64  # batches whose sequences are sorted by length together: alike, and still shuffled


def _order(t, size, random, bucket):
    """The numbers of the sequences of each batch."""
    order = random.permutation(len(t))
    t = t.values if _is_features(t) else t
    if bucket and t.lod_level:
        lengths = t.lengths(0, absolute=True)
        pools = (order[i : i + _POOL * size] for i in range(0, len(order), _POOL * size))
        pools = [pool[np.argsort(lengths[pool], kind="stable")] for pool in pools]
        order = np.concatenate([order, *pools])[len(order) :]
    cuts = [order[i : i + size] for i in range(0, len(order), size)]
    return [cuts[i] for i in random.permutation(len(cuts))] if bucket else cuts
