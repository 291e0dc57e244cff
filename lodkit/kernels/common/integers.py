"""Reductions of integers, bool and times that kernels do not compute in: as int32 or int64, in the same order.

The bits of uint64 are summed and multiplied as those of int64. Compared are the sums, modulo 2**64, of 64 bits and a
number: -2**63 for uint64, and for times -1, which makes NaT the largest, as NaN is.
"""

from __future__ import annotations

import numpy as np

from ...arrays import VALUE_TYPES, is_floating, native
from ...ops.shared.reductions import pad_of

_UINT64, _INT64 = np.dtype(np.uint64), np.dtype(np.int64)
_HALF, _WHOLE = 1 << 63, 1 << 64


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


def _wrap(number):
    """The int64 of the lowest 64 bits."""
    return (number + _HALF) % _WHOLE - _HALF


def _distance(kind, reduce="max"):
    """What is added to the 64 bits of a type so that the order of int64 is its own; None where that is no question.

    NaT is the largest for maxima, the smallest for minima.
    """
    if kind == _UINT64:
        return -_HALF
    return (0 if reduce == "min" else -1) if kind.kind in "mM" else None


def to_comparable(on, x, reduce="max"):
    """Numbers in the same order, of a type that kernels compute in; NaT is the extreme of the reduction."""
    kind = native(x.dtype)
    if kind in VALUE_TYPES:
        return x
    distance = _distance(kind, reduce)
    return on.convert(x, computed_type(kind)) if distance is None else on.add_number(on.view_as(x, _INT64), distance)


def comparable_tokens(tokens, kind):
    """Ascending tokens beside numbers of a type after ``to_comparable``: those that it has, as int64."""
    return tokens[tokens >= 0].astype(_INT64) ^ np.int64(-_HALF) if native(kind) == _UINT64 else tokens


def from_comparable(on, x, dtype, reduce="max"):
    """The numbers of ``to_comparable`` in their own type again."""
    distance = _distance(dtype, reduce)
    return on.convert(x, dtype) if distance is None else on.view_as(on.add_number(x, _wrap(-distance)), dtype)


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
    pad, distance = pad_of(pad_value, out.dtype), _distance(native(values.dtype), reduce)
    if reduce not in ("sum", "prod"):
        pad = int(pad) if distance is None else _wrap(int(pad.view(_INT64)) + distance)
        found = on.reduce_into(to_comparable(on, values, reduce), None, None, None, offsets, reduce, pad)
        return on.copy_elements(found if distance is None else from_comparable(on, found, out.dtype, reduce), out)
    found = on.reduce_into(to_summed(on, values), None, None, None, offsets, reduce, int(pad.astype(_INT64)))
    return on.copy_elements(on.view_as(found, out.dtype), out)
