"""Features from and to Python dictionaries, and their repr."""

from __future__ import annotations

import difflib
import enum
import math
from itertools import pairwise

import numpy as np

from ..arrays import integers, is_integer, is_number
from ..base.errors import DTypeError, LoDError, RowIndexError
from ..lod.repr_text import numbers

_KINDS = ("scalar", "list", "map")
# Numbers shown in full; examples shown of a larger batch.
_MAX_SHOWN_NUMBERS, _FIRST = 120, 3


def number(key, names, where):
    """Return a feature key (integer, member of an IntEnum, or name) as an integer."""
    if isinstance(key, str):
        if names is None or key not in names.__members__:
            known = [] if names is None else difflib.get_close_matches(key, names.__members__, n=3, cutoff=0)
            hint = f"; names are {', '.join(known)}" if known else "; give names=, a type of enum.IntEnum"
            raise RowIndexError(f"{where}: no feature is called {key!r}{hint}")
        return int(names[key])
    if isinstance(key, enum.Enum) and names is not None and not isinstance(key, names):
        raise TypeError(f"{where}: {key!r} is not a member of {names.__name__}, the names of these features")
    if not is_integer(key):
        raise TypeError(f"{where}: a feature key is an integer, got {key!r}")
    return int(key)


def label(key, names):
    """Return the member of ``names`` for a key, or the key."""
    try:
        return key if names is None else names(key)
    except ValueError:
        return key


def arrays_of(examples, names, dtype, kind):
    """Return lengths, keys, values_lengths, values and map_keys of a list of dictionaries."""
    if kind is not None and kind not in _KINDS:
        raise ValueError(f"kind must be one of {', '.join(_KINDS)}, got {kind!r}")
    if isinstance(examples, dict) or not np.iterable(examples):
        raise TypeError(f"examples must be a list of dictionaries, got {type(examples).__name__}")
    lengths, keys, parts = [], [], []
    for i, example in enumerate(examples):
        if not isinstance(example, dict):
            raise TypeError(f"example {i} must be a dictionary of features, got {type(example).__name__}")
        lengths.append(len(example))
        for key, value in example.items():
            keys.append(number(key, names, f"example {i}"))
            kind = kind or _kind_of(value)
            parts.append(_check_kind(value, kind, i, key))
    lengths, keys = _vector(lengths, "lengths"), _vector(keys, "keys")
    if kind == "scalar":
        return lengths, keys, None, _rows(parts, dtype), None
    counts = _vector([len(part) for part in parts], "lengths")
    if kind == "map":
        map_keys = _vector([key for part in parts for key in part], "map_keys")
        return lengths, keys, counts, _rows([v for part in parts for v in part.values()], dtype), map_keys
    return lengths, keys, counts, _rows([v for part in parts for v in part], dtype), None


def _kind_of(value):
    return "map" if isinstance(value, dict) else "list" if np.iterable(value) else "scalar"


def _check_kind(value, kind, i, key):
    """Return a value, or raise if its kind differs from the others."""
    fits = _kind_of(value) == kind and not isinstance(value, str | bytes)
    if not fits or (kind == "scalar" and not is_number(value)):
        raise LoDError(f"example {i}, key {key!r}: {value!r} is not a {kind}; all values must be of one kind")
    if kind == "map" and not all(map(is_integer, value)):
        raise LoDError(f"example {i}, key {key!r}: {value!r} has keys that are not integers")
    return sorted(value) if isinstance(value, set | frozenset) else value


def _vector(values, name):
    try:
        return integers(np.array(values, np.int64), name)
    except OverflowError as error:
        raise DTypeError(f"{name} must fit int64: {error}") from None


def _rows(values, dtype):
    if not values:
        return np.empty(0, np.int64 if dtype is None else dtype)
    try:
        rows = np.asarray(values)
    except ValueError as error:
        raise LoDError(f"values differ in shape or are not numbers ({error})") from None
    if dtype is not None:
        if rows.dtype.kind == "f" and np.dtype(dtype).kind != "f":
            raise DTypeError(f"values are {rows.dtype}, which {np.dtype(dtype)} would truncate; round them first")
        rows = rows.astype(dtype)
    if rows.dtype.kind not in "fiu":
        raise DTypeError(f"values must be numbers, not {rows.dtype}; map words to ids first")
    return rows


def entries(features):
    """Return lists of ``(key, value)``, one per example."""
    host = features.to("cpu")
    keys, values = host._keys.to_list(), host.values.to_list()
    if host.map_keys is not None:
        maps = host.map_keys.to_list()
        values = [[list(zip(*p, strict=True)) for p in zip(*e, strict=True)] for e in zip(maps, values, strict=True)]
    return [list(zip(*example, strict=True)) for example in zip(keys, values, strict=True)]


def dictionaries(features):
    """Return one dictionary per example; repeated keys raise."""
    result = []
    for i, example in enumerate(entries(features)):
        made = {label(key, features.names): value for key, value in example}
        if len(made) < len(example):
            keys = [key for key, _ in example]
            twice = label(next(key for key in keys if keys.count(key) > 1), features.names)
            raise LoDError(
                f"example {i} has key {twice!r} twice, which a dictionary cannot hold; .feature(key) reads both"
            )
        if features.kind == "map":
            made = {key: _inner(pairs, i, key) for key, pairs in made.items()}
        result.append(made)
    return result


def _inner(pairs, i, key):
    made = dict(pairs)
    if len(made) < len(pairs):
        raise LoDError(
            f"example {i}, key {key!r}: the map has a key twice, which a dictionary cannot hold; read .map_keys"
        )
    return made


def text(features):
    """Return the repr: all examples of a small batch, the first of a large one."""
    device = "" if features.device == "cpu" else f", device={features.device!r}"
    tail = f"dtype={str(features.dtype).removeprefix('torch.')}{device}"
    if (
        math.prod(features.values.shape) <= _MAX_SHOWN_NUMBERS
        and len(features.keys) <= _MAX_SHOWN_NUMBERS
        and len(features) <= _MAX_SHOWN_NUMBERS
    ):
        return f"Features([{', '.join(_examples(features))}], {tail})"
    unique, counts = np.unique(features.keys, return_counts=True)
    shown = np.argsort(-counts, kind="stable")[:_FIRST]
    often = ", ".join(f"{key_name(int(unique[k]), features.names)} ({counts[k]} times)" for k in shown)
    more = f", ... {len(unique)} in all" if len(unique) > len(shown) else ""
    first = [f"  {line}" for line in _examples(features[:_FIRST])]
    counted = f"{len(features)} examples, {len(features.keys)} {features.kind}s, {features.values.shape[0]} values"
    return "\n".join([f"Features({counted}, {tail}", f"  keys: {often}{more}", *first, "  ...)"])


def key_name(key, names):
    return getattr(label(key, names), "name", str(key))


def _examples(features):
    """Yield one line per example, with long lists truncated."""
    host = features.to("cpu")
    offsets, rows = host._keys.offsets().tolist(), host.values._row_offsets().tolist()
    if host.kind == "scalar":
        rows = list(range(len(host.keys) + 1))
    for start, stop in pairwise(offsets):
        names = [key_name(int(host.keys[e]), host.names) for e in range(start, stop)]
        parts = (f"{name}: {_value(host, rows[e], rows[e + 1])}" for e, name in enumerate(names, start))
        yield "{" + ", ".join(parts) + "}"


def _value(features, start, stop):
    values = features.values._whole()[start:stop]
    if features.kind == "scalar":
        return numbers(values, whole=24)[1:-1]
    if features.kind == "list":
        return numbers(values, whole=24)
    keys = features.map_keys._whole()[start:stop]
    shown = [f"{k}: {numbers(v[None])[1:-1]}" for k, v in zip(keys[:12].tolist(), values[:12], strict=True)]
    return "{" + ", ".join([*shown, *(["..."] if len(keys) > 12 else [])]) + "}"
