"""Concatenation, even splits and shuffled mini-batches of sequences."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast, overload

import numpy as np

from ..arrays import from_lists, holds_rows, integers, is_cpu_tensor, is_integer, is_tensor, one_device
from ..arrays.recorded import track
from ..arrays.sizes import size_product
from ..arrays.types import ArrayLike, Integer
from ..base.errors import LoDMismatchError, RowIndexError
from ..base.tracebacks import surface
from .large import joined_rows, needs_memory, rows_of
from .levels import end_to_end
from .lod_tensor import LoDTensor
from .selected_rows import SelectedRows

T = TypeVar("T")


class Batch:
    """Base of batches that are not LoDTensors (``Features``)."""

    if TYPE_CHECKING:
        names: Any

        @property
        def values(self) -> LoDTensor: ...
        def __len__(self) -> int: ...
        def __getitem__(self, key: Any) -> Any: ...
        @classmethod
        def _concat(cls, batches: list[Self]) -> Self: ...
    else:
        __slots__ = ()


@surface
def concat(tensors: Iterable[T]) -> T:
    """Concatenate LoDTensors of one lod_level and item shape, or Features, along the outermost level.

    Parameters
    ----------
    tensors : sequence of LoDTensor, or of Features
        On one device; on a GPU, of one dtype.

    Returns
    -------
    LoDTensor, or Features

    Examples
    --------
    >>> concat([LoDTensor([1, 2], [[2]]), LoDTensor([3], [[0, 1]])])
    LoDTensor([[1, 2], [], [3]], recursive_sequence_lengths=[[2, 0, 1]], shape=(3,), dtype=int64)
    """
    if not np.iterable(tensors):
        raise TypeError(f"concat takes a list of LoDTensors, got {type(tensors).__name__}")
    parts: list[Any] = list(tensors)
    if not parts:
        raise ValueError("concat needs at least one LoDTensor")
    first = parts[0]
    if isinstance(first, Batch):
        return cast(T, first._concat(parts))
    for i, t in enumerate(parts):
        if not isinstance(t, LoDTensor):
            raise TypeError(f"concat takes LoDTensors, got {type(t).__name__} at position {i}")
        if t.lod_level != first.lod_level or t.shape[1:] != first.shape[1:]:
            raise LoDMismatchError(
                f"concat: tensor {i} has lod_level {t.lod_level} and items of shape {t.shape[1:]}, "
                f"tensor 0 {first.lod_level} and {first.shape[1:]}"
            )
        if (t.values is None) != (first.values is None):
            raise LoDMismatchError(f"concat: only one of tensors 0 and {i} has values")
    levels = tuple(end_to_end([t._lod[level] for t in parts]) for level in range(first.lod_level))
    rows = [track(t._whole()) for t in parts]
    return LoDTensor._wrap(None if first.values is None else _concat_rows(rows), levels)


def _concat_rows(values):
    if all(isinstance(v, np.ndarray) for v in values):
        return joined_rows(values, "tensors")
    if any(map(is_tensor, values)) and one_device("concat", values) == "cpu":
        torch = sys.modules["torch"]
        return torch.cat([torch.as_tensor(v) for v in values])
    one_device("concat", values)
    from ..arrays.cuda import join_rows

    return join_rows(values)


@surface
@needs_memory
def split(x: T, parts: Integer | ArrayLike, *, by: Literal["sequences", "rows"] = "sequences") -> list[T]:
    """Split a batch into consecutive parts, one per worker; ``concat`` is the inverse.

    Parameters
    ----------
    x : LoDTensor, Features, array or SelectedRows
        Split between outermost sequences, examples or rows; SelectedRows along the height, as ``x.to_dense()``.
    parts : int, or list of int
        Number of parts: sizes differ by at most one, larger ones first, as in ``numpy.array_split``; with fewer
        sequences than parts, the last ones are empty. Or the starts of the second and later parts.
    by : {"sequences", "rows"}
        ``"rows"``: balance the number of rows; sequences stay whole. For arrays and SelectedRows both are the same.

    Returns
    -------
    list
        One view per part; of SelectedRows copies, with rows counted from the start of the part.

    Examples
    --------
    >>> t = LoDTensor([1, 2, 3, 4, 5, 6], [[4, 1, 1]])
    >>> [part.to_list() for part in split(t, 2)]
    [[[1, 2, 3, 4], [5]], [[6]]]
    >>> parts = split(t, 2, by="rows")
    >>> [part.to_list() for part in parts]
    [[[1, 2, 3, 4]], [[5], [6]]]

    Split labels at the same places:

    >>> starts = np.cumsum([len(part) for part in parts])[:-1]
    >>> [part.tolist() for part in split(np.array([7, 8, 9]), starts)]
    [[7], [8, 9]]
    """
    if by not in ("sequences", "rows"):
        raise ValueError(f'by must be "sequences" or "rows", got {by!r}')
    batch: Any = x
    sparse = isinstance(batch, SelectedRows)
    if not (sparse or isinstance(batch, LoDTensor) or holds_rows(batch) or isinstance(batch, Batch)):
        batch = from_lists(batch, "x")
    if not sparse and holds_rows(batch) and not len(batch.shape):
        raise ValueError("an array without dimensions has no rows to split")
    count = batch.height if sparse else batch.shape[0] if holds_rows(batch) else len(batch)
    if isinstance(parts, list | tuple) or getattr(parts, "ndim", 0) > 0:
        starts = _starts(integers(parts, "parts"), count)
    elif not is_integer(parts) or parts < 1:
        raise ValueError(f"parts must be a positive integer, or a list of starts, got {parts!r}")
    elif by == "rows" and (isinstance(batch, LoDTensor | Batch)):
        starts = _even_rows(batch, parts)
    else:
        starts = _even_starts(count, parts)
    bounds = [0, *starts.tolist(), count]
    if sparse:
        return batch.split(np.diff(bounds))
    return [batch[start:stop] for start, stop in pairwise(bounds)]


def _even_starts(count, parts):
    """Return the starts of the second and later of even parts."""
    size, larger = divmod(count, parts)
    numbers = np.arange(1, parts)
    return numbers * size + np.minimum(numbers, larger)


def _even_rows(x, parts):
    """Return the starts that balance rows: the sequence boundaries nearest to even splits."""
    t = x.values if isinstance(x, Batch) else x
    offsets = t._row_offsets(0) if t.lod_level else np.arange(len(t) + 1)
    rows = int(offsets[-1])
    if not rows:
        return _even_starts(len(t), parts)
    size_product((rows, parts), "rows * parts")
    targets = np.arange(1, parts) * rows
    after = np.searchsorted(offsets * parts, targets)
    before = np.maximum(after - 1, 0)
    return np.where(targets - offsets[before] * parts <= offsets[after] * parts - targets, before, after)


def _starts(starts, count):
    bounds = np.concatenate([[0], starts.ravel(), [count]])
    wrong = np.flatnonzero(bounds[1:] < bounds[:-1])
    if len(wrong) or starts.ndim != 1:
        raise RowIndexError(f"parts {starts.tolist()} must be ascending starts in [0, {count}]")
    return starts


@overload
def batches(t: T, *, size: int, seed: int | np.random.Generator | None = None, bucket: bool = False) -> Iterator[T]: ...
@overload
def batches(
    t: T, *labels: Any, size: int, seed: int | np.random.Generator | None = None, bucket: bool = False
) -> Iterator[tuple[T, *tuple[Any, ...]]]: ...
@surface
def batches(t, *labels, size, seed=None, bucket=False):
    """Yield shuffled mini-batches that cover every sequence once.

    Parameters
    ----------
    t : LoDTensor or Features
        Outermost sequences are examples.
    *labels : array, list, LoDTensor or Features
        One entry per example, batched alongside.
    size : int
        Examples per batch; the last one may have fewer.
    seed : int or numpy.random.Generator, optional
        The same seed gives the same batches.
    bucket : bool
        Batch sequences of similar length together, which reduces padding.

    Yields
    ------
    Like ``t``, or with labels a tuple of it and their batches.

    Examples
    --------
    >>> t = LoDTensor([1, 2, 3, 4], [[2, 1, 1]])
    >>> sum(len(batch) for batch, label in batches(t, [0, 1, 0], size=2, seed=0))
    3
    """
    if not is_integer(size) or size < 1:
        raise ValueError(f"size must be a positive integer, got {size!r}")
    if not isinstance(t, LoDTensor) and not isinstance(t, Batch):
        raise TypeError(f"batches takes a LoDTensor, got {type(t).__name__}; wrap an array in LoDTensor(x)")
    labels = [
        x if isinstance(x, LoDTensor | Batch) or is_cpu_tensor(x) else rows_of(x, f"labels[{i}]")
        for i, x in enumerate(labels)
    ]
    for i, x in enumerate(labels):
        if len(x) != len(t):
            raise ValueError(f"labels[{i}] has {len(x)} entries for {len(t)} sequences")
    try:
        random = np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise type(error)(f"seed must be an integer from 0 on, a Generator or None, got {seed!r:.80}") from None
    return _batches(t, labels, _order(t, size, random, bucket))


def _batches(t, labels, order):
    for indices in order:
        yield (t[indices], *(x[indices] for x in labels)) if labels else t[indices]


# Batches sorted by length together; a pool keeps some randomness.
_POOL = 64


def _order(t, size, random, bucket):
    """Return the indices of the sequences of each batch."""
    order = random.permutation(len(t))
    t = t.values if isinstance(t, Batch) else t
    if bucket and t.lod_level:
        lengths = t.lengths(0, absolute=True)
        pools = (order[i : i + _POOL * size] for i in range(0, len(order), _POOL * size))
        pools = [pool[np.argsort(lengths[pool], kind="stable")] for pool in pools]
        order = np.concatenate([order, *pools])[len(order) :]
    chunks = [order[i : i + size] for i in range(0, len(order), size)]
    return [chunks[i] for i in random.permutation(len(chunks))] if bucket else chunks
