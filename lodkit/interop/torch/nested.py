"""LoDTensors from and to PyTorch's jagged nested tensors, and what has values and offsets as they do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch

from ...arrays.remedies import remedy_for
from ...arrays.sizes import total_size
from ...arrays.tensors import numbers_of, tensor_of
from ...arrays.types import ArrayLike, Levels
from ...base.errors import LoDError, LoDLevelError, LoDMismatchError
from ...lod import LoDTensor
from ...lod import levels as _levels
from ...lod.levels import format_short


def ragged(values: torch.Tensor, *lengths: ArrayLike | torch.Tensor, offsets: Levels | None = None) -> LoDTensor:
    """Make a LoDTensor over a tensor, which may require grad.

    Parameters
    ----------
    values : torch.Tensor of shape (rows, *item)
        Shared, not copied.
    *lengths : tensor, array or list of int
        A vector per level, outermost first.
    offsets : list of vectors of int, optional
        Per level, instead of lengths; they count sequences of the next level.

    Raises
    ------
    LoDError
        Lengths or offsets that do not fit the values or each other.

    Examples
    --------
    >>> import torch
    >>> x = ragged(torch.tensor([1.0, 2.0, 3.0], requires_grad=True), [2, 1])
    >>> lodkit.interop.torch.sequence_pool(x).sum().backward()
    >>> x.values.grad
    tensor([1., 1., 1.])
    """
    if not isinstance(values, torch.Tensor):
        raise TypeError(f"values must be a tensor, got {type(values).__name__}; make LoDTensor(values, [lengths])")
    if not values.ndim:
        raise ValueError("values must have at least one dimension, (rows, *item)")
    if bool(lengths) == (offsets is not None):
        raise TypeError("give lengths, a vector per level, or offsets=")
    given = _levels.from_lengths if lengths else _levels.from_offsets
    vectors = lengths if offsets is None else offsets
    return wrap_values(LoDTensor, values, given([integers(x) for x in vectors]))


def wrap_values(kind, values, levels):
    """A LoDTensor over values and checked levels."""
    _levels.check_rows(levels, values)
    return kind._wrap(values, levels)


def integers(x):
    """A vector of integers on the CPU."""
    return numbers_of(x, "a vector of integers") if isinstance(x, torch.Tensor) else x


def from_nested(kind, nested):
    """The LoDTensor over the values of a jagged nested tensor."""
    if nested.layout is not torch.jagged:
        remedy = "make it with layout=torch.jagged" if nested.is_nested else "give lengths: LoDTensor(x, [lengths])"
        raise TypeError(f"from_torch takes nested tensors of layout torch.jagged, got {nested.layout}; {remedy}")
    if nested._ragged_idx != 1:
        raise LoDError(
            f"dimension {nested._ragged_idx} of the nested tensor is ragged, not 1; transpose it back before "
            "LoDTensor.from_torch"
        )
    if nested.lengths() is not None:
        raise LoDError("the nested tensor has holes (lengths and offsets); call .contiguous() before from_torch")
    return wrap_values(kind, nested.values(), _levels.from_offsets([integers(nested.offsets())]))


def from_torch(kind, x, weights=None):
    """``LoDTensor.from_torch``: ``kind`` is LoDTensor."""
    if isinstance(x, torch.Tensor):
        made = from_nested(kind, x)
        return (made, None) if weights else made
    if is_jagged(x):
        name = type(x).__name__
        factors = x.weights_or_none() if hasattr(x, "weights_or_none") else None
        if factors is not None and weights is None:
            raise LoDError(
                f"the {name} has weights: take them too, ids, weights = LoDTensor.from_torch(x, weights=True), or "
                "leave them, LoDTensor.from_torch(x, weights=False)"
            )
        made = (
            _split_by_key(kind, x)
            if is_keyed(x)
            else wrap_values(kind, x.values(), _levels.from_lengths([_lengths(x)]))
        )
        return (made, factors if factors is None else _like(made, factors)) if weights else made
    raise TypeError(
        f"from_torch takes a jagged nested tensor, TorchRec's JaggedTensor or KeyedJaggedTensor, or a tf.RaggedTensor, "
        f"got {type(x).__name__}; {remedy_for(x, 'x', 'LoDTensor')}"
    )


def is_jagged(x):
    """Whether ``x`` is TorchRec's JaggedTensor or KeyedJaggedTensor, by its methods."""
    return not isinstance(x, type) and all(callable(getattr(x, name, None)) for name in ("values", "lengths"))


def is_keyed(x):
    """Whether what is jagged has keys."""
    return callable(getattr(x, "keys", None))


def _lengths(x):
    lengths = x.lengths()
    return integers(lengths if lengths.numel() else lengths.long()).reshape(-1)


def _split_by_key(kind, x):
    """Views of the values of each key: a KeyedJaggedTensor has them one after another, each with its own batch."""
    keys, values, lengths = list(x.keys()), x.values(), _lengths(x)
    if len({*keys}) != len(keys):
        again = next(key for i, key in enumerate(keys) if key in keys[:i])
        places = [i for i, key in enumerate(keys) if key == again]
        raise LoDError(
            f"the key {again!r} stands at {places}, and a dictionary has one of each; name them apart: "
            "KeyedJaggedTensor(names, x.values(), x.weights_or_none(), x.lengths(), "
            "stride_per_key_per_rank=[[n] for n in x.stride_per_key()])"
        )
    if callable(getattr(x, "stride_per_key", None)):
        batches = [int(size) for size in x.stride_per_key()]
    else:
        batches = [len(lengths) // max(len(keys), 1)] * len(keys)
    if len(batches) != len(keys) or min(batches, default=0) < 0 or total_size(batches, "the batches") != len(lengths):
        raise LoDError(f"{len(lengths)} lengths for {len(keys)} keys, whose batches are {format_short(batches)}")
    found, start, first = {}, 0, 0
    for key, batch in zip(keys, batches, strict=True):
        levels = _levels.from_lengths([lengths[first : first + batch]])
        stop, first = start + int(levels[0][-1]), first + batch
        found[key] = wrap_values(kind, values[start:stop], levels)
        start = stop
    if start != len(values):
        raise LoDError(f"the lengths of all keys add up to {start}, and there are {len(values)} values")
    return found


def _like(made, weights):
    """Weights in the structure of what was made: of a LoDTensor, or of each key."""
    if not isinstance(made, dict):
        return made.with_values(weights)
    found, start = {}, 0
    for key, t in made.items():
        stop = start + t.shape[0]
        found[key], start = t.with_values(weights[start:stop]), stop
    if start != len(weights):
        raise LoDError(f"{len(weights)} weights for {start} values")
    return found


class Keyed(NamedTuple):
    """What TorchRec's ``KeyedJaggedTensor`` is made of, in the order of its arguments."""

    keys: list[str]
    values: torch.Tensor
    weights: torch.Tensor | None
    lengths: torch.Tensor
    offsets: None
    stride: None
    stride_per_key_per_rank: list[list[int]] | None


def keyed(tensors: Mapping[str, LoDTensor], weights: Mapping[str, LoDTensor] | None = None) -> Keyed:
    """Return what a KeyedJaggedTensor is made of: ``KeyedJaggedTensor(*keyed(tensors))``.

    Parameters
    ----------
    tensors : dict of str to LoDTensor
        LoDTensors of one level each; batches may differ from key to key.
    weights : dict of str to LoDTensor, optional
        A number for each value, in the same structure.

    Returns
    -------
    Keyed
        A named tuple: keys, values and weights of all keys, one after another (copies), and lengths of int64. If
        batches differ, it has their sizes as ``stride_per_key_per_rank``; the other arguments are None.

    Raises
    ------
    LoDLevelError
        A tensor of another number of levels than one.
    LoDMismatchError
        Weights of other keys or of another structure.
    """
    parts = list(tensors.values())
    if any(t.lod_level != 1 for t in parts):
        shown = ", ".join(f"{k}: {t.lod_level} levels" for k, t in tensors.items())
        raise LoDLevelError(f"each key takes one level, got {shown}")
    factors = None
    if weights is not None:
        for key in [*tensors, *weights]:
            if key not in weights or key not in tensors or not weights[key].same_lod(tensors[key]):
                raise LoDMismatchError(f"weights[{key!r}] and tensors[{key!r}] are not of one structure, or one lacks")
        factors = _end_to_end([weights[key] for key in tensors])
    batches = None if len({*map(len, parts)}) < 2 else [[len(t)] for t in parts]
    lengths = [torch.empty(0, dtype=torch.int64), *(torch.from_numpy(t.lengths()) for t in parts)]
    return Keyed(list(tensors), _end_to_end(parts), factors, torch.cat(lengths), None, None, batches)


def _end_to_end(parts):
    """The values of LoDTensors in one tensor."""
    return torch.cat([values_tensor(t) for t in parts]) if parts else torch.empty(0)


def values_tensor(t):
    """The values of a LoDTensor as a tensor over the same memory."""
    values = t._whole()
    if isinstance(values, torch.Tensor):
        return values
    return tensor_of(values) if isinstance(values, np.ndarray) else torch.as_tensor(values)


def to_torch(t):
    """``LoDTensor.to_torch``."""
    if t.lod_level == 0:
        return values_tensor(t)
    if t.lod_level > 1:
        raise LoDLevelError(
            f"a nested tensor has one level, this LoDTensor {t.lod_level}; give its innermost sequences: "
            "LoDTensor.from_offsets(t.values, t.offsets()).to_torch()"
        )
    values = values_tensor(t)
    offsets = torch.from_numpy(t.offsets().copy()).to(values.device)
    return torch.nested.nested_tensor_from_jagged(values, offsets)
