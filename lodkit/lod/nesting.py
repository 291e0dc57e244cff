"""Nested data of any kind (lists, arrays, Series, columns, tensors) as a LoDTensor: ``LoDTensor.from_nested``."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Iterator, Sequence, ValuesView
from itertools import chain
from typing import Any

import numpy as np

from ..arrays import cast, is_array, plain_array, plain_rows
from ..arrays.objects import NUMBERS, refuse_objects
from ..arrays.tensors import array_of, check_storage, is_tensor, tensor_of
from ..base.bfloat16 import dtype_named
from ..base.errors import DTypeError, LoDError
from .encodings import MAX_DEPTH
from .joining import LISTS, count_parts, join_sequences

ARROW = ("__arrow_c_array__", "__arrow_c_stream__")
TABLES = {
    **dict.fromkeys(("DataFrame", "Table", "RecordBatch"), 'pass one column, x["name"]'),
    "LazyFrame": 'pass one column, x.collect()["name"]',
}
REFUSED = {
    "str": "split it into words, and make ids of them by lodkit.vocabulary(texts)",
    "bytes": "decode it, and make ids of its words by lodkit.vocabulary(texts)",
    "dict": "pass list(x.values()), or make features of dictionaries by lodkit.Features.from_list",
    **dict.fromkeys(("set", "frozenset"), "a set has no order, pass sorted(x)"),
    **TABLES,
    "SelectedRows": "pass x.value",
    "Features": "pass x.values",
    "_spbase": "pass it to LoDTensor.from_scipy",
}


def from_nested(cls, x, lod_level, dtype, name="x"):
    """The LoDTensor of nested data, called ``name`` in messages; see ``LoDTensor.from_nested``."""
    for kind in type(x).__mro__:
        if kind.__name__ in REFUSED:
            raise TypeError(
                f"from_nested takes nested lists of numbers, got {type(x).__name__}: {REFUSED[kind.__name__]}"
            )
    x = _open_container(cls, x)
    if isinstance(x, cls):
        if lod_level not in (None, x.lod_level):
            raise LoDError(f"{type(x).__name__} has lod_level {x.lod_level}, not {lod_level}; leave lod_level out")
        return x if dtype is None else x.with_values(cast_values(x.values, dtype))
    if _is_rows(x):
        return _uniform(cls, x, lod_level, dtype)
    if not isinstance(x, list | tuple):
        raise TypeError(f"from_nested takes nested lists, arrays, columns or tensors, got {type(x).__name__}")
    return _from_lists(cls, x, lod_level, dtype, name)


def _from_lists(cls, parts, lod_level, dtype, name):
    if parts and lod_level is None and all(isinstance(part, cls) for part in parts):
        made = cls.from_sequences(parts)
        return made if dtype is None else made.with_values(cast_values(made.values, dtype))
    lengths: list[Any] = []
    kinds = set(map(type, parts))
    while len(lengths) != lod_level:
        if lod_level is None and (not parts or kinds <= NUMBERS):
            break
        if not kinds <= LISTS:
            last = lod_level is None if not lengths else len(lengths) + 1 == lod_level
            made = join_sequences(cls, parts, kinds) if last else None
            if made is None:
                parts = [_part(cls, part) for part in parts]
                kinds = set(map(type, parts))
                made = cls.from_sequences(parts) if last and all(map(_is_rows, parts)) else None
            if made is not None:
                values = made.values if dtype is None else cast_values(made.values, dtype)
                return cls(values, [*lengths, made.lengths()])
            if lod_level is None and not any(isinstance(part, list | tuple) for part in parts):
                _check_present(parts, len(lengths), name)
                break
            parts = [list(part) if _is_rows(part) else part for part in parts]
            _check_lists(parts, len(lengths), lod_level, name)
        if len(lengths) == MAX_DEPTH:
            raise LoDError(f"lists are nested more than {MAX_DEPTH} deep; does one contain itself?")
        lengths.append(count_parts(parts))
        parts = list(chain.from_iterable(parts))
        kinds = set(map(type, parts))
    return cls(_row_array(parts, kinds, lengths, dtype, name), lengths)


def _open_container(cls, x):
    """A container as a list, an array of rows or a LoDTensor; what is none of them as it is."""
    if isinstance(x, np.ndarray):
        return x.tolist() if x.dtype.hasobject else plain_array(x, "x")
    if isinstance(x, list | tuple | str | bytes | cls):
        return x
    library, kind = type(x).__module__.partition(".")[0], type(x).__name__
    if kind in ("JaggedTensor", "RaggedTensor") or (is_tensor(x) and x.is_nested):
        return cls.from_torch(x)
    if is_tensor(x):
        return x if str(x.layout) == "torch.strided" else array_of(x.detach(), "x")  # which raises with the remedy
    if is_array(x):
        return x
    if library == "awkward":
        return cls.from_awkward(x)
    if library == "pandas" and hasattr(x, "to_numpy") and not ("list" in str(x.dtype) and hasattr(x, ARROW[1])):
        return _open_container(cls, x.to_numpy())
    if library == "xarray" and hasattr(x, "to_numpy"):
        # Its Arrow table has a row for each number, whatever the dimensions.
        return _open_container(cls, x.to_numpy())
    if any(hasattr(x, name) for name in ARROW):
        try:
            return cls.from_arrow(x)
        except (DTypeError, LoDError) as error:
            raise type(error)(f"LoDTensor.from_arrow(x): {error}") from None
    if hasattr(x, "as_py"):  # a scalar of Arrow
        return x.as_py()
    if isinstance(x, Sequence | Iterator | ValuesView):
        return list(x)
    return np.asarray(x) if hasattr(x, "__array__") and not isinstance(x, np.generic) else x


def _part(cls, x):
    """A part of a list as a list, an array of rows or, where it is none, itself."""
    x = x if type(x) in LISTS or type(x) in NUMBERS else _open_container(cls, x)
    if isinstance(x, cls):
        return x.to_list() if x.lod_level else x.values
    return x


def _is_rows(x):
    """Whether ``x`` is an array or a tensor with rows."""
    return x.ndim > 0 if isinstance(x, np.ndarray) else (is_tensor(x) or is_array(x)) and len(x.shape) > 0


def cast_values(values, dtype):
    """Values of any library in another type."""
    if is_tensor(values):
        known = isinstance(dtype, sys.modules["torch"].dtype)
        return values.to(dtype if known else tensor_of(np.empty(0, dtype_named(dtype))).dtype)
    return cast(values, dtype)


def _uniform(cls, x, lod_level, dtype):
    """The LoDTensor of an array: its first dimensions are sequences of equal lengths."""
    shape = tuple(x.shape)
    levels = min(1, len(shape) - 1) if lod_level is None else lod_level
    if not 0 <= levels < len(shape):
        raise LoDError(f"an array of shape {shape} has {len(shape) - 1} levels at most, not lod_level={lod_level}")
    values = x.reshape((math.prod(shape[: levels + 1]), *shape[levels + 1 :]))
    values = values if dtype is None else cast_values(values, dtype)
    return cls(values, [np.full(math.prod(shape[: i + 1]), shape[i + 1]) for i in range(levels)])


def _row_array(rows, kinds, lengths, dtype, name):
    """Rows, which are numbers, arrays or lists of numbers, as one array; ``kinds`` are their types."""
    try:
        if not kinds <= NUMBERS:
            if all(map(is_tensor, rows)):
                made = sys.modules["torch"].stack([check_storage(row, f"{name}[{i}]") for i, row in enumerate(rows)])
                return made if dtype is None else cast_values(made, dtype)
            rows = plain_rows(rows, "a row")
        if dtype is None or not kinds <= NUMBERS:
            array = refuse_objects(np.asarray(rows), name, rows, functools.partial(_place, lengths))
            if array.dtype.kind == "f" and kinds == {int}:
                # NumPy takes float64 for integers of which some are beyond int64.
                array = _as_uint64(rows, name)
        return array if dtype is None else np.asarray(rows, dtype)
    except (ValueError, OverflowError, RuntimeError) as error:
        arrays = any(map(_is_rows, rows))
        hint = (
            f"if they are sequences, not rows, pass lod_level={len(lengths) + 1}"
            if arrays
            else "a row is a number or an array"
        )
        raise LoDError(f"{name}: rows differ in shape or are not numbers ({error}); {hint}") from None


def _as_uint64(rows, name):
    """Integers of which some are beyond int64 as uint64; DTypeError if one is negative."""
    if (low := min(rows)) < 0:
        raise DTypeError(
            f"{name} holds {low} and {max(rows)}, which no integer type of 64 bits has both; pass dtype=np.float64 to "
            "round them"
        )
    return np.array(rows, np.uint64)


def _place(lengths, row, *index):
    """Where in nested lists a row stands, by the lengths of the lists per level."""
    path = [*index]
    for level in reversed(lengths):
        outer = 0
        while row >= level[outer]:
            row, outer = row - level[outer], outer + 1
        path.insert(0, row)
        row = outer
    return f"at [{', '.join(map(str, [row, *path]))}]"


def _check_lists(parts, level, lod_level, name):
    for i, part in enumerate(parts):
        if not isinstance(part, list | tuple):
            deep = level + _depth(parts) if lod_level is None else lod_level + 1
            missing = "; fill missing lists with []" if part is None or part != part else ""
            rule = f"every row lies {deep} lists deep{missing}"
            raise LoDError(f"{name}: item {i} of level {level} is {part!r:.80}, not a list; {rule}")


def _check_present(parts, level, name):
    """Refuse None among arrays: a missing sequence is an empty array."""
    rows = next((part for part in parts if _is_rows(part)), None)
    missing = next((i for i, part in enumerate(parts) if part is None), None)
    if rows is not None and missing is not None:
        place = f"item {missing} of level {level}"
        raise LoDError(
            f"{name}: {place} is None, among arrays; drop it, or pass an empty array, np.zeros({(0, *rows.shape[1:])})"
        )


def _depth(lists):
    depth, parts = 0, [lists]
    while parts := [part for part in parts if isinstance(part, list | tuple)]:
        depth += 1
        if depth > MAX_DEPTH:
            raise LoDError(f"lists are nested more than {MAX_DEPTH} deep; does one contain itself?")
        parts = [row for part in parts for row in part]
    return depth
