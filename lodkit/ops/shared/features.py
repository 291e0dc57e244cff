"""Checks of operators over nested features, and what their definitions share."""

from __future__ import annotations

import itertools

import numpy as np

from ...arrays import check_gradient, check_values, dtype_of, from_lists, integers, is_array, mixed_types, to_device
from ...base.errors import DTypeError, LoDError, LoDLevelError, LoDMismatchError, ShapeMismatchError
from ...lod import LoDTensor, values_of
from ...lod.batching import concat
from ...lod.key_index import KeyIndex
from ...registry import VarDesc


def check_items(name, arrays):
    """Check that arrays have one item shape and one dtype. Returns the dtype."""
    first = arrays[0]
    for i, x in enumerate(arrays):
        if tuple(x.shape[1:]) != tuple(first.shape[1:]):
            raise ShapeMismatchError(
                f"{name}: input {i} has items of shape {tuple(x.shape[1:])}, input 0 {tuple(first.shape[1:])}"
            )
        if dtype_of(x) != dtype_of(first):
            raise mixed_types(f"{name}: input {i}", dtype_of(x), "input 0", dtype_of(first))
    return check_values(dtype_of(first), name)


def check_features(name, xs):
    """Check that inputs have as many examples and levels, one item shape and one dtype. Returns their rows."""
    if not xs:
        raise TypeError(f"{name} takes at least one input")
    for i, x in enumerate(xs):
        level = x.lod_level if isinstance(x, LoDTensor) else None
        if level == 0:
            raise LoDLevelError(f"{name}: input {i} has lod_level 0; attach lengths: LoDTensor(x, [[...]])")
        if level is not None and level != xs[0].lod_level:
            raise LoDLevelError(f"{name}: input {i} has lod_level {level}, input 0 {xs[0].lod_level}")
        if level is None and not len(x.shape):
            raise ShapeMismatchError(f"{name}: input {i} has no dimension; the first one counts examples")
        count = len(x) if level is not None else x.shape[0]
        first = len(xs[0]) if level is not None else xs[0].shape[0]
        if count != first:
            raise LoDMismatchError(f"{name}: input {i} has {count} examples, input 0 {first}; merging is by example")
    values = [values_of(x) for x in xs]
    check_items(name, values)
    return values


def to_numpy(x, name):
    """An array of any library, or a list, as a NumPy array."""
    if isinstance(x, np.ndarray):
        return x
    return to_device(x, "cpu") if is_array(x) else from_lists(x, name)


def check_mask(mask, shape, name):
    """Check a mask of this shape. Returns it as booleans."""
    mask = to_numpy(mask, name)
    if mask.shape != tuple(shape):
        raise ShapeMismatchError(f"{name} has shape {mask.shape}; give a mask of shape {tuple(shape)}, one per value")
    if mask.dtype != bool:
        integers = mask.dtype.kind in "iu"
        wrong = np.flatnonzero((mask != 0) & (mask != 1)) if integers else np.zeros(mask.size)
        if len(wrong):
            found = f"{mask.reshape(-1)[wrong[0]]} at position {wrong[0]}" if integers else mask.dtype
            raise DTypeError(f"{name} holds {found}; give True or False, or the integers 1 or 0")
    return mask.astype(bool)


def check_presence(presence, xs):
    """Check masks. Returns booleans, a row per feature: which examples have it. All by default."""
    count = len(xs[0]) if isinstance(xs[0], LoDTensor) else xs[0].shape[0]
    presence = [None] * len(xs) if presence is None else presence
    if not np.iterable(presence) or not hasattr(presence, "__len__"):
        raise TypeError(f"presence must be a list of masks, one per feature, got {presence!r}")
    if len(presence) != len(xs):
        raise ShapeMismatchError(f"presence has {len(presence)} masks for {len(xs)} features; give one each")
    every = np.ones(count, bool)
    masks = (every if m is None else check_mask(m, (count,), f"presence[{f}]") for f, m in enumerate(presence))
    return np.stack([*masks])


def check_keys(values, keys, feature_keys):
    """Check keys. Returns the key of each entry, or their index, and the keys to read: int64."""
    if values.lod_level not in (1, 2):
        raise LoDLevelError(
            f"features have a row per key (lod_level 1) or a list per key (lod_level 2), values have {values.lod_level}"
        )
    indexed = type(keys) is KeyIndex
    if not indexed:
        keys = integers(to_numpy(keys, "keys"), "keys")
    elif not keys.is_of(values._lod):
        raise LoDMismatchError("keys are an index of other values; make one of these, or give the key of each entry")
    entries = values._lod[0].item(-1)
    if not indexed and keys.shape != (entries,):
        raise ShapeMismatchError(f"keys have shape {keys.shape}, the values {entries} entries; give one key per entry")
    read = integers(to_numpy(feature_keys, "feature_keys"), "feature_keys")
    if read.ndim != 1:
        raise ShapeMismatchError(f"feature_keys have shape {read.shape}; give a list of keys: [key]")
    if len({*read.tolist()}) != len(read):
        unique, counts = np.unique(read, return_counts=True)
        raise LoDError(f"feature_keys name key {unique[np.argmax(counts)]} twice; name each once")
    return keys, read


def check_packed(x):
    """Refuse ``x`` of less than two dimensions."""
    if len(x.shape) < 2:
        raise ShapeMismatchError(f"x has shape {tuple(x.shape)}; give (examples, features), or more dimensions")
    return x


def merge_examples(xs):
    """Merge LoDTensors example by example."""
    parts = concat([xs[0][:0], *(x[i : i + 1] for i in range(len(xs[0])) for x in xs)])
    upper, *lower = parts.recursive_sequence_lengths()
    counts = [sum(upper[i : i + len(xs)]) for i in range(0, len(upper), len(xs))]
    return LoDTensor(parts.values, [counts, *lower])


def sources_of(forward, xs, *args):
    """Per row of a result, the number of its source; the rows of all inputs are numbered in order."""
    numbered, start = [], 0
    for x in xs:
        rows = x.shape[0]
        numbers = np.arange(start, start + rows)
        numbered.append(x.with_values(numbers) if isinstance(x, LoDTensor) else numbers)
        start += rows
    return forward(numbered, *args).values


def scatter_to_sources(sources, xs, grad):
    """Copy the rows of a gradient back to their sources; zeros elsewhere."""
    xs = [values_of(x) for x in xs]
    check_gradient(grad, (len(sources), *xs[0].shape[1:]))
    dtype = check_values(xs[0].dtype, "the gradient", floating=True)
    total = np.zeros((sum(map(len, xs)), *xs[0].shape[1:]), dtype)
    total[sources] = grad
    return tuple(np.split(total, [*itertools.accumulate(map(len, xs[:-1]))]))


def rows_of(x, *, lod_level, drop=1):
    return VarDesc("", x.type, x.dtype, (-1, *x.dims[drop:]), lod_level)
