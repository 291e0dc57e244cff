"""``collate`` for a DataLoader: ragged examples become LoDTensors over tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ...arrays.objects import NUMBERS, refuse_objects
from ...arrays.tensors import check_dense, check_storage
from ...lod import LoDTensor
from ...lod import levels as _levels
from ...lod.joining import join_sequences


def collate(batch: Sequence[Any]) -> Any:
    """Make a batch of examples: ``DataLoader(dataset, collate_fn=lodkit.interop.torch.collate)``.

    Parameters
    ----------
    batch : list
        Examples: sequences, nested sequences, numbers, or tuples or dictionaries of these. A sequence is a tensor of
        one or more dimensions, an array or a list (of numbers, or of sequences); a tuple is several fields.

    Returns
    -------
    LoDTensor, torch.Tensor, tuple or dict
        Sequences become a LoDTensor over a tensor, with a level for each depth of lists. Numbers, scalar arrays and
        scalar tensors (labels) become a tensor, texts a list. Tuples and dictionaries are converted field by field.

    Raises
    ------
    ValueError
        No examples, or examples of different fields, depth or item shape; the message names the example.

    Examples
    --------
    >>> words, labels = collate([([4, 7], 1), ([5], 0)])
    >>> words.values, words.recursive_sequence_lengths(), labels
    (tensor([4, 7, 5]), [[2, 1]], tensor([1, 0]))
    """
    if not len(batch):
        raise ValueError("collate takes at least one example")
    first = batch[0]
    if isinstance(first, dict):
        _check_alike(batch, dict, list)
        return {key: _field([x[key] for x in batch], f"[{key!r}]") for key in first}
    if isinstance(first, tuple):
        _check_alike(batch, tuple, len)
        fields = [_field([x[i] for x in batch], f"[{i}]") for i in range(len(first))]
        return type(first)(*fields) if hasattr(first, "_fields") else tuple(fields)
    return _field(batch, "")


def _check_alike(batch, kind, of):
    first = of(batch[0])
    if set(map(type, batch)) == {type(batch[0])} and list(map(of, batch)).count(first) == len(batch):
        return
    for i, x in enumerate(batch):
        if not isinstance(x, kind) or of(x) != first:
            shown = of(x) if isinstance(x, kind) else type(x).__name__
            raise ValueError(f"example {i} has the fields {shown}, example 0 {first}; all are to be alike")


def _field(values, place):
    """One field of every example; ``place`` is how an example names it."""
    kinds = set(map(type, values))
    if kinds <= NUMBERS:
        return _labels(values)
    joined = _join_alike(list(values), kinds)
    return _read_field(values, place) if joined is None else joined


def _join_alike(values, kinds):
    """Sequences of one kind as a LoDTensor over a tensor; None of others."""
    if kinds == {list}:
        joined = join_sequences(LoDTensor, values, kinds)
        return None if joined is None else joined._like(torch.as_tensor(joined._values).clone())
    if kinds == {np.ndarray} and values[0].ndim and torch.get_default_device().type == "cpu":
        try:
            # Takes a quarter of the time of ``as_tensor`` (znver5).
            values = list(map(torch.from_numpy, values))
        except (TypeError, ValueError):
            return None
        kinds = {torch.Tensor}
    return join_sequences(LoDTensor, values, kinds) if kinds == {torch.Tensor} else None


def _read_field(values, place):
    for i, x in enumerate(values):
        if x is None:
            raise ValueError(f"example {i}{place} is None, a missing value; drop it, or fill it")
        if isinstance(x, LoDTensor):
            raise TypeError(
                f"example {i}{place} is a LoDTensor, which is a batch already; join them by lodkit.concat, or give "
                "each sequence as an example: its arrays, or its to_list()"
            )
        if isinstance(x, torch.Tensor):
            check_storage(check_dense(x, f"example {i}{place}"), f"example {i}{place}")
    first = values[0]
    if isinstance(first, dict | tuple):
        return collate(values)
    if isinstance(first, str | bytes):
        return list(values)
    depth = max(map(_depth, values))
    if depth == 0:
        return _labels(values)
    lengths, rows = [], list(values)
    for level in range(depth):
        lengths.append([_length(x, level, place) for x in rows])
        if level < depth - 1:
            rows = [part for x in rows for part in x]
    return LoDTensor._wrap(_join_rows(rows, place), _levels.from_lengths(lengths))


def _depth(x):
    """Number of levels: depth of lists, whose innermost may hold arrays."""
    if isinstance(x, torch.Tensor | np.ndarray):
        return 1 if x.ndim else 0
    if not isinstance(x, list):
        return 0
    return max((1 + _depth(part) for part in x if isinstance(part, list | torch.Tensor | np.ndarray)), default=1)


def _length(x, level, place):
    if not isinstance(x, list) and not getattr(x, "ndim", 0):
        raise ValueError(f"batch[i]{place} has {x!r} at depth {level}, where others have a sequence")
    return len(x)


def _labels(values):
    if isinstance(values[0], torch.Tensor):
        return torch.stack([*map(torch.as_tensor, values)])
    return torch.as_tensor(refuse_objects(np.asarray(values), "the labels", values))


def _join_rows(rows, place):
    """Rows of all sequences in one tensor, in the widest type of those that have any."""
    parts = [
        x
        if isinstance(x, torch.Tensor)
        else torch.as_tensor(refuse_objects(np.asarray(x), f"batch[i]{place}", x if isinstance(x, list) else None))
        for x in rows
    ]
    given = [x for x in parts if x.shape[0]] or parts[:1]
    for i, x in enumerate(parts):
        if x.shape[0] and x.shape[1:] != given[0].shape[1:]:
            raise ValueError(
                f"sequence {i} of batch[i]{place} has items of shape {tuple(x.shape[1:])}, others of "
                f"{tuple(given[0].shape[1:])}; all are to be alike"
            )
    return torch.cat(given) if given else torch.empty(0)
