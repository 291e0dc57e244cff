"""Updates of a parameter of halves that are rounded at random: up or down, with the odds of what is left over.

Small steps, which rounding to nearest would lose every time, count on average.
"""

from __future__ import annotations

import math

import numpy as np

from ...lod import SelectedRows
from ...ops.shared.updates import LAST_DIGITS

SINGLE = np.dtype(np.float32)
_UINT32_MASK = 0xFFFFFFFF


def jitter_value(x, place, seed, digits, least):
    """``x`` moved by up to half the last of so many binary digits to either side, by a hash of a place and a seed.

    That digit is at least ``2**least``.
    """
    # Zero needs no rounding; infinite numbers and NaN have none.
    if x == 0 or x - x != 0:
        return x
    h = (int(place) * 0x9E3779B1 + seed * 0x85EBCA77) & _UINT32_MASK
    h = ((h ^ (h >> 16)) * 0x7FEB352D) & _UINT32_MASK
    h = ((h ^ (h >> 15)) * 0x846CA68B) & _UINT32_MASK
    share = np.float32((h ^ (h >> 16)) >> 8) * np.float32(2.0**-24) - np.float32(0.5)
    _, exponent = math.frexp(x)
    return x + share * np.float32(math.ldexp(np.float32(1), int(max(exponent - digits, least))))


def update_rounded(on, rule, param, states, grad):
    """Step copies in float32, of all rows or those of SelectedRows, and put them back."""
    arrays, rows = (param, *states), None
    if isinstance(grad, SelectedRows):
        grad = on.merge_rows(grad)
        rows, grad = grad._rows, grad.value
        if not grad.size:
            return
    taken = arrays if rows is None else [on.take(array, rows) for array in arrays]
    copies = [on.convert(array, SINGLE, new=rows is None) for array in taken]
    on.update_all(rule, copies[0], tuple(copies[1:]), on.convert(grad, SINGLE))
    on.jitter(copies[0], rows, rule.seed, *LAST_DIGITS[np.dtype(param.dtype).kind])
    on.put_together(rows, copies, arrays)
