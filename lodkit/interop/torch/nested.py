"""LoDTensors from and to PyTorch's jagged nested tensors, and what has values and offsets as they do."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from ...arrays.remedies import remedy_for
from ...arrays.tensors import numbers_of, tensor_of
from ...arrays.types import ArrayLike, Levels
from ...errors import LoDError, LoDLevelError
from ...lod import LoDTensor
from ...lod import levels as _levels


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
    return over(LoDTensor, values, given([integers(x) for x in vectors]))


def over(kind, values, levels):
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
        raise LoDError("the nested tensor has holes (lengths beside offsets); call .contiguous() before from_torch")
    return over(kind, nested.values(), _levels.from_offsets([integers(nested.offsets())]))


def from_torch(kind, x):
    """``LoDTensor.from_torch``: ``kind`` is LoDTensor."""
    if isinstance(x, torch.Tensor):
        return from_nested(kind, x)
    if hasattr(x, "flat_values") and hasattr(x, "nested_row_splits"):  # tf.RaggedTensor
        return kind.from_offsets(np.asarray(x.flat_values), *map(np.asarray, x.nested_row_splits))
    if all(callable(getattr(x, name, None)) for name in ("values", "lengths")):
        lengths = integers(x.lengths()).reshape(-1)
        if callable(getattr(x, "keys", None)):
            return _by_key(kind, list(x.keys()), x.values(), lengths)
        return over(kind, x.values(), _levels.from_lengths([lengths]))
    raise TypeError(
        f"from_torch takes a jagged nested tensor, TorchRec's JaggedTensor or KeyedJaggedTensor, or a tf.RaggedTensor, "
        f"got {type(x).__name__}; {remedy_for(x, 'x', 'LoDTensor')}"
    )


def _by_key(kind, keys, values, lengths):
    """Views of the values of each key: a KeyedJaggedTensor has them one after another."""
    if not keys or len(lengths) % len(keys):
        raise LoDError(f"{len(lengths)} lengths for {len(keys)} keys; each key has a length for every example")
    found, start, batch = {}, 0, len(lengths) // len(keys)
    for i, key in enumerate(keys):
        levels = _levels.from_lengths([lengths[i * batch : (i + 1) * batch]])
        stop = start + int(levels[0][-1])
        found[key] = over(kind, values[start:stop], levels)
        start = stop
    if start != len(values):
        raise LoDError(f"the lengths of all keys add up to {start}, and there are {len(values)} values")
    return found


def keyed(tensors: Mapping[str, LoDTensor]) -> tuple[list[str], torch.Tensor, torch.Tensor]:
    """Return keys, values and lengths of a KeyedJaggedTensor: ``KeyedJaggedTensor(*keyed(tensors))``.

    Parameters
    ----------
    tensors : dict of str to LoDTensor
        Of one level and the same number of sequences each.

    Returns
    -------
    keys : list of str
    values : torch.Tensor
        Those of all keys, one after another (a copy).
    lengths : torch.Tensor of int64
    """
    if len({len(t) for t in tensors.values()}) > 1 or any(t.lod_level != 1 for t in tensors.values()):
        shown = ", ".join(f"{k}: {t.lod_level} levels, {len(t)} sequences" for k, t in tensors.items())
        raise LoDLevelError(f"each key takes one level and the same number of sequences, got {shown}")
    lengths = [torch.from_numpy(t.lengths()) for t in tensors.values()]
    return list(tensors), torch.cat([values_tensor(t) for t in tensors.values()]), torch.cat(lengths)


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
