"""Sequences of one kind, joined by one call of their library; what is not of one kind is read sequence by sequence.

Where NumPy or PyTorch raises, or a pass cannot tell that reading one by one gives the same, ``join_sequences`` gives
None. Tensors of several types are joined as ``torch.cat`` does it.
"""

from __future__ import annotations

import sys
from itertools import chain, compress
from operator import not_

import numpy as np

from ..arrays import MAX_INT64
from ..arrays.objects import NUMBERS
from ..arrays.tensors import contiguous_sizes
from ..base.errors import DTypeError

LISTS = frozenset((list, tuple))


def join_sequences(cls, parts, kinds):
    """Join plain arrays, dense CPU tensors, or lists of numbers, whose types are ``kinds``; None of others.

    Those that have rows are concatenated, in one call of their library; where none has any, nothing is joined.
    """
    try:
        if kinds == {np.ndarray}:
            joined = _join_arrays(parts)
        elif kinds == {getattr(sys.modules.get("torch"), "Tensor", None)}:
            joined = _join_tensors(parts)
        elif kinds <= LISTS:
            joined = _join_numbers(parts)
        else:
            return None
        if joined is None:
            return None
        values, lengths = joined
        # Refuses text, and lengths of lists that another thread has changed meanwhile.
        return cls(values, [lengths])
    # Reading one by one finds the sequence that is at fault.
    except Exception:
        return None


def _join_arrays(arrays):
    lengths = count_parts(arrays)
    empty = [arrays[i] for i in np.flatnonzero(lengths == 0).tolist()]
    given = list(compress(arrays, lengths.tolist())) if empty else arrays
    # Of several types the slow way refuses those that lose integers.
    values = np.concatenate(given, dtype=given[0].dtype.newbyteorder("="), casting="equiv")
    # Empty arrays decide no type, but NumPy has not seen their items.
    found = {(array.shape[1:], array.dtype.hasobject) for array in (*empty, values)}
    return (values, lengths) if found == {(values.shape[1:], False)} else None


def _join_tensors(tensors):
    # Of labels and of tensors on a GPU nothing is computed twice.
    if not tensors[0].ndim or not tensors[0].is_cpu:
        return None
    sizes = contiguous_sizes(tensors)
    values = sys.modules["torch"].cat(list(compress(tensors, sizes)))
    item = values.shape[1:]
    # Empty tensors decide no type, but PyTorch has not seen their items.
    looked_at = (*compress(tensors, map(not_, sizes)), values)
    found = {(tensor.shape[1:], str(tensor.layout), tensor.is_cpu, tensor.is_quantized) for tensor in looked_at}
    alike = found == {(item, "torch.strided", True, False)}
    return (values, _integers(sizes, tensors) // item.numel()) if alike else None


def _join_numbers(lists):
    numbers = list(chain.from_iterable(lists))
    (kind,) = set(map(type, numbers))
    if kind not in NUMBERS:
        return None
    values = np.asarray(numbers)
    # Integers beyond int64 have other types, list by list.
    return (values, count_parts(lists)) if values.dtype == kind else None


def concatenate_exactly(arrays, what):
    """Concatenate arrays in the type that they have in common; DTypeError where it rounds integers or lacks times.

    uint64 and signed integers have uint64 or int64 in common, if that holds all of them. NumPy takes float64.
    """
    dtypes = {array.dtype for array in arrays}
    if len(dtypes) == 1:
        return np.concatenate(arrays)
    common = np.result_type(*dtypes)
    # NumPy makes durations of numbers beside durations.
    if common.kind == "m" and any(dtype.kind != "m" for dtype in dtypes):
        types = ", ".join(sorted(map(str, dtypes)))
        raise DTypeError(f"{what} of the types {types} have no type in common; convert all to one")
    if common.kind == "f" and all(dtype.kind in "iu" for dtype in dtypes):
        low, high = min(int(x.min(initial=0)) for x in arrays), max(int(x.max(initial=0)) for x in arrays)
        if low >= 0 or high <= MAX_INT64:
            return np.concatenate(arrays, dtype=np.uint64 if low >= 0 else np.int64, casting="unsafe")
    for i, array in enumerate(arrays):
        if rounds_integers(array, common):
            raise DTypeError(
                f"{what}: number {i} has {array.dtype} numbers that {common} rounds, the type in common with the "
                f"others; convert the others to {array.dtype} first, if it holds them, with .astype(np.{array.dtype})"
            )
        if overflows(array, common):
            raise DTypeError(
                f"{what}: number {i} has {array.dtype} times that {common} does not hold, the unit in common with the "
                f"others; convert the others to {array.dtype} first, with .astype('{array.dtype}')"
            )
    return np.concatenate(arrays)


def rounds_integers(array, dtype):
    """Whether an array holds an integer that is not exact in a floating type."""
    if array.dtype.kind not in "iu" or dtype.kind != "f" or not array.size:
        return False
    exact = 2 << np.finfo(dtype).nmant
    return int(array.max()) > exact or int(array.min()) < -exact


def overflows(array, dtype):
    """Whether an array has a time that a finer unit does not hold: NumPy would wrap it."""
    if array.dtype.kind not in "mM" or array.dtype.kind != dtype.kind:
        return False
    return not np.array_equal(array.astype(dtype).astype(array.dtype), array, equal_nan=True)


def count_parts(parts):
    """The length of each of a list's parts, as int64."""
    return _integers(map(len, parts), parts)


def _integers(numbers, of):
    return np.fromiter(numbers, np.int64, len(of))
