"""What ``EmbeddingBag`` is given, as bags: ids with offsets that were checked and copied."""

from __future__ import annotations

import functools

import numpy as np
import torch

from ...arrays.ids import checked_ids
from ...arrays.numpy_arrays import refuse_large
from ...arrays.remedies import remedy_for
from ...arrays.tensors import array_of, check_storage, numbers_of, plain_array_of
from ...base.errors import DeviceError, DTypeError, LoDError, ShapeMismatchError
from ...jit import njit
from ...lod import LoDTensor, check_bag
from ...lod.levels import freeze
from ...lod.offsets import lengths_to_offsets
from .nested import from_nested, is_jagged, is_keyed

_IDS = (torch.int64, torch.int32)


@njit
def _fill_offsets(starts, count, offsets):
    """Copy starts of bags, and end the last bag at ``count``. Returns the position of the first bad one, or -1."""
    before = 0
    for i in range(len(starts)):
        # Read once: another thread may write the start.
        start = starts[i]
        if start < before or (i == 0 and start != 0) or start > count:
            return i
        offsets[i] = before = start
    last = len(offsets) - 1
    if last < len(starts) and before != count:
        return last
    offsets[last] = count
    return -1


def bags_of(x, offsets, include_last_offset, like=None):
    """Return the bags of any input of ``EmbeddingBag.forward``: a LoDTensor of one id a row, over the memory of ``x``.

    Ids are a NumPy array; a tensor where the table ``like`` is on a GPU, as they must be then.

    Raises
    ------
    LoDError
        Offsets that do not start at 0, decrease, or end beyond the ids.
    DTypeError
        Ids or offsets of another type than int32 and int64.
    """
    if isinstance(x, torch.Tensor) and not x.is_nested:
        dims = x.ndim
        if dims == 1:
            return _bags_by_offsets(x, offsets, include_last_offset, like)
        if dims == 2:
            if offsets is not None:
                raise ValueError("input has two dimensions, one bag a row: offsets must be None then")
            return LoDTensor._wrap(_ids_of(x, like=like).reshape(-1), (_equal_offsets(*x.shape),))
        raise ValueError(f"input has {dims} dimensions; pass ids with offsets, or a matrix of one bag a row")
    if not isinstance(x, LoDTensor | torch.Tensor):
        if is_jagged(x):
            one, other = ("[key]", ": a table reads one key") if is_keyed(x) else ("", "")
            raise TypeError(
                f"input is a {type(x).__name__}{other}; pass ids{one} of ids, weights = "
                f"LoDTensor.from_torch(input, weights=True), and per_sample_weights=weights{one} if there are weights"
            )
        raise TypeError(
            f"input must be a tensor of ids, a LoDTensor or a nested tensor, got {type(x).__name__}; "
            f"{remedy_for(x, 'input', 'LoDTensor')}"
        )
    if offsets is not None:
        raise ValueError(f"input, a {type(x).__name__}, has offsets of its own; leave out offsets")
    if not isinstance(x, LoDTensor):
        x = from_nested(LoDTensor, x)
    if x._whole() is None:
        raise ValueError("input is structure without values; set ids with set_values")
    bags = check_bag(x, "EmbeddingBag")
    flat = bags._values
    if isinstance(flat, np.ndarray) and like is None:
        return bags
    return bags._like(_ids_of(torch.as_tensor(flat), like=like))


def _ids_of(x, name="input", like=None):
    if x.dtype not in _IDS:
        # The type of an empty tensor says nothing: PyTorch makes float32 of an empty list.
        if not x.numel():
            return _ids_of(x.long(), name, like)
        if x.is_floating_point() or x.is_complex() or x.dtype is torch.bool:
            raise DTypeError(f"{name} must be integers, not {x.dtype}; convert with .long()")
        if x.dtype is torch.uint64:
            refuse_large(numbers_of(x, name), name)
        return _ids_of(x.long(), name, like)
    if like is not None:
        if x.device != like.device:
            raise DeviceError(f"{name} is on {x.device}, the table on {like.device}; call .to({str(like.device)!r})")
        return x
    found = plain_array_of(x)
    if found is not None:
        return found
    if x.is_cuda:
        raise DeviceError(f"{name} is on {x.device}; the table is on the CPU; call .cpu()")
    return array_of(x, name)


def _bags_by_offsets(x, starts, whole, like=None):
    """Bags of ids and offsets; ``whole`` offsets end with the number of ids."""
    if not isinstance(starts, torch.Tensor) or starts.ndim != 1:
        found = f"of shape {tuple(starts.shape)}" if isinstance(starts, torch.Tensor) else repr(starts)
        raise ValueError(f"offsets must be a tensor of one dimension where input has one, got {found}")
    ids, numbers = _ids_of(x, like=like), _ids_of(starts if like is None else starts.cpu(), "offsets")
    if not len(numbers):
        if whole:
            raise LoDError("offsets are empty; with include_last_offset there is one more than bags")
        return LoDTensor._wrap(ids[:0], (_equal_offsets(0, 0),))
    if numbers.dtype != np.int64 or not numbers.flags.c_contiguous:
        numbers = np.ascontiguousarray(numbers, np.int64)
    made = np.empty(len(numbers) + (not whole), np.int64)
    bad = _fill_offsets(numbers, len(ids), made)
    if bad >= 0:
        raise _bad_offset(numbers, bad, len(ids), whole)
    return LoDTensor._wrap(ids, (freeze(made),))


def _bad_offset(numbers, i, count, whole):
    """The error of the offset at position i."""
    if i == 0 and numbers[0] != 0:
        return LoDError(f"offsets[0] = {numbers[0]}; offsets start at 0, where the first bag starts")
    if i and numbers[i] < numbers[i - 1]:
        return LoDError(
            f"offsets[{i}] = {numbers[i]} is less than offsets[{i - 1}] = {numbers[i - 1]}; they never fall"
        )
    if numbers[i] > count:
        return LoDError(f"offsets[{i}] = {numbers[i]} is beyond the {count} ids of input")
    return LoDError(
        f"offsets[{i}] = {numbers[i]} is the last, and there are {count} ids: with include_last_offset they are equal"
    )


@functools.lru_cache(64)
def _equal_offsets(count, length):
    return freeze(np.arange(count + 1) * length)


def copy_ids(bags):
    """Bags whose ids are a copy, as int64: what backward, which may come late, is given."""
    return LoDTensor._wrap(np.array(bags._values, np.int64), bags._lod)


def check_pool(weights, mode):
    """Refuse weights of the ids with other modes than sum, as PyTorch does."""
    if weights is not None and mode != "sum":
        raise NotImplementedError(f"per_sample_weights have a meaning with mode='sum', not {mode!r}")


def renorm(table, ids, max_norm, norm_type):
    """Give the rows that are read at most the largest norm, in place."""
    check_storage(table, "the table")
    with torch.no_grad():
        torch.embedding_renorm_(table.detach(), ids, max_norm, norm_type)


def weights_of(weights, x, bags, dtype):
    """Weights of the ids as a tensor of one dimension, or None."""
    if weights is None:
        return None
    if isinstance(weights, LoDTensor):
        if not isinstance(x, LoDTensor) or not weights.same_lod(x):
            raise ShapeMismatchError("per_sample_weights is a LoDTensor of another structure than input")
        weights = torch.as_tensor(weights._whole())
    elif isinstance(x, torch.Tensor) and x.is_nested:
        if not weights.is_nested or not torch.equal(weights.offsets(), x.offsets()):
            raise ShapeMismatchError("per_sample_weights must be nested as input is, with the same lengths")
        weights = weights.values()
    elif tuple(weights.shape) != (tuple(x.shape) if isinstance(x, torch.Tensor) else bags.values.shape):
        shape = tuple(x.shape) if isinstance(x, torch.Tensor) else bags.values.shape
        raise ShapeMismatchError(f"per_sample_weights has shape {tuple(weights.shape)}, the ids {shape}")
    if weights.dtype != dtype:
        raise DTypeError(f"per_sample_weights is {weights.dtype}, the table {dtype}; convert one")
    return weights.reshape(-1)


def check_places(x, bags, height):
    """Refuse bad ids of bags, by their place in the input ``x``."""
    ids = bags._values
    if isinstance(x, torch.Tensor) and x.dim() == 2 and not x.is_nested:
        ids = ids.reshape(tuple(x.shape))
    checked_ids(ids, height, "input")


def drop_padding(bags, weights, padding_idx):
    """Bags and weights without the ids that are ``padding_idx``."""
    kept = bags._values != padding_idx
    if kept.all():
        return bags, weights
    before = lengths_to_offsets(kept.astype(np.int64))
    levels = (*bags._lod[:-1], freeze(before[bags._lod[-1]]))
    weights = None if weights is None else weights[torch.from_numpy(kept)]
    return LoDTensor._wrap(bags._values[kept], levels), weights
