"""Samples of lodkit/ops/elementwise.py."""

from __future__ import annotations

import numpy as np

from lodkit import SelectedRows

from ._make import GRADIENTS, array, ragged, reals

HALF = array(2, 3, dtype=np.float16)
ARRAYS = [reals(4, 3), reals(0, 3), reals(5), reals(2, 0), reals(2, 3, 2, dtype=np.float32), HALF, np.array(-2.5)]
RAGGED = [ragged([2, 0, 1], item=(2,)), ragged([2, 1], [0, 2, 1])]
NUMBERS = [*ARRAYS, *RAGGED]
SELECTED = GRADIENTS[:3] + GRADIENTS[-2:]
WHOLE = np.array([[1, -2], [3, 4]]), np.array([3], np.int32), SelectedRows([3, 3], array(2, 4, dtype=np.int64), 5)
ODD = [np.array([1.0, np.inf]), np.array([np.nan]), np.array([-np.inf], np.float32), SelectedRows([1], [[np.nan]], 3)]


def unary(*more, **attrs):
    return [((x,), attrs) for x in (*NUMBERS, *SELECTED, *more)]


def pairs(**attrs):
    """The result or input of a forward operator, and a gradient."""
    return [((x, reals(*x.shape, dtype=x.dtype)), attrs) for x in (*ARRAYS[:3], ARRAYS[4], HALF)]


def squares(x):
    return x.with_values(np.abs(x.values)) if hasattr(x, "values") else np.abs(x)


SQUARED = [SelectedRows(g.rows, np.abs(g.value), g.height) for g in SELECTED]
ROOTS = [((x,), {}) for x in (*map(squares, NUMBERS), *SQUARED)]
BOUNDS = {"min": -0.5, "max": 0.75}
SAMPLES = {
    "abs": unary(*WHOLE),
    "abs_grad": pairs(),
    "square": unary(*WHOLE),
    "sqrt": [*ROOTS, ((np.array([-1.0, 4.0]),), {})],
    "sqrt_grad": [((np.abs(out) + out.dtype.type(1), grad), {}) for (out, grad), _ in pairs()],
    "clip_by_value": [
        *unary(**BOUNDS),
        ((np.array([np.nan, 9.0]),), BOUNDS),
        *(((x,), {"min": -1.0, "max": 2}) for x in WHOLE),
        ((np.array([2**62 + 1, -7]),), {"min": -5.0, "max": np.inf}),
        ((np.array([2**31 - 1, -7], np.int32),), {"min": -1e300, "max": 1e300}),
        ((reals(3, dtype=np.float32),), {"min": -1e300, "max": 0.5}),
    ],
    "clip_by_value_grad": pairs(**BOUNDS),
    "clip_by_norm": [*unary(max_norm=1.0), ((reals(4),), {"max_norm": 1e9}), ((reals(4),), {"max_norm": 0.0})],
    "scale": [
        *unary(scale=0.5),
        *unary(scale=-2.0, bias=0.25),
        ((reals(3),), {"scale": 3.0, "bias": 1.0, "bias_after_scale": False}),
        *(((x,), {"scale": 3.0, "bias": -1.0, "bias_after_scale": after}) for x in WHOLE for after in (True, False)),
        ((np.array([2**53 + 1, -(2**62)]),), {"scale": 1.0}),
    ],
    "assign": unary(*WHOLE, *(np.array([3, 0]).astype(t) for t in (np.int8, np.int16, np.uint8, bool))),
    "isfinite": [((x,), {}) for x in (*NUMBERS, *SELECTED, *WHOLE, *ODD)],
    "isinf": [((x,), {}) for x in (*NUMBERS, *SELECTED, *WHOLE, *ODD)],
    "isnan": [((x,), {}) for x in (*NUMBERS, *SELECTED, *WHOLE, *ODD)],
    "norm": [((x,), {}) for x in (*NUMBERS, *SELECTED)],
}
