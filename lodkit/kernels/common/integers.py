"""Reductions of integers and bool that kernels do not compute in: as int32 or int64, in the same order.

The bits of uint64 are summed and multiplied as those of int64, and compared with the highest one turned over.
"""

from __future__ import annotations

import numpy as np

from ...arrays import VALUE_TYPES, is_floating, native
from ...ops.shared.reductions import pad_of

_UINT64, _INT64 = np.dtype(np.uint64), np.dtype(np.int64)


def needs_integers(kind, dtype=None):
    """Whether kernels do not reduce numbers of a type, or not to those of a given one: integers to their mean."""
    if is_floating(kind):
        return False
    return native(kind) not in VALUE_TYPES or (dtype is not None and np.dtype(dtype).kind == "f")


def computed_type(kind, dtype=None):
    """The type in which kernels reduce numbers of a type, to those of another one if it is given."""
    kind = native(kind)
    if dtype is not None and needs_integers(kind, dtype):
        return np.dtype(dtype)
    if kind in VALUE_TYPES or is_floating(kind):
        return kind
    return np.dtype(np.int32 if kind.itemsize <= 2 else np.int64)


def to_comparable(on, x):
    """Numbers in the same order, of a type that kernels compute in."""
    kind = native(x.dtype)
    if kind in VALUE_TYPES:
        return x
    return on.turn_highest_bit(on.view_as(x, _INT64)) if kind == _UINT64 else on.convert(x, computed_type(kind))


def comparable_tokens(tokens, kind):
    """Ascending int64 tokens beside numbers of a type after ``to_comparable``: those that it has."""
    return np.sort(tokens[tokens >= 0] ^ np.int64(-1 << 63)) if native(kind) == _UINT64 else tokens


def from_comparable(on, x, dtype):
    """The numbers of ``to_comparable`` in their own type again."""
    return on.view_as(on.turn_highest_bit(x), _UINT64) if dtype == _UINT64 else on.convert(x, dtype)


def to_summed(on, x):
    """Numbers of the same sums and products, in 64 bits, of a type that kernels compute in."""
    kind = native(x.dtype)
    return on.view_as(x, _INT64) if kind == _UINT64 else on.convert(x, computed_type(kind))


def reduce_integers(on, values, ids, padding_idx, offsets, reduce, pad_value, out, unchecked=False):
    """``on.reduce_into`` of such numbers, into ``out``, which has the type of the result."""
    if ids is not None:
        values = on.gather(values, ids, padding_idx, None, unchecked)
    if out.dtype.kind == "f":
        found = on.reduce_into(on.convert(values, out.dtype), None, None, None, offsets, reduce, pad_value)
        return on.copy_elements(found, out)
    pad, is_wide = pad_of(pad_value, out.dtype), native(values.dtype) == _UINT64
    if reduce not in ("sum", "prod"):
        pad = int(pad) - (1 << 63) if is_wide else int(pad)
        found = on.reduce_into(to_comparable(on, values), None, None, None, offsets, reduce, pad)
        return on.copy_elements(from_comparable(on, found, out.dtype) if is_wide else found, out)
    found = on.reduce_into(to_summed(on, values), None, None, None, offsets, reduce, int(pad.astype(_INT64)))
    return on.copy_elements(on.view_as(found, out.dtype), out)
