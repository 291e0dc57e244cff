"""Hostile values of attributes, of the right type and of wrong ones."""

from __future__ import annotations

import numpy as np
from numba import config

INTEGERS = [0, 1, -1, 2, 3, 5, 7, 10**20, *(2**k for k in (31, 32, 40, 60, 61, 61, 62, 62, 63))]
INTEGERS += [2**31 - 1, 2**63 - 1, 2**63 - 1, -(2**63)]
if config.DISABLE_JIT:  # loops of so many steps take minutes there
    INTEGERS = [number for number in INTEGERS if not 1 << 20 < abs(number) < 1 << 40]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, float("nan"), float("inf"), float("-inf"), 1e308, 1e-320]
JUNK = [None, "", "abc", [], [1, [2]], (), {}, 1j, b"x", object, True, 1.5, np.array(1), np.float32(2)]
JUNK += [np.array([1.0, 2.0]), [2**62, 2**62], [[1, 2], [3]], (0, -1), np.int8(5), 10**400, range(3), np.ma.masked]


def hostile(rng, value, check=None):
    """A value in place of ``value``; ``check`` is what the operator knows of the attribute."""
    expected = "" if check is None else check.expected
    if check is not None and check.choices and rng.random() < 0.7:
        return rng.choice(check.choices)
    if rng.random() < 0.15:
        return rng.choice(JUNK)
    if isinstance(value, list | tuple) and value and rng.random() < 0.8:
        made = list(value)
        made[rng.randrange(len(made))] = hostile(rng, made[0])
        return type(value)(made)
    if isinstance(value, bool) or (expected == "True or False" and value is None):
        return rng.random() < 0.5
    if isinstance(value, int | np.integer) or "integer" in expected:
        return rng.choice(INTEGERS)
    if isinstance(value, float | np.floating) or "number" in expected:
        return rng.choice(FLOATS)
    return rng.choice(JUNK + INTEGERS)
